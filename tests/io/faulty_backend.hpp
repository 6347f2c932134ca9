#pragma once

// A kernel backend that fails on purpose and counts what it is asked for.

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend.hpp"
#include "operation.hpp"

namespace rota::io::test {

/// What goes wrong, and how often what was done. Shared by all backends of a context.
struct faults {
    std::mutex lock;
    std::deque<int> poll_errors;            ///< errno values for the next polls
    std::deque<int> receive_errors;         ///< ... receives
    std::deque<std::int32_t> send_errors;   ///< ... sends
    std::array<std::atomic<int>, 3> arms{}; ///< by op_kind
    std::atomic<int> waits{0};
    std::atomic<int> sends{0};

    [[nodiscard]] int arms_of(op_kind kind) const { return arms[static_cast<std::size_t>(kind)]; }
    int take(std::deque<int>& errors) {
        const std::lock_guard guard(lock);
        if (errors.empty())
            return 0;
        const int error = errors.front();
        errors.pop_front();
        return error;
    }
};

class faulty_read_backend final : public read_backend {
public:
    faulty_read_backend(std::unique_ptr<read_backend> real, std::shared_ptr<faults> f)
        : real_(std::move(real)), faults_(std::move(f)) {}

    void enter_thread() override { real_->enter_thread(); }
    void arm(operation& op) override {
        ++faults_->arms[static_cast<std::size_t>(op.kind)];
        int error = 0;
        if (op.kind == op_kind::poll)
            error = faults_->take(faults_->poll_errors);
        if (op.kind == op_kind::receive)
            error = faults_->take(faults_->receive_errors);
        if (error != 0) {
            failed_.push_back({.op = &op, .result = -error, .flags = 0});
        } else {
            real_->arm(op);
        }
    }
    void cancel(operation& op) override {
        for (const op_completion& c : failed_) {
            if (c.op == &op)
                return;
        }
        real_->cancel(op);
    }
    std::size_t wait(std::span<op_completion> out, time_point until) override {
        ++faults_->waits;
        if (failed_.empty())
            return real_->wait(out, until);
        std::size_t count = 0;
        for (; count < out.size() && !failed_.empty(); ++count) {
            out[count] = failed_.front();
            failed_.pop_front();
        }
        return count;
    }
    void wake() noexcept override { real_->wake(); }
    void attach(buffer_group& group) override { real_->attach(group); }

private:
    const std::unique_ptr<read_backend> real_;
    const std::shared_ptr<faults> faults_;
    std::deque<op_completion> failed_;
};

class faulty_write_backend final : public write_backend {
public:
    faulty_write_backend(std::unique_ptr<write_backend> real, std::shared_ptr<faults> f)
        : real_(std::move(real)), faults_(std::move(f)) {}

    void send(std::span<send_request> batch) override {
        for (send_request& r : batch) {
            ++faults_->sends;
            const int error = faults_->take(faults_->send_errors);
            if (error != 0) {
                r.result = -error;
            } else {
                real_->send(std::span(&r, 1));
            }
        }
    }

private:
    const std::unique_ptr<write_backend> real_;
    const std::shared_ptr<faults> faults_;
};

inline backend_source faulty(backend_kind kind, unsigned entries, std::shared_ptr<faults> f) {
    const backend_source real = kernel_backends(kind, entries);
    return {.make_read = [real,
                          f] { return std::make_unique<faulty_read_backend>(real.make_read(), f); },
            .make_write =
                [real, f] { return std::make_unique<faulty_write_backend>(real.make_write(), f); }};
}

} // namespace rota::io::test
