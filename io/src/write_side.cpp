#include "write_side.hpp"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include <rota/check.hpp>

namespace rota::io {
namespace {

constexpr std::size_t sent_posts_max = 64; // more workers than this are woken at once

} // namespace

write_side::write_side(std::unique_ptr<write_backend> backend,
                       std::optional<std::size_t> inline_send_bytes)
    : backend_(std::move(backend)), inline_send_bytes_(inline_send_bytes) {
    outputs_.reserve(batch_max);
    requests_.reserve(batch_max);
    vectors_.reserve(vectors_max);
    posted_.reserve(sent_posts_max);
}

write_side::~write_side() { stop(); }

void write_side::start_thread() {
    has_thread_ = true;
    baton_.store(baton::running); // until the thread goes to sleep
    thread_ = start_quiet_thread("rota-write", [this] { run(); });
}

void write_side::stop() {
    if (!thread_.joinable())
        return;
    stopping_.store(true, std::memory_order_seq_cst);
    parker_.notify();
    thread_.join();
}

void write_side::enqueue(output& o, std::size_t bytes) noexcept {
    queued_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    inbox_.push(o);
    // Outside a worker's turn (a completion handler runs in one, too) nobody would flush.
    if (worker::current() == nullptr)
        flush();
}

void write_side::flush() noexcept {
    if (inbox_.empty())
        return;
    const bool much =
        has_thread_ && (!inline_send_bytes_ ||
                        queued_bytes_.load(std::memory_order_relaxed) > *inline_send_bytes_);
    baton seen = baton::parked;
    if (much) {
        if (baton_.load(std::memory_order_seq_cst) == baton::parked &&
            baton_.compare_exchange_strong(seen, baton::running))
            parker_.notify();
        return;
    }
    ROTA_CHECK(!has_thread_ || inline_send_bytes_, "nobody but the thread sends, if that is to");
    for (int rounds = 1; baton_.compare_exchange_strong(seen, baton::lent); ++rounds) {
        bool left = send_round();
        while (left && !has_thread_)
            left = send_round();
        if (left || (has_thread_ && rounds == lent_rounds_max && !inbox_.empty())) {
            pass_on();
            return;
        }
        check_baton(baton::lent);
        baton_.store(baton::parked, std::memory_order_seq_cst);
        if (inbox_.empty())
            return;
        seen = baton::parked;
    }
    // Another thread holds the baton, and looks at the inbox again when it gives it back.
}

/// What is left is the thread's.
void write_side::pass_on() noexcept {
    check_baton(baton::lent);
    baton_.store(baton::running, std::memory_order_seq_cst);
    parker_.notify();
}

void write_side::check_baton(baton as) const noexcept {
    ROTA_CHECK(baton_.load(std::memory_order_relaxed) == as,
               "only the holder of the write side's baton sends, and gives it back");
}

void write_side::run() noexcept {
    for (;;) {
        for (bool left = true; left;) {
            {
                // One wake for each worker, however many of its outputs have come to their end.
                const worker::put_off_wakes until_sent(posted_);
                left = send_round() || !inbox_.empty();
            }
            for (worker* const w : posted_)
                w->notify();
            posted_.clear();
        }
        check_baton(baton::running);
        baton_.store(baton::parked, std::memory_order_seq_cst);
        baton seen = baton::parked;
        if (!inbox_.empty() && baton_.compare_exchange_strong(seen, baton::running))
            continue;
        do {
            parker_.wait();
            if (stopping_.load(std::memory_order_seq_cst))
                return;
            if (return_memory_.exchange(false, std::memory_order_relaxed))
                ::malloc_trim(0);
        } while (baton_.load(std::memory_order_seq_cst) != baton::running);
    }
}

void write_side::return_memory() noexcept {
    if (!has_thread_) {
        ::malloc_trim(0);
        return;
    }
    return_memory_.store(true, std::memory_order_relaxed);
    parker_.notify(); // without the baton: it only wakes
}

/// Sends what is queued, as far as a few batches go; true if more is at hand.
bool write_side::send_round() noexcept {
    inbox_.drain_into(ready_);
    queued_bytes_.store(0, std::memory_order_relaxed);
    const std::size_t most = std::min(batch_max, backend_->batch_worth());
    for (std::size_t taken = 0; !ready_.empty(); taken += outputs_.size()) {
        if (taken >= outputs_per_round)
            return true;
        outputs_.clear();
        requests_.clear();
        vectors_.clear();
        // Within their capacity: nothing here allocates.
        while (outputs_.size() < most && vectors_.size() + output::vectors_max <= vectors_max) {
            runnable* const next = ready_.pop();
            if (next == nullptr)
                break;
            auto& o = static_cast<output&>(*next);
            outputs_.push_back(&o);
            o.prepare(requests_.emplace_back(), vectors_);
        }
        send_batch();
    }
    return false;
}

void write_side::send_batch() noexcept {
    // The vectors have stopped moving: now they can be pointed at.
    iovec* next = vectors_.data();
    for (send_request& r : requests_) {
        r.message.msg_iov = next;
        next += r.message.msg_iovlen;
    }
    backend_->send(requests_);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        output& o = *outputs_[i];
        if (o.sent(requests_[i].result) == output::next_step::send_more)
            ready_.push(o);
    }
}

} // namespace rota::io
