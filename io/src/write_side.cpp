#include "write_side.hpp"

#include <malloc.h>

namespace rota::io {

write_side::write_side(std::unique_ptr<write_backend> backend, std::size_t inline_send_bytes)
    : backend_(std::move(backend)), inline_send_bytes_(inline_send_bytes) {
    outputs_.reserve(batch_max);
    requests_.reserve(batch_max);
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
    inbox_.push(o.node_);
    // Outside a worker's turn (a completion handler runs in one, too) nobody would flush.
    if (worker::current() == nullptr)
        flush();
}

void write_side::flush() noexcept {
    if (inbox_.empty())
        return;
    const bool much =
        has_thread_ && queued_bytes_.load(std::memory_order_relaxed) > inline_send_bytes_;
    baton seen = baton::parked;
    if (much) {
        if (baton_.compare_exchange_strong(seen, baton::running))
            parker_.notify();
        return;
    }
    while (baton_.compare_exchange_strong(seen, baton::lent)) {
        drain();
        baton_.store(baton::parked, std::memory_order_seq_cst);
        if (inbox_.empty())
            return;
        seen = baton::parked;
    }
    // Somebody else holds the baton, and looks at the inbox again when he gives it back.
}

void write_side::run() noexcept {
    for (;;) {
        drain();
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

void write_side::drain() {
    while (inbox_.drain_into(ready_) != 0 || !ready_.empty()) {
        queued_bytes_.store(0, std::memory_order_relaxed);
        while (!ready_.empty()) {
            outputs_.clear();
            requests_.clear();
            vectors_.clear();
            while (outputs_.size() < batch_max) {
                runnable* const next = ready_.pop();
                if (next == nullptr)
                    break;
                output& o = static_cast<output::queue_node*>(next)->out;
                outputs_.push_back(&o);
                o.prepare(requests_.emplace_back(), vectors_);
            }
            send_batch(outputs_.size());
        }
    }
}

void write_side::send_batch(std::size_t count) {
    // The vectors have stopped moving: now they can be pointed at.
    iovec* next = vectors_.data();
    for (std::size_t i = 0; i < count; ++i) {
        requests_[i].message.msg_iov = next;
        next += requests_[i].message.msg_iovlen;
    }
    backend_->send(requests_);
    for (std::size_t i = 0; i < count; ++i) {
        output& o = *outputs_[i];
        if (o.sent(requests_[i].result) == output::next_step::send_more)
            ready_.push(o.node_);
    }
}

} // namespace rota::io
