#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <rota/detail/runnable.hpp>
#include <rota/detail/small_lock.hpp>
#include <rota/detail/timer_wheel.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/io/shared_file.hpp>
#include <rota/io/stream.hpp>
#include <rota/list_awaiter.hpp>
#include <rota/wait_list.hpp>

#include "backend.hpp"
#include "operation.hpp"
#include "queued_files.hpp"
#include "queued_piece.hpp"

namespace rota::io {

class read_side;
class write_side;

/// What the kernel keeps of what a socket was given until the peer has taken it (man 7 tcp,
/// SIOCOUTQ). An end of the stream that is on its way counts as a byte.
[[nodiscard]] std::uint64_t untaken_bytes(int fd) noexcept;

struct output_limits {
    std::size_t high_water_bytes;
    std::size_t low_water_bytes;
};

/// The sending half of a connection: what its worker has queued and the write side sends.
///
///   idle --queue()--> with the write side --everything sent--> idle
///                        |       ^
///                   socket full  writable (a poll on the read side),
///                   no memory    a timer
///
/// `lock_` guards the queue and the state. What is being sent belongs to the write side alone, so
/// at most one send is in flight and bytes leave in order. After close() the output must live until
/// it is settled().
class output : private runnable {
public:
    class owner {
    public:
        /// The output may have become settled(). Under the baton of its worker; the output may go
        /// in this call.
        virtual void output_settled() noexcept = 0;

    protected:
        ~owner() = default;
    };

    output(worker& home, write_side& sender, read_side& poller, output_limits limits,
           owner& listener) noexcept;
    output(const output&) = delete;
    output& operator=(const output&) = delete;

    // -- the connection's worker
    void open(int fd) noexcept;
    /// False, with nothing queued, if that would make the queue larger than the high-water mark
    /// (unless `force`) or the output has failed.
    bool queue(std::string_view bytes, bool force);
    bool queue_owned(std::string&& bytes);
    /// As queue(), with `before` in front of `bytes`, which are held until they have been sent, or
    /// the output has failed, and not copied.
    bool queue_shared(std::string_view before, shared_bytes bytes, bool force);
    /// As queue(), with `before` in front of the bytes of a file, for which there is room if
    /// nothing is queued. `last`: its end is that of what was announced, so it has to be right by
    /// then; `waited`: what is before it has left already.
    bool queue_file(std::string_view before, const file_slice& part, bool last, bool waited,
                    bool force);
    /// What the peer has taken, and what it has not: here or in the kernel.
    [[nodiscard]] send_progress progress() const noexcept;
    /// The errno value with which sending failed, or 0.
    [[nodiscard]] int error() const noexcept;
    /// Whether a routine waits here that has not been told to stop.
    [[nodiscard]] bool waited_in() const noexcept;
    /// No more may be queued, because what is queued ends with a part of something.
    void cut() noexcept;
    [[nodiscard]] bool is_cut() const noexcept;
    [[nodiscard]] bool is_below_high_water() const noexcept;
    /// Whether queue() would take so many bytes without `force`.
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept;
    void shutdown() noexcept;
    /// Drops what is queued and fails with `error`; nothing more is sent.
    void fail(int error) noexcept;
    /// No more calls but fail(). What is queued still goes out; owner::output_settled() says when
    /// it has.
    void close() noexcept;
    /// Gives memory back that the next bytes would use again, if nothing is queued.
    void slim() noexcept;
    /// After close(): nobody else has anything of it, so it may go.
    [[nodiscard]] bool settled() const noexcept { return writer_done_ && !cancel_pending_; }

    class awaiter : public basic_list_awaiter<small_lock> {
    public:
        awaiter(output& o, wait_list& list, std::size_t limit, const char* what,
                std::source_location where) noexcept
            : basic_list_awaiter(o.lock_, list, what, where), output_(o), limit_(limit) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] {
                const bool over = output_.error_ != 0 || output_.queued_bytes_ <= limit_;
                output_.waited_ = output_.waited_ || !over;
                return over;
            });
        }
        void await_resume() { finish(); }

    private:
        output& output_;
        const std::size_t limit_;
    };
    /// Waits until no more than the low-water mark is queued, if more than the high-water mark is.
    awaiter below_high_water(std::source_location where) noexcept;
    /// Waits until the kernel has taken everything.
    awaiter empty(std::source_location where) noexcept;

private:
    friend class write_side;

    /// At most so many pieces in one send.
    static constexpr std::size_t vectors_max = 64;

    /// What is behind the last byte: more may come; nothing may, because a part of something is
    /// missing; the end of the stream.
    enum class tail : std::uint8_t { open, cut, end };

    /// What the write side does with it next.
    enum class next_step { done, send_more, wait_until_writable, wait_for_memory };

    struct writable_op final : operation {
        explicit writable_op(output& o, worker& owner) noexcept;
        void complete(std::int32_t result, std::uint32_t flags) noexcept override;
        output& out;
    };
    /// Tells the worker that the write side has let go, or that it has to try again later.
    struct to_worker_node : runnable {
        explicit to_worker_node(output& o) noexcept : runnable(&run), out(o) {}
        static void run(runnable& self) noexcept;
        output& out;
    };
    struct retry_timer : timer {
        explicit retry_timer(output& o) noexcept : timer(&fire), out(o) {}
        static void fire(timer& self) noexcept;
        output& out;
    };
    [[nodiscard]] worker& home() const noexcept { return writable_.home; }
    bool hand_to_writer_locked() noexcept;
    void append_locked(std::string_view bytes);

    // -- the holder of the write side's baton, while it has the output
    void prepare(send_request& request, std::vector<iovec>& vectors);
    next_step sent(std::int32_t result) noexcept;
    void take_pending_locked();
    void prepare_file_locked(send_request& request);
    [[nodiscard]] bool files_sent() const noexcept { return !files_ || files_->all_sent(); }
    void advance(std::size_t bytes) noexcept;
    [[nodiscard]] std::int32_t advance_file(std::int32_t result) noexcept;
    void drop_sending_locked() noexcept;
    void poll_writable() noexcept;

    static void nothing(runnable&) noexcept {}

    // What each answer needs comes first, in four lines of the cache: with the runnable, which is
    // its place in the write side's queue.

    // -- set once
    write_side& sender_;
    owner& owner_;

    // -- lock_
    mutable small_lock lock_;
    std::int16_t error_ = 0; // errno, or 0
    bool waited_ = false;    // somebody may be in below_waiters_ or empty_waiters_
    bool with_writer_ = false;
    tail tail_ = tail::open;
    bool closed_ = false;
    bool short_of_memory_ = false; // the write side's, for to_worker_, whose posting releases it
    std::size_t queued_bytes_ = 0; // pending and being sent
    std::uint64_t sent_bytes_ = 0; // handed to the kernel
    std::vector<queued_piece> pending_;
    queued_files_place files_; // once there was one: pending, and being sent
    const output_limits limits_;

    // -- the holder of the write side's baton
    std::size_t sending_offset_ = 0;
    std::size_t asked_ = 0; // bytes of the send under way
    std::vector<queued_piece> sending_;
    std::uint32_t sending_index_ = 0;

    int fd_ = -1; // set once

    // -- lock_
    wait_list below_waiters_;
    wait_list empty_waiters_;

    // -- set once
    read_side& poller_;

    // -- the connection's worker
    bool writer_done_ = false;    // after close(): the write side has let go
    bool cancel_pending_ = false; // the read side has not yet seen a cancel of writable_
    retry_timer retry_;

    // -- the holder of the write side's baton
    to_worker_node to_worker_;
    writable_op writable_;
};

} // namespace rota::io
