#include <rota/io/stream.hpp>

#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <rota/auto_event.hpp>
#include <rota/check.hpp>
#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/routine.hpp>

#include "framework/death.hpp"

using rota::task;
using rota::io::deadline;
using rota::io::stream;

namespace {

/// A stream whose bytes arrive in the pieces that a test gives; an empty one stands for a deadline
/// that passes. Remembers what was written.
class scripted_stream final : public stream {
public:
    explicit scripted_stream(std::deque<std::string> pieces) : pieces_(std::move(pieces)) {}

    std::string_view buffered() const noexcept override { return unread_; }
    void consume(std::size_t bytes) noexcept override { unread_.erase(0, bytes); }
    task<bool> fill(deadline until) override {
        if (!unread_.empty())
            co_return true;
        co_return co_await fill_more(until);
    }
    task<bool> fill_more(deadline) override {
        if (pieces_.empty())
            co_return false;
        const std::string next = std::move(pieces_.front());
        pieces_.pop_front();
        if (next.empty())
            throw rota::timed_out();
        unread_ += next;
        co_return true;
    }
    bool peer_closed() const noexcept override { return pieces_.empty(); }

    task<void> write(std::string_view bytes, deadline) override {
        written.emplace_back(bytes);
        co_return;
    }
    task<void> write_owned(std::string bytes, deadline) override {
        written.push_back(std::move(bytes));
        co_return;
    }
    bool try_write(std::string_view) override { return false; }
    task<void> flush(deadline) override { co_return; }
    void shutdown_write() noexcept override {}
    void abort() noexcept override {}

    std::vector<std::string> written;

private:
    std::deque<std::string> pieces_;
    std::string unread_;
};

std::deque<std::string> cut(std::string_view bytes, std::size_t size) {
    std::deque<std::string> pieces;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size())))
        pieces.emplace_back(bytes.substr(0, size));
    return pieces;
}

template <class T>
T run(task<T> t) {
    rota::inline_scheduler scheduler;
    return scheduler.run_task(std::move(t));
}

using maybe = std::optional<std::string>;

} // namespace

TEST_CASE("read_line() gives lines however they arrive") {
    const std::size_t size = GENERATE(range(1, 20));
    CAPTURE(size);
    scripted_stream s(cut("one\r\ntwo\n\r\n\nth\rree\r\r\nrest", size));
    for (const char* line : {"one", "two", "", "", "th\rree\r", "rest"})
        CHECK(run(s.read_line()) == line);
    CHECK(run(s.read_line()) == std::nullopt);
    CHECK(run(s.read_line()) == std::nullopt);
}

TEST_CASE("read_line() counts the line without its end, and leaves a longer one where it is") {
    const std::size_t size = GENERATE(range(1, 12));
    CAPTURE(size);
    for (const std::string fits : {"1234\n", "1234\r\n", "1234", "123\r\r\n"}) {
        CAPTURE(fits);
        scripted_stream s(cut(fits, size));
        CHECK(run(s.read_line(4))->size() == 4);
    }
    for (const std::string too_long :
         {"12345\n", "12345\r\n", "1234\r\r\n", "12345", "123456", "123456789", "1234\r5\n"}) {
        CAPTURE(too_long);
        scripted_stream s(cut(too_long, size));
        CHECK_THROWS_AS(run(s.read_line(4)), std::length_error);
        CHECK(run(s.read_line()).value().substr(0, 4) == "1234"); // nothing was consumed
    }
}

