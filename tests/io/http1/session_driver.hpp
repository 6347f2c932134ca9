#pragma once

// A session under test: one client over a memory_stream, on an inline_scheduler with a clock that
// stands still.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/http/serve_connection.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/routine.hpp>

#include "memory_stream.hpp"

namespace rota::http::test {

/// A request without content.
inline std::string asking(const std::string& target, const std::string& method = "GET") {
    return method + " " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

/// Of the alphabet, again and again.
inline std::string letters(std::size_t size) {
    std::string bytes(size, 'a');
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<char>('a' + i % 26);
    return bytes;
}

class session_driver {
public:
    explicit session_driver(router routes, server_limits limits = {},
                            std::function<bool(std::string_view)> misdirected = {})
        : routes_(std::move(routes)), limits_(limits) {
        hooks_.on_error = [this](std::string_view message) { errors_.emplace_back(message); };
        hooks_.on_access = [this](const access_entry& entry) {
            log_.push_back(std::string(entry.method) + ' ' + std::string(entry.target) + ' ' +
                           std::to_string(entry.status));
            content_sent_ = entry.bytes_sent;
        };
        session_control control;
        control.draining = draining_.get_token();
        control.metrics = &metrics_;
        control.hooks = &hooks_;
        control.peer = "peer";
        control.refusing = &refusing_;
        control.misdirected = std::move(misdirected);
        routine_ = scheduler_.spawn(serve(this, std::move(control)), {.name = "client"});
        scheduler_.run();
    }

    session_driver(const session_driver&) = delete;
    session_driver& operator=(const session_driver&) = delete;
    ~session_driver() {
        routine_->request_stop();
        scheduler_.run();
    }

    /// Sends a piece, lets the session run, and returns what it has written.
    std::string exchange(std::string_view bytes) {
        stream_.send(bytes);
        scheduler_.run();
        return receive();
    }
    /// What was written, with the values of Date fields taken out.
    std::string receive() {
        std::string bytes = stream_.receive();
        for (std::size_t at = 0; (at = bytes.find("Date: ", at)) != std::string::npos; at += 8) {
            bytes.erase(at, bytes.find("\r\n", at) + 2 - at);
        }
        scheduler_.run();
        return bytes;
    }
    void advance(std::chrono::milliseconds length) { scheduler_.advance(length); }
    void finish() {
        stream_.finish();
        scheduler_.run();
    }
    void drain() {
        draining_.request_stop();
        scheduler_.run();
    }
    void refuse(bool on) { refusing_.store(on); }
    /// The session has returned.
    [[nodiscard]] bool ended() const { return routine_->state() == routine_state::stopped; }
    /// The session has returned without an exception.
    [[nodiscard]] bool ended_well() const { return ended() && routine_->error() == nullptr; }

    memory_stream& stream() noexcept { return stream_; }
    inline_scheduler& scheduler() noexcept { return scheduler_; }
    routine& client() noexcept { return *routine_; }
    std::vector<std::string>& errors() noexcept { return errors_; }
    std::vector<std::string>& log() noexcept { return log_; }
    /// Of the answer that was logged last.
    [[nodiscard]] std::uint64_t content_sent() const noexcept { return content_sent_; }
    [[nodiscard]] metrics_snapshot metrics() const { return metrics_.read(); }
    /// The session has ended, and its connection is served without it.
    [[nodiscard]] bool session_left() const noexcept { return session_left_; }

private:
    static task<void> serve(session_driver* self, session_control control) {
        task<void> next;
        control.next = &next;
        co_await serve_connection(&self->stream_, &self->routes_, &self->limits_,
                                  std::move(control));
        self->session_left_ = next.valid();
        if (next.valid())
            co_await std::move(next);
    }

    router routes_;
    server_limits limits_;
    session_hooks hooks_;
    server_metrics metrics_;
    std::stop_source draining_;
    std::atomic<bool> refusing_{false};
    std::vector<std::string> errors_;
    std::vector<std::string> log_;
    std::uint64_t content_sent_ = 0;
    bool session_left_ = false;
    inline_scheduler scheduler_;
    memory_stream stream_{scheduler_};
    routine_ptr routine_;
};

} // namespace rota::http::test
