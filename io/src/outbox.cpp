#include <rota/io/outbox.hpp>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <rota/check.hpp>
#include <rota/errors.hpp>
#include <rota/io/log.hpp>
#include <rota/linked_stop.hpp>
#include <rota/task_group.hpp>
#include <rota/with_timeout.hpp>

namespace rota::io {
namespace {

constexpr std::size_t slots_min = 4;        // a quiet client needs no more
constexpr std::size_t copied_bytes = 4'096; // of a message: more of them are held, and shared

} // namespace

/// The oldest message; nothing once the outbox is closed and empty.
class outbox::next_awaiter final : public list_awaiter {
public:
    next_awaiter(outbox& o, std::source_location where) noexcept
        : list_awaiter(o.lock_, o.writer_, "outbox", where), outbox_(o) {}

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        return wait_unless(self, [this] { return outbox_.count_ != 0 || outbox_.closed_; });
    }
    std::optional<shared_bytes> await_resume() {
        finish();
        std::optional<shared_bytes> oldest;
        waiter* senders = nullptr;
        {
            const std::lock_guard guard(outbox_.lock_);
            if (outbox_.count_ != 0) { // what woke it may be gone, if it was cut off since
                oldest = outbox_.take_locked();
                senders = outbox_.served_locked();
            }
        }
        wait_list::wake_chain(senders);
        return oldest;
    }

private:
    outbox& outbox_;
};

outbox::outbox(outbox_options options) : options_(options) {
    if (options_.messages_max == 0)
        throw std::invalid_argument("outbox: messages_max must not be 0");
}

/// Whether there is a free slot; makes more of them, up to the limit.
bool outbox::has_slot_locked() noexcept {
    if (count_ < ring_.size())
        return true;
    if (count_ == options_.messages_max)
        return false;
    try {
        std::vector<shared_bytes> more(
            std::min(options_.messages_max, std::max(slots_min, 2 * ring_.size())));
        for (std::size_t i = 0; i < count_; ++i)
            more[i] = std::move(ring_[(first_ + i) % ring_.size()]);
        ring_ = std::move(more);
    } catch (const std::bad_alloc&) {
        return false;
    }
    first_ = 0;
    return true;
}

bool outbox::fits_locked(const shared_bytes& message) noexcept {
    return bytes_ + message.size() <= options_.bytes_max && has_slot_locked();
}

shared_bytes outbox::take_locked() noexcept {
    shared_bytes oldest = std::exchange(ring_[first_], shared_bytes());
    first_ = (first_ + 1) % ring_.size();
    --count_;
    ROTA_CHECK(bytes_ >= oldest.size(), "the bytes of an outbox are those of its messages");
    bytes_ -= oldest.size();
    return oldest;
}

void outbox::queue_locked(shared_bytes message) noexcept {
    bytes_ += message.size();
    ring_[(first_ + count_) % ring_.size()] = std::move(message);
    ++count_;
}

/// The client gets nothing more. The chain of those that waited to send: to be woken.
waiter* outbox::cut_locked() noexcept {
    dropped_ += count_;
    while (count_ != 0)
        static_cast<void>(take_locked());
    closed_ = true;
    was_cut_ = true;
    return senders_.release();
}

/// Queues what there is room for now of those that wait. The chain of those that go on, and of
/// what writes, if it waits and need not.
waiter* outbox::served_locked() noexcept {
    wait_list served;
    waiter* next = nullptr;
    for (waiter* first = senders_.front(); first != nullptr; first = next) {
        next = first->next;
        send_awaiter& sender = send_awaiter::of(*first);
        if (!fits_locked(sender.message_))
            break;
        if (!first->may_be_served())
            continue;
        senders_.remove(*first);
        queue_locked(std::move(sender.message_));
        sender.sent_ = true;
        served.push_back(*first);
    }
    waiter* const writer = count_ != 0 ? writer_.pop_front() : nullptr;
    if (writer != nullptr)
        served.push_back(*writer);
    return served.release();
}

