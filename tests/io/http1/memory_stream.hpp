#pragma once

// A stream in memory, with the test at its other end. For routines of an inline_scheduler.

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <rota/detail/timer_wheel.hpp>
#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/io/stream.hpp>
#include <rota/owner_wait.hpp>

namespace rota::http::test {

class memory_stream final : public io::stream {
public:
    explicit memory_stream(inline_scheduler& scheduler) noexcept : home_(scheduler.home()) {}

    // -- the test's end: none of it runs the other end; inline_scheduler::run() does

    /// Sends a piece, which arrives as one.
    void send(std::string_view bytes) {
        if (!bytes.empty()) {
            // A capacity of its own size, so that a sanitizer sees what reads beyond it.
            arrived_.emplace_back(bytes).shrink_to_fit();
        }
        wake(reader_);
    }
    /// Ends the sending direction.
    void finish() {
        finished_ = true;
        wake(reader_);
    }
    /// Breaks the connection.
    void reset() {
        broken_ = true;
        wake(reader_);
        wake(writer_);
    }
    /// Breaks it as the first send shows: nothing is to be seen of it in reading yet.
    void refuse_writes() {
        refuses_writes_ = true;
        wake(writer_);
    }
    /// Takes what has been written so far.
    std::string receive() {
        std::string bytes = std::exchange(written_, {});
        wake(writer_);
        return bytes;
    }
    /// How much may be written before the writer has to wait for receive().
    void set_room(std::size_t bytes) noexcept { room_ = bytes; }
    /// Takes shared bytes from where they are.
    void take_shared() noexcept { takes_shared_ = true; }
    /// How many there were.
    [[nodiscard]] std::size_t shared() const noexcept { return shared_; }
    /// What progress() says that the peer has taken; nothing is known without it.
    void set_taken(std::function<std::uint64_t()> taken) { taken_ = std::move(taken); }
    [[nodiscard]] bool write_ended() const noexcept { return write_ended_; }
    [[nodiscard]] bool aborted() const noexcept { return aborted_; }
    [[nodiscard]] std::size_t writes() const noexcept { return writes_; }
    [[nodiscard]] bool being_read() const noexcept { return reader_ != nullptr; }

    // -- the other end

    [[nodiscard]] std::string_view buffered() const noexcept override {
        return arrived_.empty() ? std::string_view{}
                                : std::string_view(arrived_.front()).substr(consumed_);
    }
    void consume(std::size_t bytes) noexcept override {
        if (arrived_.empty())
            return;
        consumed_ += bytes;
        if (consumed_ < arrived_.front().size())
            return;
        arrived_.pop_front();
        consumed_ = 0;
    }
    task<bool> fill(io::deadline until) override {
        while (buffered().empty()) {
            if (broken_)
                fail();
            if (finished_)
                co_return false;
            awaiter wait(*this, &memory_stream::reader_, until);
            co_await wait;
        }
        co_return true;
    }
    task<bool> fill_more(io::deadline until) override {
        const std::size_t before = buffered().size();
        const std::size_t pieces = arrived_.size();
        while (arrived_.size() == pieces) {
            if (broken_)
                fail();
            if (finished_)
                co_return false;
            awaiter wait(*this, &memory_stream::reader_, until);
            co_await wait;
        }
        if (before > 0) {
            arrived_[0].append(arrived_[1]);
            arrived_.erase(arrived_.begin() + 1);
        }
        co_return true;
    }
    [[nodiscard]] bool peer_closed() const noexcept override {
        return broken_ || aborted_ || (finished_ && arrived_.empty());
    }
    [[nodiscard]] bool failed() const noexcept override {
        return broken_ || aborted_ || write_refused_;
    }

