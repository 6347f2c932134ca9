#pragma once

// One end of a connection in memory, with the test in place of the network. For routines of an
// inline_scheduler.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <rota/auto_event.hpp>
#include <rota/errors.hpp>
#include <rota/io/stream.hpp>
#include <rota/routine.hpp>
#include <rota/with_timeout.hpp>

namespace rota::io::tls::test {

class pipe_end final : public io::stream {
public:
    // -- the network's side

    void deliver(std::string_view bytes) {
        later_.append(bytes);
        arrived_.notify();
    }
    void finish() {
        finished_ = true;
        arrived_.notify();
    }
    /// Takes at most so many of the bytes that were written.
    std::string take(std::size_t most = std::numeric_limits<std::size_t>::max()) {
        if (kept_)
            return {};
        std::string bytes = written_.substr(0, most);
        written_.erase(0, bytes.size());
        taken_.notify();
        return bytes;
    }
    [[nodiscard]] std::size_t waiting() const noexcept { return written_.size(); }
    /// The network takes nothing while it is set.
    void keep(bool set = true) noexcept { kept_ = set; }
    void set_room(std::size_t bytes) noexcept { room_ = bytes; }
    /// From now on a write waits, with nothing written.
    void hold_writes() noexcept { held_ = true; }
    /// Nothing can be queued while it is set: there is no memory.
    void run_out(bool set = true) noexcept { out_ = set; }
    [[nodiscard]] bool write_ended() const noexcept { return write_ended_; }
    [[nodiscard]] bool aborted() const noexcept { return aborted_; }

    // -- the stream

    [[nodiscard]] std::string_view buffered() const noexcept override { return there_; }
    void consume(std::size_t bytes) noexcept override {
        there_.erase(0, bytes);
        if (there_.empty())
            there_.swap(later_);
    }
    task<bool> fill(deadline until) override {
        while (there_.empty() && later_.empty()) {
            if (finished_ || aborted_)
                co_return false;
            co_await wait(arrived_, until);
        }
        if (there_.empty())
            there_.swap(later_);
        co_return true;
    }
    task<bool> fill_more(deadline until) override {
        while (later_.empty()) {
            if (finished_ || aborted_)
                co_return false;
            co_await wait(arrived_, until);
        }
        there_ += std::exchange(later_, {});
        co_return true;
    }
    [[nodiscard]] bool peer_closed() const noexcept override { return finished_; }

    task<void> write(std::string_view bytes, deadline until) override {
        const std::string copy(bytes);
        co_await put(copy, until);
    }
    task<void> write_owned(std::string bytes, deadline until) override {
        const std::string copy(std::move(bytes));
        co_await put(copy, until);
    }
    bool try_write(std::string_view bytes) override {
        if (!has_room(bytes.size()))
            return false;
        check_memory(bytes);
        written_.append(bytes);
        return true;
    }
    bool try_write_last(std::string_view bytes) override {
        if (write_ended_ || aborted_)
            return false;
        check_memory(bytes);
        written_.append(bytes);
        return true;
    }
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept override {
        return !write_ended_ && !aborted_ && written_.size() + bytes <= room_;
    }
    task<void> flush(deadline until) override {
        while (!written_.empty())
            co_await wait(taken_, until);
    }
    [[nodiscard]] send_progress progress() const noexcept override {
        return {.taken = 7, .left = written_.size()};
    }
    void shutdown_write() noexcept override { write_ended_ = true; }
    void abort() noexcept override {
        aborted_ = true;
        written_.clear();
        arrived_.notify();
        taken_.notify();
    }

private:
    static task<void> notified(auto_event* event) { co_await event->wait(); }
    static task<void> wait(auto_event& event, deadline until) {
        task<void> waiting = notified(&event);
        if (until && *until != std::chrono::steady_clock::time_point::max())
            return with_deadline(*until, std::move(waiting));
        return waiting;
    }
    void check_memory(std::string_view bytes) const {
        if (out_ && !bytes.empty())
            throw std::bad_alloc();
    }
    void check() const {
        if (write_ended_ || aborted_)
            throw std::system_error(EPIPE, std::system_category(), "pipe");
    }
    /// As io::connection has it.
    task<void> put(std::string_view bytes, deadline until) {
        const std::stop_token stop = co_await current_stop_token;
        if (stop.stop_requested())
            throw operation_cancelled();
        while (held_)
            co_await wait(taken_, until);
        check();
        if (until) {
            while (written_.size() > room_ && !aborted_)
                co_await wait(taken_, until);
            check();
        }
        written_.append(bytes);
        if (until)
            co_return;
        while (written_.size() > room_ && !aborted_)
            co_await wait(taken_, {});
        check();
    }

    std::string there_;
    std::string later_;
    std::string written_;
    std::size_t room_ = std::numeric_limits<std::size_t>::max();
    bool held_ = false;
    bool kept_ = false;
    bool out_ = false;
    bool finished_ = false;
    bool aborted_ = false;
    bool write_ended_ = false;
    auto_event arrived_;
    auto_event taken_;
};

/// Moves what both have written, up to `piece` bytes at a time, until nothing moves. `run` lets the
/// routines go on.
template <class Run>
void carry(pipe_end& a, pipe_end& b, std::size_t piece, Run run) {
    bool moves = true;
    run();
    while (moves) {
        const std::string of_a = a.take(piece);
        b.deliver(of_a);
        run();
        const std::string of_b = b.take(piece);
        a.deliver(of_b);
        run();
        moves = !of_a.empty() || !of_b.empty();
    }
}

} // namespace rota::io::tls::test
