#include "logging.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <unistd.h>

using namespace rota_http;

namespace {

/// A pipe that holds few pages.
class small_pipe {
public:
    small_pipe() {
        REQUIRE(::pipe2(ends_.data(), O_CLOEXEC) == 0);
        REQUIRE(::fcntl(ends_[1], F_SETPIPE_SZ, 16384) == 16384);
    }
    small_pipe(const small_pipe&) = delete;
    small_pipe& operator=(const small_pipe&) = delete;
    ~small_pipe() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    [[nodiscard]] int in() const { return ends_[1]; }
    std::string read() const {
        std::array<char, 65'536> buffer{};
        const ssize_t size = ::read(ends_[0], buffer.data(), buffer.size());
        return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
    }

private:
    std::array<int, 2> ends_{};
};

void log(patient_sink& sink, const std::string& text) {
    sink.log(spdlog::details::log_msg("test", spdlog::level::info, text));
}

} // namespace

TEST_CASE("lines arrive") {
    small_pipe pipe;
    patient_sink sink(pipe.in());
    sink.set_formatter(std::make_unique<spdlog::pattern_formatter>("%v"));
    log(sink, "one");
    log(sink, "two");
    CHECK(pipe.read() == "one\ntwo\n");
}

TEST_CASE("a reader that does not read costs its lines, not our time") {
    small_pipe pipe;
    patient_sink sink(pipe.in());
    sink.set_formatter(std::make_unique<spdlog::pattern_formatter>("%v"));
    const std::string line(2'000, 'x');
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 1'000; ++i)
        log(sink, line);
    // One patience for the first that does not fit; each of the thousand having its own would take
    // 100 s.
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(50));
    std::string seen = pipe.read();
    CHECK(seen.starts_with(line));
    log(sink, "again");
    seen = pipe.read();
    CHECK(seen.find(" log lines were lost\nagain\n") != std::string::npos);
}
