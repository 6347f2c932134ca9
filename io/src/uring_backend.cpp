// The only file that enters an io_uring (man 7 io_uring, man 2 io_uring_enter).

#include "backend.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <liburing.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buffer_group.hpp"
#include "operation.hpp"
#include "uring_refusal.hpp"

namespace rota::io {
namespace {

// user_data of what is not an operation; an operation's is its address.
constexpr std::uint64_t ignored = 0;
constexpr std::uint64_t woken = 1;
constexpr std::uint64_t tried = 2;

constexpr unsigned entries_min = 16;

std::system_error failure(int negative_errno, const char* what) {
    return {-negative_errno, std::system_category(), what};
}

/// Rings are mapped and unmapped by bare system calls, which ThreadSanitizer does not see: it would
/// take a ring for another one that had been at its address. Each end of a ring releases to, and
/// each start acquires from here.
std::atomic<unsigned> rings{0};

/// Sets a ring up, with half the entries as long as the kernel has no memory for more.
void set_up(io_uring& ring, unsigned entries, unsigned flags, const char* what) {
    for (;;) {
        io_uring_params params{};
        params.flags = flags | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
        params.cq_entries = entries * 4;
        const int result = ::io_uring_queue_init_params(entries, &ring, &params);
        if (result == 0) {
            rings.fetch_add(1, std::memory_order_acq_rel);
            return;
        }
        if (result != -ENOMEM || entries <= entries_min)
            throw failure(result, what);
        entries /= 2;
    }
}

/// Throws if the kernel does not know one of the operations that the two sides submit. How they
/// are used, several completions for one, is as old as the flags of the read side's ring.
void require_operations(io_uring& ring) {
    const std::unique_ptr<io_uring_probe, void (*)(io_uring_probe*)> known(
        ::io_uring_get_probe_ring(&ring), ::io_uring_free_probe);
    if (known == nullptr)
        throw failure(-EOPNOTSUPP, "io_uring_register (probe)");
    for (const int operation :
         {IORING_OP_NOP, IORING_OP_SENDMSG, IORING_OP_SEND, IORING_OP_RECV, IORING_OP_READ,
          IORING_OP_CONNECT, IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL}) {
        if (::io_uring_opcode_supported(known.get(), operation) == 0) {
            throw std::system_error(EOPNOTSUPP, std::system_category(),
                                    fmt::format("operation {} of io_uring", operation));
        }
    }
}

void tear_down(io_uring& ring) noexcept {
    rings.fetch_sub(1, std::memory_order_acq_rel);
    ::io_uring_queue_exit(&ring);
}

class uring_read_backend final : public read_backend {
public:
    explicit uring_read_backend(unsigned entries) {
        // DEFER_TASKRUN and COOP_TASKRUN: completions are worked off when the thread asks for them,
        // not by interrupting it (without: 1.48 times the CPU). R_DISABLED: the thread that enables
        // the ring is its single issuer.
        set_up(ring_, entries,
               IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN |
                   IORING_SETUP_R_DISABLED,
               "io_uring_setup (read side)");
    }

    ~uring_read_backend() override {
        if (!left_)
            tear_down(ring_);
    }

    void enter_thread() override {
        // By the bare call: liburing 2.3 declares io_uring_enable_rings() but does not export it.
        if (::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr,
                      0) < 0) {
            throw std::system_error(errno, std::system_category(), "io_uring_register (enable)");
        }
        listen_for_wake();
    }

    /// Throws unless the operations are there and a no-op goes through the ring: a filter may let
    /// a ring be set up and nobody enter it. For a ring that nothing else was armed on.
    void try_out() {
        require_operations(ring_);
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_nop(sqe);
        sqe->user_data = tried;
        io_uring_cqe* cqe = nullptr;
        __kernel_timespec limit{.tv_sec = 1, .tv_nsec = 0};
        const int result = ::io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &limit, nullptr);
        if (result < 0)
            throw failure(result, "io_uring_enter");
        if (cqe == nullptr || cqe->user_data != tried || cqe->res != 0)
            throw failure(-EOPNOTSUPP, "a no-op through io_uring");
        ::io_uring_cqe_seen(&ring_, cqe);
    }

