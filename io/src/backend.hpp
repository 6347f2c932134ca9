#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <rota/io/options.hpp>
#include <sys/socket.h>
#include <sys/uio.h>

namespace rota::io {

class buffer_group;
struct operation;

/// What became of an operation: one or more completions with `more`, the last one without.
struct op_completion {
    operation* op;
    std::int32_t result; ///< bytes, poll events, or -errno
    std::uint32_t flags; ///< completion_flags below
};

/// Flags of a completion as they travel to the worker: bit 0 = more will follow, bit 1 = a buffer
/// came with it, whose id is in the upper half.
namespace completion_flags {
inline constexpr std::uint32_t more = 1;
inline constexpr std::uint32_t buffer = 2;
inline constexpr std::uint32_t cancel_seen =
    4; ///< not an end: the read side has looked at a cancel request
inline constexpr unsigned buffer_shift = 16;
} // namespace completion_flags

/// The seam to the kernel on the receiving side: operations in, completions out. Nothing above
/// knows which one it is.
///
/// One thread uses it, except wake(). An operation stays the backend's from its arm to the
/// completion without `more`, also after cancel(): that only hurries the completion, which then
/// says -ECANCELED unless something else was first. A shutdown(2) of both directions that succeeds
/// completes a receive by itself: a connection that ends relies on it.
class read_backend {
public:
    using time_point = std::chrono::steady_clock::time_point;

    virtual ~read_backend() = default;

    /// Called once by the thread that will use it, first of all.
    virtual void enter_thread() = 0;
    virtual void arm(operation& op) = 0;
    virtual void cancel(operation& op) = 0;
    /// Hands over what was armed, waits until `until` for a completion or a wake(), and writes what
    /// there is to `out`. Returns how many were written; more may be left for the next call.
    virtual std::size_t wait(std::span<op_completion> out, time_point until) = 0;
    /// Ends a wait() that is under way, or the next one. Any thread.
    virtual void wake() noexcept = 0;
    /// Makes the buffers of `group` known to the kernel, before the first receive that uses them.
    virtual void attach(buffer_group& group) = 0;

    // When the thread that uses it is stuck outside, in a handler, another one may take over.

    /// Whether that other thread can use this very backend. If not, it arms everything anew on one
    /// of its own, while this one is left alone until the thread that it belongs to calls leave().
    [[nodiscard]] virtual bool any_thread() const noexcept { return true; }
    /// Whether it holds completions that wait() has not given out: they would be lost. Any thread.
    [[nodiscard]] virtual bool holds_completions() const noexcept { return false; }
    /// Ends everything without another byte being received. After it the backend only goes.
    virtual void leave() noexcept {}
};

/// Makes the descriptor of `op`, a connect, not block, and begins the connect or goes on with one
/// that another backend has begun: 0 if it is done, EINPROGRESS if the descriptor becomes writable
/// when it is, else the errno value with which it failed. Follow by end_connect() once it is done.
[[nodiscard]] int go_on_connecting(const operation& op) noexcept;
/// Lets the descriptor block again; 0 or -errno, with which the connect has ended.
[[nodiscard]] std::int32_t end_connect(int fd) noexcept;

/// What a backend is woken by: an eventfd (man 2 eventfd), which blocks. Throws std::system_error.
class wake_event {
public:
    wake_event();
    ~wake_event();
    wake_event(const wake_event&) = delete;
    wake_event& operator=(const wake_event&) = delete;
    [[nodiscard]] int fd() const noexcept { return fd_; }
    void notify() const noexcept;

private:
    int fd_;
};

/// Bytes of a file that go to a socket without a way through user space (man 2 sendfile). Both
/// descriptors live as long as the call.
struct file_send {
    int file;
    std::uint64_t offset;
    std::size_t bytes;
    bool first; ///< on that socket, which may still block
};

/// One message to send, or bytes of a file: the result is bytes sent or -errno; it never waits
/// (-EAGAIN). 0 of a file: it has no byte there.
struct send_request {
    int fd;
    int more; ///< MSG_MORE if others follow at once, or 0
    msghdr message;
    const file_send* file; ///< then there is no message
    std::int32_t result;
};

/// The seam on the sending side. The holder of the write side's baton uses it.
class write_backend {
public:
    virtual ~write_backend() = default;
    /// Sends each request as far as the socket takes it at once and sets its result.
    virtual void send(std::span<send_request> batch) = 0;
    /// So many at once are worth it: what one send needs is in the cache for the next.
    [[nodiscard]] virtual std::size_t batch_worth() const noexcept { return 256; }
};

/// Throws std::system_error if this kernel, or this container, does not allow it.
/// Without `limited_receives` it receives as on kernels that cannot limit a multishot receive.
std::unique_ptr<read_backend> make_uring_read_backend(unsigned entries,
                                                      bool limited_receives = true);
std::unique_ptr<write_backend> make_uring_write_backend(unsigned entries);
std::unique_ptr<read_backend> make_epoll_read_backend();
std::unique_ptr<write_backend> make_syscall_write_backend();

/// What the kernel's backends send of a file. From the first one on the socket does not block (man
/// 2 fcntl): sendfile(2) has no flag of its own for that. A ring's receives do not mind.
[[nodiscard]] std::int32_t send_from_file(int fd, const file_send& what) noexcept;

/// Where a context's backends come from. Called once for each side, and again for a worker that
/// ended and was started again; throws std::system_error.
struct backend_source {
    std::function<std::unique_ptr<read_backend>()> make_read;
    std::function<std::unique_ptr<write_backend>()> make_write;
};

/// The kernel's, of one kind; not `automatic`.
backend_source kernel_backends(backend_kind kind, unsigned ring_entries);

/// Tries out what the io_uring backend needs, on the smallest rings, because the kernel takes their
/// memory back only some time later: an empty string if all of it is there, else the reason why
/// not.
std::string why_no_uring();

} // namespace rota::io
