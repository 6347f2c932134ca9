#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "backend.hpp"
#include "operation.hpp"
#include "read_side.hpp"

namespace rota::io::test {

/// Until when a turn may wait.
inline constexpr auto never = std::chrono::steady_clock::time_point::max();

/// What a fake_read_backend has seen, and what it will answer. Outlives it.
struct read_script {
    std::mutex lock;
    std::condition_variable changed;
    std::vector<std::pair<char, operation*>> calls; ///< 'a'rm, 'c'ancel, in their order
    std::deque<op_completion> ready;                ///< given out by wait()
    std::vector<const buffer_group*> attached;
    read_backend::time_point last_until{};
    std::vector<int> arm_errors; ///< thrown by the next arms; 0 = none
    bool block = false;          ///< wait() really waits, for a completion or a wake()
    bool woken = false;
    int wakes = 0;
    int waits = 0;
    int waiting = 0;

    void complete(operation& op, std::int32_t result, std::uint32_t flags = 0) {
        const std::lock_guard guard(lock);
        ready.push_back({.op = &op, .result = result, .flags = flags});
        changed.notify_all();
    }
    void await_waiting() {
        std::unique_lock guard(lock);
        changed.wait(guard, [this] { return waiting > 0; });
    }
};

/// A kernel that does what its script says.
class fake_read_backend : public read_backend {
public:
    explicit fake_read_backend(read_script& s) : script_(s) {}

    void enter_thread() override {}
    void arm(operation& op) override {
        const std::lock_guard guard(script_.lock);
        if (!script_.arm_errors.empty()) {
            const int error = script_.arm_errors.front();
            script_.arm_errors.erase(script_.arm_errors.begin());
            if (error != 0)
                throw std::system_error(error, std::system_category());
        }
        script_.calls.emplace_back('a', &op);
    }
    void cancel(operation& op) override {
        const std::lock_guard guard(script_.lock);
        script_.calls.emplace_back('c', &op);
    }
    std::size_t wait(std::span<op_completion> out, time_point until) override {
        std::unique_lock guard(script_.lock);
        ++script_.waits;
        script_.last_until = until;
        if (script_.block && until > std::chrono::steady_clock::now()) {
            ++script_.waiting;
            script_.changed.notify_all();
            script_.changed.wait(guard, [this] { return script_.woken || !script_.ready.empty(); });
            --script_.waiting;
        }
        script_.woken = false;
        const std::size_t count = std::min(out.size(), script_.ready.size());
        std::copy_n(script_.ready.begin(), count, out.begin());
        script_.ready.erase(script_.ready.begin(),
                            script_.ready.begin() + static_cast<std::ptrdiff_t>(count));
        return count;
    }
    void wake() noexcept override {
        const std::lock_guard guard(script_.lock);
        ++script_.wakes;
        script_.woken = true;
        script_.changed.notify_all();
    }
    void attach(buffer_group& group) override { script_.attached.push_back(&group); }

private:
    read_script& script_;
};

/// One that belongs to its thread: one that takes over gets another.
class fake_ring final : public fake_read_backend {
public:
    fake_ring(read_script& s, std::atomic<int>& left) : fake_read_backend(s), left_(left) {}
    [[nodiscard]] bool any_thread() const noexcept override { return false; }
    void leave() noexcept override { ++left_; }

private:
    std::atomic<int>& left_;
};

/// What a fake_write_backend was asked to send, and how much of it it takes.
struct write_script {
    std::mutex lock;
    std::string sent;                 ///< everything, in order
    std::vector<std::size_t> batches; ///< sizes
    std::deque<std::int32_t> results; ///< bytes to take at most, or -errno; empty: everything
    std::function<void(const send_request&)> look{}; ///< called for each request
};

class fake_write_backend final : public write_backend {
public:
    explicit fake_write_backend(write_script& s) : script_(s) {}

    void send(std::span<send_request> batch) override {
        const std::lock_guard guard(script_.lock);
        script_.batches.push_back(batch.size());
        for (send_request& r : batch)
            send_one(r);
    }

private:
    void send_one(send_request& r) {
        if (script_.look)
            script_.look(r);
        std::size_t room = static_cast<std::size_t>(-1);
        if (!script_.results.empty()) {
            const std::int32_t next = script_.results.front();
            script_.results.pop_front();
            if (next < 0) {
                r.result = next;
                return;
            }
            room = static_cast<std::size_t>(next);
        }
        if (r.file != nullptr) {
            std::string bytes(std::min(r.file->bytes, room), '\0');
            const ssize_t got = ::pread(r.file->file, bytes.data(), bytes.size(),
                                        static_cast<off_t>(r.file->offset));
            script_.sent.append(bytes, 0, static_cast<std::size_t>(got));
            r.result = static_cast<std::int32_t>(got);
            return;
        }
        std::size_t taken = 0;
        for (std::size_t i = 0; i < r.message.msg_iovlen; ++i) {
            const iovec& v = r.message.msg_iov[i];
            const std::size_t count = std::min(v.iov_len, room - taken);
            script_.sent.append(static_cast<const char*>(v.iov_base), count);
            taken += count;
        }
        r.result = static_cast<std::int32_t>(taken);
    }

    write_script& script_;
};

} // namespace rota::io::test
