#include "buffer_group.hpp"

#include <bit>
#include <new>
#include <stdexcept>
#include <utility>

#include <liburing.h>
#include <rota/check.hpp>
#include <sys/mman.h>

namespace rota::io {
namespace {

constexpr std::size_t cache_line = 64;

/// The entries. By a cast, because in C++ the header's flexible array does not begin where the
/// kernel's does.
io_uring_buf* entries(io_uring_buf_ring* ring) noexcept {
    return reinterpret_cast<io_uring_buf*>(ring);
}

std::atomic_ref<std::uint16_t> tail_of(io_uring_buf_ring* ring) noexcept {
    return std::atomic_ref(ring->tail);
}

unsigned checked_count(unsigned count, std::size_t bytes_each) {
    if (!std::has_single_bit(count) || count > 32768 || bytes_each == 0) {
        throw std::invalid_argument(
            "receive_buffers must be a power of two up to 32768, of at least one byte each");
    }
    return count;
}

} // namespace

void buffer_group::unmapping::operator()(void* memory) const noexcept { ::munmap(memory, bytes); }

buffer_group::mapping buffer_group::map(std::size_t bytes) {
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::bad_alloc();
    return {memory, unmapping{bytes}};
}

buffer_group::buffer_group(std::uint16_t id, unsigned count, std::size_t bytes_each)
    : id_(id), count_(checked_count(count, bytes_each)), bytes_each_(bytes_each),
      stride_(bytes_each + cache_line), memory_map_(map(count * stride_)),
      ring_map_(map(count * sizeof(io_uring_buf))), memory_(static_cast<char*>(memory_map_.get())),
      ring_(static_cast<io_uring_buf_ring*>(ring_map_.get())) {
    reset();
}

void buffer_group::reset() noexcept {
    carried_.reset();
    head_ = tail_ = published_ = 0;
    for (unsigned i = 0; i < count_; ++i)
        give_back(static_cast<std::uint16_t>(i));
    publish();
}

[[gnu::always_inline]] inline void buffer_group::write_entry(io_uring_buf_ring* ring,
                                                             std::uint16_t at,
                                                             std::uint16_t buffer) noexcept {
    io_uring_buf& entry = entries(ring)[at & (count_ - 1)];
    entry.addr = reinterpret_cast<std::uintptr_t>(data(buffer));
    entry.len = static_cast<std::uint32_t>(bytes_each_);
    entry.bid = buffer;
}

[[gnu::always_inline]] inline std::uint16_t
buffer_group::buffer_at(io_uring_buf_ring* ring, std::uint16_t at) const noexcept {
    return entries(ring)[at & (count_ - 1)].bid;
}

io_uring_buf_ring* buffer_group::ring_for_kernel() {
    if (head_ == 0 && !is_carried())
        return ring_;
    mapping fresh = map(count_ * sizeof(io_uring_buf));
    auto* const ring = static_cast<io_uring_buf_ring*>(fresh.get());
    std::uint16_t tail = 0;
    if (is_carried()) { // what the kernel before has not taken
        auto* const before = static_cast<io_uring_buf_ring*>(carried_.get());
        while (carried_head_ != carried_tail_)
            write_entry(ring, tail++, buffer_at(before, carried_head_++));
    }
    carried_ = std::move(fresh);
    carried_head_ = 0;
    carried_tail_ = tail;
    tail_of(ring).store(tail, std::memory_order_release);
    refill();
    return ring;
}

void buffer_group::refill() noexcept {
    if (!is_carried())
        return;
    auto* const ring = static_cast<io_uring_buf_ring*>(carried_.get());
    const std::uint16_t before = carried_tail_;
    for (std::uint16_t b = take(); b != none; b = take())
        write_entry(ring, carried_tail_++, b);
    if (carried_tail_ != before)
        tail_of(ring).store(carried_tail_, std::memory_order_release);
    ROTA_CHECK(static_cast<std::uint16_t>(carried_tail_ - carried_head_) <= count_,
               "no more buffers are free than there are");
}

void buffer_group::give_back(std::uint16_t buffer) noexcept {
    ROTA_CHECK_ALWAYS(buffer < count_, "a buffer that is given back is one of the group's");
    write_entry(ring_, tail_, buffer);
    ++tail_;
}

bool buffer_group::publish() noexcept {
    if (tail_ == published_)
        return false;
    ROTA_CHECK(static_cast<std::uint16_t>(tail_ - published_) <= count_,
               "no more buffers come back than there are");
    published_ = tail_;
    tail_of(ring_).store(tail_, std::memory_order_release);
    return true;
}

std::uint16_t buffer_group::take() noexcept {
    const std::uint16_t tail = tail_of(ring_).load(std::memory_order_acquire);
    if (head_ == tail)
        return none;
    ROTA_CHECK_ALWAYS(static_cast<std::uint16_t>(tail - head_) <= count_,
                      "a buffer is given back once for each time that it is taken");
    return buffer_at(ring_, head_++);
}

} // namespace rota::io