    task<void> write(std::string_view bytes, io::deadline until = {}) override {
        if (until)
            co_await room(until);
        check_writable();
        ++writes_;
        written_.append(bytes);
        if (!until)
            co_await room({});
    }
    task<void> write_owned(std::string bytes, io::deadline until = {}) override {
        co_await write(std::string_view(bytes), until);
    }
    task<void> write_shared(io::shared_bytes bytes, io::deadline until = {}) override {
        if (!takes_shared_) {
            co_await stream::write_shared(std::move(bytes), until);
            co_return;
        }
        shared_ += bytes.size();
        co_await write(bytes.view(), until);
    }
    bool try_write(std::string_view bytes) override {
        if (!is_writable() || written_.size() + bytes.size() > room_) {
            return false;
        }
        ++writes_;
        written_.append(bytes);
        return true;
    }
    bool try_write_last(std::string_view bytes) override {
        if (!is_writable())
            return false;
        ++writes_;
        written_.append(bytes);
        return true;
    }
    bool try_write_shared(std::string_view before, const io::shared_bytes& bytes) override {
        if (!takes_shared_ || !is_writable() || written_.size() > room_)
            return false;
        ++writes_;
        written_.append(before).append(bytes.view());
        shared_ += bytes.size();
        return true;
    }
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept override {
        return is_writable() && written_.size() + bytes <= room_;
    }
    task<void> flush(io::deadline until = {}) override {
        while (!written_.empty()) {
            check_writable();
            awaiter wait(*this, &memory_stream::writer_, until);
            co_await wait;
        }
    }
    [[nodiscard]] io::send_progress progress() const noexcept override {
        const std::uint64_t taken = taken_ ? taken_() : 0;
        return {.taken = taken, .left = taken_ ? written_.size() : 0};
    }
    void shutdown_write() noexcept override { write_ended_ = true; }
    void abort() noexcept override {
        aborted_ = true;
        wake(reader_);
        wake(writer_);
    }

private:
    task<void> room(io::deadline until) {
        while (written_.size() > room_) {
            check_writable();
            awaiter wait(*this, &memory_stream::writer_, until);
            co_await wait;
        }
    }

    /// A wait for the test, or for a deadline.
    class awaiter final : public owner_wait {
    public:
        awaiter(memory_stream& stream, awaiter* memory_stream::*place, io::deadline until)
            : owner_wait("memory_stream"), stream_(stream), place_(place), until_(until),
              timer_(*this) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait(self, [this] {
                stream_.*place_ = this;
                if (until_)
                    stream_.home_.timers().arm(timer_, *until_);
                return true;
            });
        }
        void await_resume() {
            finish();
            if (late_)
                throw timed_out();
        }
        void end(bool late) noexcept {
            late_ = late;
            withdraw();
            complete();
        }

    private:
        struct expiry : timer {
            explicit expiry(awaiter& a) noexcept : timer(&fire), self(a) {}
            static void fire(timer& t) noexcept { static_cast<expiry&>(t).self.end(true); }
            awaiter& self;
        };
        bool withdraw() noexcept override {
            stream_.home_.timers().disarm(timer_);
            stream_.*place_ = nullptr;
            return true;
        }

        memory_stream& stream_;
        awaiter* memory_stream::*place_;
        const io::deadline until_;
        expiry timer_;
        bool late_ = false;
    };

    static void wake(awaiter* waiting) noexcept {
        if (waiting != nullptr)
            waiting->end(false);
    }
    [[noreturn]] static void fail() {
        throw std::system_error(std::make_error_code(std::errc::connection_reset));
    }
    [[nodiscard]] bool is_writable() const noexcept {
        return !broken_ && !refuses_writes_ && !aborted_ && !write_ended_;
    }
    void check_writable() {
        write_refused_ = write_refused_ || refuses_writes_;
        if (!is_writable())
            fail();
    }

    worker& home_;
    std::deque<std::string> arrived_;
    std::size_t consumed_ = 0; // of the first piece
    std::string written_;
    std::function<std::uint64_t()> taken_;
    std::size_t room_ = std::numeric_limits<std::size_t>::max();
    std::size_t writes_ = 0;
    std::size_t shared_ = 0;
    awaiter* reader_ = nullptr;
    awaiter* writer_ = nullptr;
    bool finished_ = false;
    bool broken_ = false;
    bool write_refused_ = false;
    bool refuses_writes_ = false;
    bool aborted_ = false;
    bool write_ended_ = false;
    bool takes_shared_ = false;
};

} // namespace rota::http::test
