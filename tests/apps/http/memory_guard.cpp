#include "memory_guard.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rota/inline_scheduler.hpp>

using namespace rota_http;
using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

namespace {

#ifdef SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/// A guard with a ceiling of 800 bytes, and what it has done.
struct guarded {
    std::uint64_t in_use = 0;
    std::vector<bool> refused;
    int returned = 0;
    memory_guard guard{800,
                       {.in_use = [this] { return in_use; },
                        .refuse = [this](bool on) { refused.push_back(on); },
                        .return_memory = [this] { ++returned; }}};
    void look_at(std::uint64_t bytes) {
        in_use = bytes;
        guard.look();
    }
};

/// A /proc and a /sys of our own.
struct made_up_root {
    made_up_root()
        : path(std::filesystem::temp_directory_path() /
               ("rota-memory-" + std::to_string(::getpid()))) {}
    ~made_up_root() { std::filesystem::remove_all(path); }
    void write(const std::string& name, const std::string& text) const {
        const std::filesystem::path file = path.string() + name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    std::filesystem::path path;
};

} // namespace

TEST_CASE("requests are refused above the ceiling, until an eighth of it is free") {
    guarded g;
    g.look_at(0); // not known
    g.look_at(800);
    CHECK(g.refused.empty());
    g.look_at(801);
    g.look_at(900);
    g.look_at(701);
    CHECK(g.refused == std::vector<bool>{true});
    g.look_at(700);
    g.look_at(800);
    CHECK(g.refused == std::vector<bool>{true, false});
    g.look_at(801);
    CHECK(g.refused == std::vector<bool>{true, false, true});
}

TEST_CASE("memory is given back at once, and now and then for as long as it is short") {
    guarded g;
    g.look_at(700);
    CHECK(g.returned == 0);
    g.look_at(900);
    CHECK(g.returned == 1);
    for (int i = 0; i < 20; ++i)
        g.look_at(900);
    CHECK(g.returned == 3);
    // What is at work may end a little later.
    for (int i = 0; i < 200; ++i)
        g.look_at(100);
    CHECK(g.returned == 12);
    g.look_at(900);
    CHECK(g.returned == 13);
}

TEST_CASE("a watch looks ten times a second") {
    guarded g;
    rota::inline_scheduler scheduler;
    const rota::routine_ptr watching = scheduler.spawn(g.guard.watch(), {.name = "guard"});
    scheduler.run();
    g.in_use = 900;
    scheduler.advance(99ms);
    CHECK(g.refused.empty());
    scheduler.advance(2ms);
    CHECK(g.refused == std::vector<bool>{true});
    g.in_use = 100;
    scheduler.advance(101ms);
    CHECK(g.refused == std::vector<bool>{true, false});
    watching->request_stop();
    scheduler.run();
}

TEST_CASE("the gauge tells what this process has") {
    const memory_gauge gauge;
    const std::uint64_t before = gauge.in_use();
    CHECK(before > 500'000);
    constexpr std::size_t size = 64 << 20;
    const std::vector<char> touched(size, 'x');
    CHECK(gauge.in_use() >= before + size / 2);
    CHECK(touched.back() == 'x');
}

TEST_CASE("the memory that there is, is the least of all limits") {
    const made_up_root root;
    const std::uint64_t all = memory_allowed(root.path.string()); // no cgroups there
    CHECK(all > 1'000'000);
    root.write("/proc/self/cgroup", "1:cpu:/elsewhere\n0::/a/b\n");
    CHECK(memory_allowed(root.path.string()) == all);
    root.write("/sys/fs/cgroup/a/b/memory.max", "max\n");
    CHECK(memory_allowed(root.path.string()) == all);
    root.write("/sys/fs/cgroup/a/b/memory.max", "900000\n");
    CHECK(memory_allowed(root.path.string()) == 900'000);
    root.write("/sys/fs/cgroup/a/memory.max", "800000\n");
    CHECK(memory_allowed(root.path.string()) == 800'000);
    // A container sees its own group as the root.
    root.write("/proc/self/cgroup", "0::/\n");
    root.write("/sys/fs/cgroup/memory.max", "700000\n");
    CHECK(memory_allowed(root.path.string()) == 700'000);
    CHECK(memory_allowed() <= all);
}

TEST_CASE("the memory that there is, is no more than the limits of the process leave") {
    if (sanitized)
        SKIP("a sanitizer maps more than these limits for itself");
    for (const auto limit : {RLIMIT_AS, RLIMIT_DATA}) {
        const pid_t child = ::fork();
        if (child == 0) {
            constexpr std::uint64_t most = std::uint64_t{450} << 20;
            rlimit now{};
            ::getrlimit(limit, &now);
            now.rlim_cur = most;
            ::setrlimit(limit, &now);
            const std::uint64_t allowed = memory_allowed();
            ::_exit(allowed <= most && allowed >= most / 4 ? 0 : 1);
        }
        int status = -1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
}