/// Whether it need not wait.
bool outbox::send_locked(send_awaiter& one, waiter*& to_wake) noexcept {
    if (closed_ || one.message_.size() > options_.bytes_max)
        return true;
    if (!senders_.empty())
        return false;
    if (!fits_locked(one.message_)) {
        one.no_memory_ = count_ == 0; // and nothing that would give it room
        return one.no_memory_;
    }
    queue_locked(std::move(one.message_));
    one.sent_ = true;
    to_wake = served_locked();
    return true;
}

bool outbox::send_awaiter::await_resume() {
    finish();
    if (no_memory_)
        throw std::bad_alloc();
    return sent_;
}

outbox::send_awaiter outbox::send(shared_bytes message, std::source_location where) {
    return {*this, std::move(message), where};
}

bool outbox::try_send(shared_bytes message) noexcept {
    waiter* to_wake = nullptr;
    bool queued = true;
    bool cut = false;
    {
        const std::lock_guard guard(lock_);
        if (closed_)
            return false;
        while (options_.policy == when_full::drop_oldest && count_ != 0 && !fits_locked(message)) {
            static_cast<void>(take_locked());
            ++dropped_;
        }
        queued = fits_locked(message);
        cut = !queued && options_.policy == when_full::disconnect;
        if (queued) {
            queue_locked(std::move(message));
        } else {
            ++dropped_;
        }
        to_wake = cut ? cut_locked() : served_locked(); // there may be room that was not there
    }
    if (cut)
        cut_.request_stop();
    wait_list::wake_chain(to_wake);
    return queued;
}

void outbox::close() noexcept {
    waiter* writer = nullptr;
    waiter* senders = nullptr;
    {
        const std::lock_guard guard(lock_);
        closed_ = true;
        writer = writer_.pop_front();
        senders = senders_.release();
    }
    wait_list::wake_one(writer);
    wait_list::wake_chain(senders);
}

std::size_t outbox::size() const noexcept {
    const std::lock_guard guard(lock_);
    return count_;
}

std::uint64_t outbox::dropped() const noexcept {
    const std::lock_guard guard(lock_);
    return dropped_;
}

bool outbox::cut_off() const noexcept {
    const std::lock_guard guard(lock_);
    return was_cut_;
}

outbox::next_awaiter outbox::next(std::source_location where) { return {*this, where}; }

task<void> outbox::write_to(stream* to) {
    for (;;) {
        std::optional<shared_bytes> message = co_await next();
        if (!message)
            break;
        if (message->size() <= copied_bytes)
            co_await to->write(message->view());
        else
            co_await to->write_shared(std::move(*message));
    }
    written_.set();
}

task<void> outbox::until_written() { co_await written_.wait(); }

task<void> outbox::run_body(task<void> body) {
    co_await std::move(body);
    close();
    try {
        co_await with_timeout(options_.finish_within, until_written());
    } catch (const timed_out&) {
        const std::lock_guard guard(lock_);
        static_cast<void>(cut_locked()); // it is closed: none waits to send
    }
    if (cut_off())
        cut_.request_stop();
}

task<void> outbox::serve(stream& to, task<void> body) {
    const std::stop_token parent = co_await current_stop_token;
    const linked_stop either(parent, cut_.get_token());
    auto beside = [&](task_group& group) {
        group.spawn(write_to(&to), "outbox");
        return run_body(std::move(body));
    };
    std::exception_ptr error;
    try {
        task<void> both = with_task_group(beside);
        co_await both.under(either.token());
    } catch (...) {
        error = std::current_exception();
    }
    close();
    if (cut_off()) {
        const routine& self = co_await current_routine;
        log::warn("{}#{} is cut off: it does not read, and misses {} messages", self.name(),
                  self.id(), dropped());
        to.abort();
        throw std::system_error(ECONNABORTED, std::system_category(),
                                "outbox: the client does not read");
    }
    if (error)
        std::rethrow_exception(error);
}

} // namespace rota::io
