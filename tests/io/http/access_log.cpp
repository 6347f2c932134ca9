#include <rota/http/access_log.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rota::http {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

struct folder {
    folder() {
        std::string name = fs::temp_directory_path() / "rota-access-XXXXXX";
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~folder() { fs::remove_all(path); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    fs::path path;
};

std::string content_of(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

access_entry entry(std::string_view target) { return {"192.0.2.1:1", "GET", target, 200, 1, 1us}; }

template <class Condition>
void wait_until(Condition holds) {
    while (!holds())
        std::this_thread::yield();
}

/// What was reported, by the thread that writes.
struct reports {
    std::function<void(std::string_view)> hook() {
        return [this](std::string_view line) {
            const std::lock_guard lock(mutex);
            lines.emplace_back(line);
        };
    }
    bool has(std::string_view part) {
        const std::lock_guard lock(mutex);
        return std::ranges::any_of(lines, [part](const std::string& each) {
            return each.find(part) != std::string::npos;
        });
    }
    std::mutex mutex;
    std::vector<std::string> lines;
};

} // namespace

TEST_CASE("lines of several threads are whole, and in order for each") {
    const folder in;
    const fs::path path = in.path / "log";
    constexpr int each = 2'000;
    {
        const auto log = std::make_shared<access_log>(access_log_options{.path = path});
        const auto hook = access_log::hook(log);
        std::vector<std::jthread> threads;
        for (const char* const name : {"/a", "/b", "/c"})
            threads.emplace_back([&hook, name] {
                for (int i = 0; i < each; ++i)
                    hook(entry(name + std::to_string(i)));
            });
    }
    std::vector<int> next(3);
    std::ifstream lines(path);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find("\"GET /");
        REQUIRE(at != std::string::npos);
        const auto who = static_cast<std::size_t>(line[at + 6] - 'a');
        CHECK(std::stoi(line.substr(at + 7)) == next[who]++);
        CHECK(line.ends_with(" 200 1 \"-\" \"-\""));
    }
    CHECK(next == std::vector<int>{each, each, each});
    struct stat found {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    CHECK((found.st_mode & 07) == 0);
}

TEST_CASE("it appends, and goes on in a new file once it is told to") {
    const folder in;
    const fs::path path = in.path / "log";
    std::ofstream(path) << "before\n";
    reports told;
    access_log log({.path = path, .report = told.hook()});
    log.write(entry("/1"));
    wait_until([&] { return log.counted().written == 1; });
    fs::rename(path, in.path / "old");
    log.write(entry("/2"));
    wait_until([&] { return log.counted().written == 2; });
    log.reopen();
    wait_until([&] { return fs::exists(path); });
    log.write(entry("/3"));
    wait_until([&] { return log.counted().written == 3; });
    const std::string old = content_of(in.path / "old");
    CHECK(old.starts_with("before\n"));
    CHECK(old.find("GET /1") < old.find("GET /2"));
    CHECK(old.find("GET /3") == std::string::npos);
    CHECK(content_of(path).find("GET /3") != std::string::npos);
    // What cannot be opened leaves it where it is.
    fs::rename(path, in.path / "older");
    fs::create_directory(path);
    log.reopen();
    wait_until([&] { return told.has("cannot be opened again"); });
    log.write(entry("/4"));
    wait_until([&] { return log.counted().written == 4; });
    CHECK(content_of(in.path / "older").find("GET /4") != std::string::npos);
}

TEST_CASE("a slow file costs lines, which are counted, and holds nothing up") {
    const folder in;
    const fs::path path = in.path / "pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    // Nothing reads it, so it is full after 64 KiB, and the thread that writes is held up.
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    REQUIRE(reader >= 0);
    reports told;
    std::jthread empties; // ends when the log has closed the pipe
    {
        access_log log({.path = path, .memory_bytes_max = 65'536, .report = told.hook()});
        const std::string target = "/" + std::string(1'000, 'x');
        for (int i = 0; i < 10'000 && log.counted().dropped < 100; ++i)
            log.write(entry(target));
        const std::uint64_t dropped = log.counted().dropped;
        CHECK(dropped >= 100);
        empties = std::jthread([reader] {
            ::fcntl(reader, F_SETFL, 0);
            std::string buffer(65'536, '\0');
            while (::read(reader, buffer.data(), buffer.size()) > 0) {
            }
        });
        wait_until([&] { return told.has(" lines were dropped"); });
        const access_log::counts before = log.counted();
        log.write(entry("/last"));
        wait_until([&] { return log.counted().written > before.written; });
        CHECK(log.counted().failed == 0);
    }
    empties.join();
    ::close(reader);
}

TEST_CASE("a pipe whose reader has stopped does not keep it from ending, or from another file") {
    const folder in;
    const fs::path path = in.path / "pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    REQUIRE(reader >= 0);
    reports told;
    {
        access_log log({.path = path, .report = told.hook()});
        const int other = ::open(path.c_str(), O_WRONLY | O_NONBLOCK);
        while (::write(other, "x", 1) == 1) {
        }
        ::close(other);
        log.write(entry("/first"));
        SECTION("it ends") {}
        SECTION("it is opened anew") {
            fs::rename(path, in.path / "old");
            log.reopen();
            wait_until([&] { return fs::exists(path); });
            log.write(entry("/last"));
            wait_until([&] { return content_of(path).find("GET /last") != std::string::npos; });
            CHECK(content_of(path).starts_with("192.0.2.1 "));
            CHECK(log.counted().failed == 0);
        }
    }
    if (!fs::exists(in.path / "old")) {
        CHECK(told.has("cannot be written: Resource temporarily unavailable"));
        CHECK(told.has("1 lines were lost"));
    }
    ::close(reader);
}

TEST_CASE("what was lost is told of when there is room again, and at the end") {
    if (::access("/dev/full", W_OK) != 0)
        return;
    const folder in;
    const fs::path path = in.path / "log";
    fs::create_symlink("/dev/full", path);
    reports told;
    {
        access_log log({.path = path, .report = told.hook()});
        for (const unsigned lines : {1U, 2U}) {
            log.write(entry("/"));
            wait_until([&] { return log.counted().failed == lines; });
        }
        SECTION("when there is room") {
            fs::remove(path);
            log.reopen();
            log.write(entry("/"));
            wait_until([&] { return told.has("2 lines were lost"); });
            CHECK(told.has("can be written again"));
        }
    }
    CHECK(told.has("2 lines were lost"));
}

TEST_CASE("a full disk loses lines and tells of it once") {
    if (::access("/dev/full", W_OK) != 0)
        return;
    reports told;
    access_log log({.path = "/dev/full", .report = told.hook()});
    log.write(entry("/1"));
    wait_until([&] { return log.counted().failed == 1; });
    log.write(entry("/2"));
    wait_until([&] { return log.counted().failed == 2; });
    CHECK(told.has("/dev/full: cannot be written: No space left on device"));
    CHECK(told.lines.size() == 1);
    CHECK(log.counted().written == 0);
}

TEST_CASE("a report that fails ends nothing") {
    if (::access("/dev/full", W_OK) != 0)
        return;
    std::atomic<int> reports = 0;
    access_log log({.path = "/dev/full", .report = [&](std::string_view) {
                        ++reports;
                        throw std::runtime_error("nor can this be written");
                    }});
    log.write(entry("/1"));
    wait_until([&] { return log.counted().failed == 1; });
    CHECK(reports == 1);
}

TEST_CASE("a pipe that nothing reads holds nothing up") {
    const folder in;
    const fs::path path = in.path / "pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK_THROWS_AS(access_log({.path = path}), std::system_error);
    const fs::path other = in.path / "log";
    reports told;
    access_log log({.path = other, .report = told.hook()});
    fs::remove(other);
    fs::rename(path, other);
    log.reopen();
    wait_until([&] { return told.has("cannot be opened again: nothing reads this pipe"); });
}

TEST_CASE("a file that cannot be opened is said by name") {
    try {
        const access_log log({.path = "/none/such/log"});
        FAIL("opened");
    } catch (const std::system_error& e) {
        CHECK(std::string_view(e.what()).find("/none/such/log") != std::string_view::npos);
    }
}

} // namespace rota::http
