// rota-sim: runs seeds of the simulation. tests/sim/README.md tells what it checks.

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.hpp"
#include "watchdog.hpp"

namespace {

struct settings {
    std::uint64_t first = 1;
    std::uint64_t count = 1000;
    std::uint64_t jobs = 1;
    bool trace = false;
};

constexpr std::string_view usage =
    "usage: rota-sim [--seed N] [--first N] [--seeds COUNT] [--jobs PROCESSES]\n"
    "  --seed N    runs one seed and prints every step of it\n"
    "  --first N   the first of several seeds; 1\n"
    "  --seeds N   how many; 1000\n"
    "  --jobs N    processes; 1\n";

[[noreturn]] void refuse() {
    std::fwrite(usage.data(), 1, usage.size(), stderr);
    std::exit(2);
}

std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        refuse();
    return value;
}

settings parse(int count, char** arguments) {
    settings s;
    for (int i = 1; i < count; i += 2) {
        const std::string_view name = arguments[i];
        if (i + 1 == count)
            refuse();
        const std::uint64_t value = number(arguments[i + 1]);
        if (name == "--seed") {
            s.first = value;
            s.count = 1;
            s.trace = true;
        } else if (name == "--first") {
            s.first = value;
        } else if (name == "--seeds") {
            s.count = value;
        } else if (name == "--jobs" && value != 0) {
            s.jobs = value;
        } else {
            refuse();
        }
    }
    return s;
}

/// Runs one seed; a failure ends the program. Returns a digest of the way it went.
std::uint64_t run_seed(std::uint64_t seed, bool trace, bool may_be_short = true) {
    sim::simulation simulated({.seed = seed, .trace = trace});
    if (may_be_short)
        sim::memory::draw(seed);
    constexpr void (*scenarios[])() = {sim::run_echo, sim::run_http, sim::run_jobs, sim::run_echo,
                                       sim::run_http, sim::run_jobs, sim::run_turns};
#ifdef ROTA_SIM_TLS
    constexpr auto run_tls = sim::run_tls;
    constexpr auto run_https = sim::run_https;
#else
    constexpr auto run_tls = sim::run_echo;
    constexpr auto run_https = sim::run_http;
#endif
    // In place of some runs of turns and echo, so that the seeds of the others stay what they are.
    const std::uint64_t rare = seed % (6 * std::size(scenarios));
    simulated.w.run(rare % 21 == 20   ? sim::run_room
                    : rare == 13      ? sim::run_waits
                    : rare == 21      ? sim::run_deadlines
                    : rare == 28      ? sim::run_takeover
                    : rare == 6       ? sim::run_datagrams
                    : rare == 0       ? sim::run_ranges
                    : rare == 14      ? sim::run_rests
                    : rare == 7       ? run_https
                    : rare % 21 == 3  ? sim::run_http2
                    : rare == 17      ? sim::run_websockets
                    : rare % 21 == 10 ? run_tls
                                      : scenarios[seed % std::size(scenarios)]);
    if (trace)
        std::printf("seed %llu passed after %llu steps\n", static_cast<unsigned long long>(seed),
                    static_cast<unsigned long long>(simulated.w.steps()));
    return simulated.w.digest();
}

/// What a process tells the one that started it, in memory that they share: it may crash.
struct progress {
    std::uint64_t seed;
    std::uint64_t digest;
};

void run_share(const settings& s, std::uint64_t which, progress& told) {
    sim::watch_steps();
    // What is made at its first use is there, so that it makes no difference which seeds come
    // first.
    constexpr std::uint64_t of_http = 4;
    run_seed(of_http, false, false);
    for (std::uint64_t i = which; i < s.count; i += s.jobs) {
        told.seed = s.first + i;
        told.digest ^= run_seed(told.seed, s.trace);
    }
}

int run_all(const settings& s) {
    const std::size_t bytes = s.jobs * sizeof(progress);
    void* const shared =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    auto* const told = static_cast<progress*>(shared);
    std::vector<pid_t> children;
    for (std::uint64_t which = 0; which < s.jobs; ++which) {
        const pid_t child = ::fork();
        if (child == 0) {
            run_share(s, which, told[which]);
            std::exit(0);
        }
        children.push_back(child);
    }
    int failed = 0;
    std::uint64_t digest = 0;
    for (std::uint64_t which = 0; which < s.jobs; ++which) {
        int status = 0;
        ::waitpid(children[which], &status, 0);
        digest ^= told[which].digest;
        if (WIFSIGNALED(status)) {
            std::printf("seed %llu failed: signal %d\n  run it again: ./dev sim --seed %llu\n",
                        static_cast<unsigned long long>(told[which].seed), WTERMSIG(status),
                        static_cast<unsigned long long>(told[which].seed));
        }
        failed |= status;
    }
    if (failed != 0)
        return 1;
    std::printf("%llu seeds from %llu passed; digest %016llx\n",
                static_cast<unsigned long long>(s.count), static_cast<unsigned long long>(s.first),
                static_cast<unsigned long long>(digest));
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    const settings s = parse(count, arguments);
    spdlog::set_level(spdlog::level::off);
    if (s.trace) {
        std::setvbuf(stdout, nullptr, _IOLBF, 0); // what has been traced is there when it ends
        sim::watch_steps();
        run_seed(s.first, true);
        return 0;
    }
    return run_all(s);
}
