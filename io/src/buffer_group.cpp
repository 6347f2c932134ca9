#include "buffer_group.hpp"

#include <bit>
#include <new>
#include <stdexcept>

#include <liburing.h>
#include <sys/mman.h>

namespace rota::io {
namespace {

constexpr std::size_t cache_line = 64;

char* map(std::size_t bytes) {
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::bad_alloc();
    return static_cast<char*>(memory);
}

/// The entries. By a cast, because in C++ the header's flexible array does not begin where the
/// kernel's does.
io_uring_buf* entries(io_uring_buf_ring* ring) noexcept {
    return reinterpret_cast<io_uring_buf*>(ring);
}

} // namespace

buffer_group::buffer_group(std::uint16_t id, unsigned count, std::size_t bytes_each)
    : id_(id), count_(count), bytes_each_(bytes_each), stride_(bytes_each + cache_line) {
    if (!std::has_single_bit(count) || count > 32768 || bytes_each == 0) {
        throw std::invalid_argument(
            "receive_buffers must be a power of two up to 32768, of at least one byte each");
    }
    memory_bytes_ = count * stride_;
    ring_bytes_ = count * sizeof(io_uring_buf);
    memory_ = map(memory_bytes_);
    try {
        ring_ = reinterpret_cast<io_uring_buf_ring*>(map(ring_bytes_));
    } catch (...) {
        ::munmap(memory_, memory_bytes_);
        throw;
    }
    reset();
}

void buffer_group::reset() noexcept {
    head_ = tail_ = published_ = 0;
    for (unsigned i = 0; i < count_; ++i)
        give_back(static_cast<std::uint16_t>(i));
    publish();
}

buffer_group::~buffer_group() {
    ::munmap(memory_, memory_bytes_);
    ::munmap(ring_, ring_bytes_);
}

void buffer_group::give_back(std::uint16_t buffer) noexcept {
    io_uring_buf& entry = entries(ring_)[tail_ & (count_ - 1)];
    entry.addr = reinterpret_cast<std::uintptr_t>(data(buffer));
    entry.len = static_cast<std::uint32_t>(bytes_each_);
    entry.bid = buffer;
    ++tail_;
}

bool buffer_group::publish() noexcept {
    if (tail_ == published_)
        return false;
    published_ = tail_;
    std::atomic_ref(ring_->tail).store(tail_, std::memory_order_release);
    return true;
}

std::uint16_t buffer_group::take() noexcept {
    const std::uint16_t tail = std::atomic_ref(ring_->tail).load(std::memory_order_acquire);
    if (head_ == tail)
        return none;
    return entries(ring_)[head_++ & (count_ - 1)].bid;
}

} // namespace rota::io