    void arm(operation& op) override {
        io_uring_sqe* const sqe = next_sqe();
        switch (op.kind) {
        case op_kind::receive:
            ::io_uring_prep_recv_multishot(sqe, op.fd, nullptr, 0, 0);
            sqe->flags |= IOSQE_BUFFER_SELECT;
            sqe->buf_group = op.group->id();
            break;
        case op_kind::poll:
            ::io_uring_prep_poll_add(sqe, op.fd, op.poll_events);
            break;
        case op_kind::connect:
            ::io_uring_prep_connect(sqe, op.fd, op.address, op.address_length);
            break;
        }
        sqe->user_data = reinterpret_cast<std::uintptr_t>(&op);
    }

    void cancel(operation& op) override {
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_cancel64(sqe, reinterpret_cast<std::uintptr_t>(&op), 0);
        sqe->user_data = ignored;
    }

    std::size_t wait(std::span<op_completion> out, time_point until) override {
        if (::io_uring_cq_ready(&ring_) == 0)
            enter(until);
        std::size_t count = 0;
        unsigned seen = 0;
        unsigned head = 0;
        io_uring_cqe* cqe = nullptr;
        io_uring_for_each_cqe(&ring_, head, cqe) {
            if (count == out.size())
                break;
            ++seen;
            if (cqe->user_data == ignored)
                continue;
            if (cqe->user_data == woken) {
                wake_armed_ = false;
                continue;
            }
            out[count++] = translate(*cqe);
        }
        ::io_uring_cq_advance(&ring_, seen);
        if (!wake_armed_)
            listen_for_wake();
        return count;
    }

    void wake() noexcept override { wake_->notify(); }

    void attach(buffer_group& group) override {
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uintptr_t>(group.ring());
        registration.ring_entries = group.count();
        registration.bgid = group.id();
        if (const int result = ::io_uring_register_buf_ring(&ring_, &registration, 0); result < 0) {
            throw failure(result, "io_uring_register_buf_ring");
        }
    }

    // SINGLE_ISSUER. Completions come only when the thread asks for them, because of DEFER_TASKRUN:
    // while it is stuck elsewhere nothing is received.
    bool any_thread() const noexcept override { return false; }

    bool holds_completions() const noexcept override {
        const auto read = [](unsigned* word) { return std::atomic_ref(*word).load(); };
        return read(ring_.cq.khead) != read(ring_.cq.ktail) ||
               (read(ring_.sq.kflags) & IORING_SQ_CQ_OVERFLOW) != 0;
    }

    void leave() noexcept override {
        // What was not handed over goes. A submit alone does not ask for completions, so everything
        // has been marked as cancelled before any of the deferred work runs, which then only ends.
        ring_.sq.sqe_tail = ring_.sq.sqe_head;
        if (io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_)) {
            ::io_uring_prep_cancel64(sqe, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
            sqe->user_data = ignored;
            ::io_uring_submit(&ring_);
        }
        tear_down(ring_);
        left_ = true;
    }

