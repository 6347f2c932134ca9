#include "decoding_reader.hpp"

#include <cstdint>
#include <semaphore>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/blocking.hpp>
#include <rota/http/error.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>

#include "io/coding/coders.hpp"

namespace rota::http {
namespace {

using namespace std::string_view_literals;

/// A window of 16 MiB, 16 bytes as they are, and 16 MiB by commands that take no bit each: one
/// letter and a copy of two.
constexpr std::string_view wide_bomb = "\x8f\x07\x80"
                                       "0123456789abcdef"
                                       "\xfc\xff\xff\x07\x00\x22\x28\x10\x08\x60"sv;

class whole_content final : public body_reader {
public:
    explicit whole_content(std::string text, memory_budget* memory)
        : body_reader(memory), text_(std::move(text)) {}
    task<std::string_view> read() override { co_return std::exchange(rest_, {}); }
    [[nodiscard]] std::optional<std::uint64_t> length() const noexcept override {
        return text_.size();
    }
    void limit(std::uint64_t /*bytes*/) override {}
    [[nodiscard]] header_list trailers() const noexcept override { return {nullptr, none_}; }

private:
    const std::string text_;
    std::string_view rest_ = text_;
    std::vector<field_span> none_;
};

struct read_of_br {
    explicit read_of_br(std::string coded, memory_budget* memory = nullptr)
        : body(std::move(coded), memory) {}

    request_head head;
    whole_content body;
    request req{head, &body};
    memory_budget budget{1U << 28};
    semaphore places{1};
    decoding_reader reader{req, {coding::format::br}, 1U << 24, budget, places};
    bool done = false;
    std::string text;
};

task<void> read_all_of(read_of_br* of) {
    for (;;) {
        const std::string_view piece = co_await of->reader.read();
        if (piece.empty())
            break;
        of->text += piece;
    }
    of->done = true;
}

task<void> read_one_of(read_of_br* of) {
    of->text += co_await of->reader.read();
    of->done = true;
}

task<void> hold_thread(std::binary_semaphore* until) {
    co_await blocking([until] { until->acquire(); });
}

task<void> let_go(const read_of_br* beside, bool* was_first, std::binary_semaphore* what) {
    *was_first = !beside->done;
    what->release();
    co_return;
}

TEST_CASE("what is kept decoded is taken from the memory for content") {
    if (!coding::is_available(coding::format::br))
        return;
    memory_budget all(0);
    read_of_br one{std::string(wide_bomb), &all};
    runtime threads({.workers = 1});
    int status = 0;
    try {
        (void)threads.block_on(one.req.text());
    } catch (const http_error& e) {
        status = e.status();
    }
    CHECK(status == 503);
}

TEST_CASE("a window that grows of next to nothing is filled beside the worker") {
    if (!coding::is_available(coding::format::br))
        return;
    read_of_br one{std::string(wide_bomb)};
    std::binary_semaphore held{0};
    bool was_first = false;
    {
        runtime threads({.workers = 1, .blocking_threads = 1});
        (void)threads.spawn(hold_thread(&held));
        (void)threads.spawn(read_one_of(&one));
        (void)threads.spawn(let_go(&one, &was_first, &held));
        threads.join();
    }
    CHECK(was_first);
    CHECK(one.done);
    CHECK(one.text.starts_with("0123456789abcdefAdeA"));
}

TEST_CASE("few windows are filled at once; who gives up its turn can come again") {
    if (!coding::is_available(coding::format::br))
        return;
    const std::string text = coding::test::prose(300'000);
    read_of_br one{coding::test::encode(*coding::make_encoder({.to = coding::format::br}), text)};
    inline_scheduler scheduler;
    auto taken = one.places.try_acquire();
    const routine_ptr given_up = scheduler.spawn(read_all_of(&one), {.name = "gives up"});
    scheduler.run();
    CHECK_FALSE(one.done);
    given_up->request_stop();
    scheduler.run();
    REQUIRE(given_up->state() == routine_state::stopped);
    (void)scheduler.spawn(read_all_of(&one), {.name = "waits"});
    scheduler.run();
    CHECK_FALSE(one.done);
    taken->release();
    scheduler.run();
    CHECK(one.done);
    CHECK(one.text == text);
    CHECK(one.places.available() == 1);
}

} // namespace
} // namespace rota::http