TEST_CASE("read_line() refuses a line without an end as soon as it is too long") {
    scripted_stream s(cut(std::string(10'000, 'x'), 1));
    CHECK_THROWS_AS(run(s.read_line(100)), std::length_error);
    CHECK(s.buffered().size() <= 102);
}

TEST_CASE("there need not be a limit") {
    constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    scripted_stream s(cut(std::string(100'000, 'x') + "\nrest--", 1000));
    CHECK(run(s.read_line(none)).value().size() == 100'000);
    CHECK(run(s.read_until("--", none)) == "rest--");
}

TEST_CASE("read_until() finds a delimiter that is cut in pieces") {
    const std::size_t size = GENERATE(range(1, 12));
    CAPTURE(size);
    scripted_stream s(cut("a\r\n\r\nb\r\r\n\r\nrest", size));
    CHECK(run(s.read_until("\r\n\r\n")) == "a\r\n\r\n");
    CHECK(run(s.read_until("\r\n\r\n")) == "b\r\r\n\r\n");
    CHECK(run(s.read_until("\r\n\r\n")) == "rest");
    CHECK(run(s.read_until("\r\n\r\n")) == std::nullopt);
}

TEST_CASE("read_until() holds its limit with the delimiter, and consumes nothing beyond it") {
    scripted_stream s(cut("12345--6789--", 3));
    CHECK_THROWS_AS(run(s.read_until("--", 6)), std::length_error);
    CHECK(run(s.read_until("--", 7)) == "12345--");
    CHECK_THROWS_AS(run(s.read_until("")), std::invalid_argument);
    CHECK(run(s.read_until("--", 6)) == "6789--");
}

TEST_CASE("a deadline that passes loses nothing") {
    const auto pieces = [] { return std::deque<std::string>{"ab", "", "cd", "", "e\n", "f"}; };
    SECTION("read_line") {
        scripted_stream s(pieces());
        CHECK_THROWS_AS(run(s.read_line()), rota::timed_out);
        CHECK(s.buffered() == "ab");
        CHECK_THROWS_AS(run(s.read_line()), rota::timed_out);
        CHECK(run(s.read_line()) == "abcde");
    }
    SECTION("read_until") {
        scripted_stream s(pieces());
        CHECK_THROWS_AS(run(s.read_until("e")), rota::timed_out);
        CHECK_THROWS_AS(run(s.read_until("e")), rota::timed_out);
        CHECK(run(s.read_until("e")) == "abcde");
    }
    SECTION("read_exactly") {
        scripted_stream s(pieces());
        std::string into(5, '.');
        CHECK_THROWS_AS(run(s.read_exactly(into)), rota::timed_out);
        CHECK(s.buffered() == "ab");
        CHECK_THROWS_AS(run(s.read_exactly(into)), rota::timed_out);
        CHECK(run(s.read_exactly(into)) == 5);
        CHECK(into == "abcde");
    }
    SECTION("read_some") {
        scripted_stream s({"", "x"});
        std::string into(5, '.');
        CHECK_THROWS_AS(run(s.read_some(into)), rota::timed_out);
        CHECK(run(s.read_some(into)) == 1);
    }
}

TEST_CASE("read_exactly() fills what it is given, or gives what is left") {
    const std::size_t size = GENERATE(range(1, 12));
    CAPTURE(size);
    scripted_stream s(cut("0123456789", size));
    std::string into(4, '.');
    CHECK(run(s.read_exactly(into)) == 4);
    CHECK(into == "0123");
    CHECK(run(s.read_exactly({})) == 0);
    into.assign(20, '.');
    CHECK(run(s.read_exactly(into)) == 6);
    CHECK(into == "456789..............");
    CHECK(run(s.read_exactly(into)) == 0);
}

TEST_CASE("read_some() gives what is there") {
    scripted_stream s({"abc", "d"});
    std::string into(2, '.');
    CHECK(run(s.read_some(into)) == 2);
    CHECK(into == "ab");
    CHECK(run(s.read_some(into)) == 1);
    CHECK(run(s.read_some({})) == 0);
    CHECK(run(s.read_some(into)) == 1);
    CHECK(into == "db");
    CHECK(run(s.read_some(into)) == 0);
}

namespace {

task<std::vector<std::string>> read_all(scripted_stream* s) {
    std::vector<std::string> pieces;
    while (auto piece = co_await s->read())
        pieces.emplace_back(*piece);
    co_return pieces;
}

/// Numbers behind commas, which need not arrive whole.
task<std::vector<std::string>> read_numbers(scripted_stream* s) {
    std::vector<std::string> numbers;
    while (auto piece = co_await s->read()) {
        std::string_view rest = *piece;
        for (auto end = rest.find(','); end != rest.npos; end = rest.find(',')) {
            numbers.emplace_back(rest.substr(0, end));
            rest.remove_prefix(end + 1);
        }
        s->unread(rest.size());
    }
    co_return numbers;
}

} // namespace

TEST_CASE("read() shows each piece once") {
    scripted_stream s({"one", "two", "three"});
    CHECK(run(read_all(&s)) == std::vector<std::string>{"one", "two", "three"});
    CHECK(s.buffered().empty());
    CHECK(run(s.read()) == std::nullopt);
}

TEST_CASE("what was given back is shown again, with what has come behind it") {
    const std::size_t size = GENERATE(range(1, 14));
    CAPTURE(size);
    scripted_stream s(cut("1,22,333,,4444,55", size));
    CHECK(run(read_numbers(&s)) == std::vector<std::string>{"1", "22", "333", "", "4444"});
    CHECK(s.buffered() == "55"); // the end has come before it was whole
    CHECK(run(s.read()) == std::nullopt);
    CHECK(run(s.read_line()) == "55");
}

TEST_CASE("a deadline drops what was shown, and nothing of what was given back") {
    scripted_stream s({"abc", "", "", "de", "", "fgh", "i"});
    CHECK(run(s.read()) == "abc");
    s.unread(1);
    CHECK_THROWS_AS(run(s.read()), rota::timed_out);
    CHECK(s.buffered() == "c");
    CHECK_THROWS_AS(run(s.read()), rota::timed_out);
    CHECK(run(s.read()) == "cde");
    CHECK_THROWS_AS(run(s.read()), rota::timed_out);
    CHECK(run(s.read()) == "fgh");
    s.unread(0);
    CHECK(run(s.read()) == "i");
}

TEST_CASE("other calls that read go on behind what read() has shown") {
    scripted_stream s({"abc", "de\nfg\n", "hijk", "l"});
    CHECK(run(s.read()) == "abc");
    CHECK(run(s.read_line()) == "de");
    CHECK(run(s.read()) == "fg\n");
    s.unread(2);
    CHECK(run(s.read_until("\n")) == "g\n");
    CHECK(run(s.read()) == "hijk");
    s.unread(1);
    std::string into(2, '.');
    CHECK(run(s.read_exactly(into)) == 2);
    CHECK(into == "kl");
    CHECK(run(s.read()) == std::nullopt);
}

TEST_CASE("no more is given back than was shown, where checks are on") {
    if (!rota::checks_enabled)
        SKIP("built without checks");
    const std::string words = last_words([] {
        scripted_stream s({"abc"});
        CHECK(run(s.read()) == "abc");
        s.unread(4);
    });
    CHECK(words.find("no more is given back than read() has shown") != std::string::npos);
}

TEST_CASE("lines and pieces are written as one") {
    scripted_stream s({});
    run(s.write_line("hello"));
    const std::vector<std::string_view> pieces{"a", "", "bc"};
    run(s.write_all(pieces));
    CHECK(s.written == std::vector<std::string>{"hello\n", "abc"});
}

namespace {

/// One that has no room: with a deadline it queues nothing, else all, and waits either way.
class full_stream final : public stream {
public:
    std::string_view buffered() const noexcept override { return {}; }
    void consume(std::size_t) noexcept override {}
    task<bool> fill(deadline) override { co_return false; }
    task<bool> fill_more(deadline) override { co_return false; }
    bool peer_closed() const noexcept override { return false; }
    task<void> write(std::string_view bytes, deadline until) override {
        if (!until)
            written += bytes.size();
        co_await room.wait();
        if (until)
            written += bytes.size();
    }
    task<void> write_owned(std::string bytes, deadline until) override {
        co_await write(bytes, until);
    }
    bool try_write(std::string_view) override { return false; }
    task<void> flush(deadline) override { co_return; }
    void shutdown_write() noexcept override {}
    void abort() noexcept override { aborted = true; }

    rota::auto_event room;
    std::size_t written = 0;
    bool aborted = false;
};

} // namespace

TEST_CASE("shared bytes that are given up are whole, not begun, or the end of the stream") {
    const std::size_t size = GENERATE(1'000u, 100'000u);
    const int rooms = GENERATE(0, 1);
    CAPTURE(size, rooms);
    const rota::io::shared_bytes bytes(std::string(size, 's'));
    full_stream s;
    rota::inline_scheduler scheduler;
    const auto writing = scheduler.spawn(s.write_shared(bytes), {.name = "writer"});
    scheduler.run();
    if (rooms == 1) {
        s.room.notify();
        scheduler.run();
    }
    writing->request_stop();
    scheduler.run();
    CHECK(writing->state() == rota::routine_state::stopped);
    CHECK((s.aborted || s.written == 0 || s.written == size));
}