    std::unique_ptr<read_backend> stand_in() const override {
        return make_epoll_read_backend(wake_);
    }

private:
    io_uring_sqe* next_sqe() {
        for (;;) {
            if (io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_))
                return sqe;
            // The submission queue is full: hand over what it holds. EBUSY means that completions
            // overflowed and have to be fetched first, which io_uring_get_events does; they stay in
            // the ring for the next wait().
            const int result = ::io_uring_submit(&ring_);
            if (result == -EBUSY || result == -EAGAIN)
                ::io_uring_get_events(&ring_);
        }
    }

    void enter(time_point until) {
        io_uring_cqe* first = nullptr;
        const auto now = std::chrono::steady_clock::now();
        if (until <= now) {
            ::io_uring_submit_and_get_events(&ring_);
            return;
        }
        if (until == time_point::max()) {
            ::io_uring_submit_and_wait(&ring_, 1);
            return;
        }
        const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(until - now).count();
        __kernel_timespec limit{.tv_sec = rest / 1'000'000'000, .tv_nsec = rest % 1'000'000'000};
        ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &limit, nullptr);
        // EINTR, ETIME and EBUSY alike: look at what is there, and come back.
    }

    void listen_for_wake() {
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_read(sqe, wake_->fd(), &wake_count_, sizeof wake_count_, 0);
        sqe->user_data = woken;
        wake_armed_ = true;
    }

    static op_completion translate(const io_uring_cqe& cqe) noexcept {
        auto* const op = static_cast<operation*>(::io_uring_cqe_get_data(&cqe));
        std::uint32_t flags = 0;
        if ((cqe.flags & IORING_CQE_F_MORE) != 0)
            flags |= completion_flags::more;
        if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
            flags |= completion_flags::buffer;
            flags |= (cqe.flags >> IORING_CQE_BUFFER_SHIFT) << completion_flags::buffer_shift;
            op->group->taken_by_kernel();
        }
        return {.op = op, .result = cqe.res, .flags = flags};
    }

    const std::shared_ptr<wake_event> wake_ = std::make_shared<wake_event>();
    io_uring ring_{};
    std::uint64_t wake_count_ = 0;
    bool wake_armed_ = false;
    bool left_ = false;
};

class uring_write_backend final : public write_backend {
public:
    explicit uring_write_backend(unsigned entries) : batch_max_(entries) {
        set_up(ring_, entries, IORING_SETUP_COOP_TASKRUN, "io_uring_setup (write side)");
        batch_max_ = std::min(batch_max_, *ring_.sq.kring_entries);
    }
    ~uring_write_backend() override { tear_down(ring_); }

    void send(std::span<send_request> batch) override {
        while (!batch.empty()) {
            const std::size_t count = std::min<std::size_t>(batch.size(), batch_max_);
            send_some(batch.first(count));
            batch = batch.subspan(count);
        }
    }

private:
    // MSG_DONTWAIT makes each send complete within the submitting call, by EAGAIN if need be:
    // nothing of this ring is ever left in flight, so no buffer outlives the call and there is
    // nothing to cancel.
    void send_some(std::span<send_request> batch) {
        constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
        for (send_request& r : batch) {
            r.result = -EAGAIN;
            io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_);
            // A plain send is cheaper than a message of one piece.
            if (r.message.msg_iovlen == 1) {
                const iovec& only = *r.message.msg_iov;
                ::io_uring_prep_send(sqe, r.fd, only.iov_base, only.iov_len, flags);
            } else {
                ::io_uring_prep_sendmsg(sqe, r.fd, &r.message, flags);
            }
            sqe->user_data = reinterpret_cast<std::uintptr_t>(&r);
        }
        std::size_t left = batch.size();
        while (left != 0) {
            ::io_uring_submit_and_wait(&ring_, static_cast<unsigned>(left));
            unsigned head = 0;
            unsigned seen = 0;
            io_uring_cqe* cqe = nullptr;
            io_uring_for_each_cqe(&ring_, head, cqe) {
                static_cast<send_request*>(::io_uring_cqe_get_data(cqe))->result = cqe->res;
                ++seen;
            }
            ::io_uring_cq_advance(&ring_, seen);
            left -= seen;
        }
    }

    io_uring ring_{};
    unsigned batch_max_;
};

} // namespace

std::unique_ptr<read_backend> make_uring_read_backend(unsigned entries) {
    return std::make_unique<uring_read_backend>(entries);
}

std::unique_ptr<write_backend> make_uring_write_backend(unsigned entries) {
    return std::make_unique<uring_write_backend>(entries);
}

std::string why_no_uring() {
    try {
        uring_read_backend reading(entries_min);
        const uring_write_backend writing(entries_min);
        reading.enter_thread();
        reading.try_out();
        buffer_group group(0, 2, 64);
        reading.attach(group);
        return {};
    } catch (const std::system_error& e) {
        return explain_failure(e);
    }
}

} // namespace rota::io
