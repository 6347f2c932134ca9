#include <rota/http/body.hpp>

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/error.hpp>
#include <rota/inline_scheduler.hpp>

namespace rota::http {
namespace {

class pieces final : public body_reader {
public:
    explicit pieces(std::deque<std::string> list, std::optional<std::uint64_t> length = {},
                    memory_budget* memory = nullptr)
        : body_reader(memory), list_(std::move(list)), length_(length) {}
    task<std::string_view> read() override {
        if (list_.empty())
            co_return std::string_view{};
        current_ = std::move(list_.front());
        list_.pop_front();
        co_return std::string_view(current_);
    }
    [[nodiscard]] std::optional<std::uint64_t> length() const noexcept override { return length_; }
    void limit(std::uint64_t bytes) override {
        if (length_.value_or(0) > bytes)
            throw http_error(413, "content too large");
    }
    [[nodiscard]] header_list trailers() const noexcept override { return {nullptr, none_}; }
    [[nodiscard]] std::size_t left() const noexcept { return list_.size(); }
    using body_reader::keep_nothing;

private:
    std::deque<std::string> list_;
    std::string current_;
    std::optional<std::uint64_t> length_;
    std::vector<field_span> none_;
};

TEST_CASE("a whole body is its pieces, joined") {
    inline_scheduler scheduler;
    pieces some({"ab", "c", "def"});
    CHECK(scheduler.run_task(some.read_all()) == "abcdef");
    CHECK(scheduler.run_task(some.read_all()).empty());
    pieces announced({"abc", "def"}, 6);
    CHECK(scheduler.run_task(announced.read_all(6)) == "abcdef");
}

TEST_CASE("what is kept of a body is taken from the memory for all of them") {
    inline_scheduler scheduler;
    memory_budget all(memory_budget::step);
    const std::string piece(memory_budget::step, 'x');
    pieces first({piece, piece}, {}, &all);
    CHECK(scheduler.run_task(first.read_all()).size() == 2 * piece.size());
    const auto status_of_another = [&] {
        pieces second({piece, "x"}, {}, &all);
        try {
            return scheduler.run_task(second.read_all()).size() == piece.size() + 1 ? 200 : 0;
        } catch (const http_error& e) {
            return e.status();
        }
    };
    CHECK(status_of_another() == 503);
    first.keep_nothing();
    CHECK(status_of_another() == 200);
    CHECK(status_of_another() == 200);
}

TEST_CASE("a body beyond the caller's bound is refused") {
    inline_scheduler scheduler;
    pieces some({"ab", "c", "def"});
    CHECK_THROWS_AS(scheduler.run_task(some.read_all(5)), http_error);
    pieces announced({"abc", "def"}, 6);
    CHECK_THROWS_AS(scheduler.run_task(announced.read_all(5)), http_error);
    CHECK(announced.left() == 2); // refused before anything was read
}

TEST_CASE("an announced length is not believed blindly") {
    inline_scheduler scheduler;
    pieces liar({"a"}, std::uint64_t{1} << 60);
    CHECK(scheduler.run_task(liar.read_all()) == "a");
}

} // namespace
} // namespace rota::http
