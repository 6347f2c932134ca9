#include "jobs/watch/store_health.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "jobs/store.hpp"

using namespace jobs;
using namespace std::chrono_literals;

namespace {

/// What the log is told while it lives.
class kept_log {
public:
    kept_log() : before_(spdlog::default_logger()) {
        auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
        auto logger = std::make_shared<spdlog::logger>("test", std::move(sink));
        logger->set_pattern("%v");
        spdlog::set_default_logger(std::move(logger));
    }
    ~kept_log() { spdlog::set_default_logger(before_); }
    [[nodiscard]] std::string text() const { return text_.str(); }

private:
    std::shared_ptr<spdlog::logger> before_;
    std::ostringstream text_;
};

std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

} // namespace

TEST_CASE("many failures are one line, and one when it is over") {
    const kept_log log;
    store_health health;
    CHECK(health.is_up());
    int told = 0;
    health.on_down([&] { ++told; });
    for (int i = 0; i < 1'000; ++i)
        health.failed(store_error("no room", store_fault::full), 1ms);
    CHECK(told == 1);
    CHECK(lines(log.text()) == 1);
    CHECK(log.text().find("no room") != std::string::npos);
    CHECK_FALSE(health.is_up());
    CHECK(health.state().reason == "no room");
    CHECK(health.state().errors.at(static_cast<std::size_t>(store_fault::full)) == 1'000);
    health.probed(); // among calls that fail one look says little
    CHECK_FALSE(health.is_up());
    CHECK(lines(log.text()) == 1);
    health.probed();
    CHECK(health.is_up());
    CHECK(lines(log.text()) == 2);
    CHECK(log.text().find("1000 calls failed") != std::string::npos);
    CHECK(health.state().reason.empty());
    health.probed();
    CHECK(lines(log.text()) == 2);
}

TEST_CASE("latencies are counted, whatever comes of the calls") {
    const kept_log log;
    store_health health;
    health.succeeded(50us, true);
    health.succeeded(100us, true);
    health.failed(std::runtime_error("other"), 20s);
    const store_state now = health.state();
    CHECK(now.latency_counts.front() == 2);
    CHECK(now.latency_counts.back() == 1);
    CHECK(now.latency_sum_us == 20'000'150);
    CHECK(now.errors.at(static_cast<std::size_t>(store_fault::failed)) == 1);
}

TEST_CASE("only some calls prove that jobs can be added") {
    const auto before = store_health::clock::now();
    store_health health;
    CHECK_FALSE(health.worked_since(before));
    health.succeeded(1ms, false);
    CHECK_FALSE(health.worked_since(before));
    health.succeeded(1ms, true);
    CHECK(health.worked_since(before));
}
