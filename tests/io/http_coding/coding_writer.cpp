#include "coding_writer.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/routine.hpp>

#include "coded_server.hpp"

namespace rota::http {
namespace {

/// Gives the write up that it is told to.
struct giving_up final : body_writer {
    int left = -1;
    std::string all;

    task<void> write(std::string_view piece) override {
        all.append(piece);
        co_return;
    }
    task<void> write_owned(std::string piece) override {
        if (left-- == 0)
            throw timed_out();
        all.append(piece);
        co_return;
    }
    task<void> flush() override { co_return; }
    void add_trailer(std::string_view /*name*/, std::string_view /*value*/) override {}
};

/// How it ends: "" if well.
std::string outcome_of(task<void> doing) {
    std::string how;
    inline_scheduler scheduler;
    const auto body = [](task<void> todo, std::string* to) -> task<void> {
        try {
            co_await std::move(todo);
        } catch (const std::logic_error& e) {
            *to = "logic_error";
        } catch (const timed_out&) {
            *to = "timed_out";
        } catch (const http_error& e) {
            *to = std::to_string(e.status());
        }
    };
    const routine_ptr one = scheduler.spawn(body(std::move(doing), &how), {.name = "writer"});
    scheduler.run();
    CHECK(one->state() == routine_state::stopped);
    return how;
}

TEST_CASE("nothing goes on behind a piece that was given up before all of it was out") {
    for (const coding::format each : test::there()) {
        const auto encoder = coding::make_encoder({.to = each});
        giving_up out;
        semaphore places{1};
        coding_writer writer(out, *encoder, std::nullopt, 1'000'000, places);
        CHECK(outcome_of(writer.write("head")).empty());
        out.left = 0;
        CHECK(outcome_of(writer.write(test::long_text)) == "timed_out");
        const std::string before = out.all;
        CHECK(outcome_of(writer.write("tail")) == "logic_error");
        CHECK(outcome_of(writer.write_owned("tail")) == "logic_error");
        CHECK(outcome_of(writer.flush()) == "logic_error");
        CHECK(outcome_of(writer.end()) == "503");
        CHECK(out.all == before);
    }
}

TEST_CASE("a large piece waits for its turn on the threads of blocking(), a small one does not") {
    for (const coding::format each : test::there()) {
        const auto encoder = coding::make_encoder({.to = each});
        giving_up out;
        semaphore places{1};
        coding_writer writer(out, *encoder, std::nullopt, 1'000, places);
        inline_scheduler scheduler;
        auto taken = places.try_acquire();
        CHECK(outcome_of(writer.write("small")).empty());
        const std::size_t before = out.all.size();
        const routine_ptr one = scheduler.spawn(writer.write(test::long_text), {.name = "large"});
        scheduler.run();
        CHECK(out.all.size() == before);
        taken->release();
        scheduler.run();
        CHECK(one->state() == routine_state::stopped);
        CHECK(out.all.size() > before);
        CHECK(places.available() == 1);
    }
}

} // namespace
} // namespace rota::http
