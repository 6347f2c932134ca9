#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

struct io_uring_buf_ring;

namespace rota::io {

/// The receive buffers of one worker, and the ring through which they go back to whoever fills them
/// (the kernel, or the epoll backend acting as it): the layout is that of
/// io_uring_register_buf_ring(3).
///
/// The filler takes buffers at the head; the worker's baton holder is the only one who adds at the
/// tail. give_back() only writes the entry; publish() releases the new tail, once a turn. What
/// arrived is copied out at once, so buffers are away for one turn and no client, however slow,
/// keeps any.
class buffer_group {
public:
    /// Throws std::bad_alloc, std::invalid_argument (count no power of two, or above 32768).
    buffer_group(std::uint16_t id, unsigned count, std::size_t bytes_each);
    ~buffer_group();
    buffer_group(const buffer_group&) = delete;
    buffer_group& operator=(const buffer_group&) = delete;

    [[nodiscard]] std::uint16_t id() const noexcept { return id_; }
    [[nodiscard]] unsigned count() const noexcept { return count_; }
    [[nodiscard]] std::size_t bytes_each() const noexcept { return bytes_each_; }

    // -- the worker's baton holder
    static constexpr std::uint16_t none = 0xffff;
    [[nodiscard]] char* data(std::uint16_t buffer) const noexcept {
        // cppcheck-suppress CastIntegerToAddressAtReturn ; memory_ is a pointer
        return memory_ + std::size_t{buffer} * stride_;
    }
    void give_back(std::uint16_t buffer) noexcept;
    /// True if buffers have been given back since the last publish().
    bool publish() noexcept;

    // -- the filler
    [[nodiscard]] io_uring_buf_ring* ring() const noexcept { return ring_; }
    /// As the kernel does it: the next free buffer, or none. For a filler in user space.
    std::uint16_t take() noexcept;
    /// Gives back the one just taken, unused.
    void untake() noexcept { --head_; }
    /// The kernel has taken one: another filler can go on behind it.
    void taken_by_kernel() noexcept { ++head_; }
    /// Where it is registered; set by the filler.
    const void* attached_to = nullptr;
    /// All buffers are home again; the ring begins anew, for another filler.
    void reset() noexcept;

private:
    const std::uint16_t id_;
    const unsigned count_;
    const std::size_t bytes_each_;
    // One cache line more than a buffer: buffers that all began at a multiple of a page would
    // compete for the same few sets of the caches.
    const std::size_t stride_;
    std::size_t memory_bytes_ = 0;
    std::size_t ring_bytes_ = 0;
    char* memory_ = nullptr;
    io_uring_buf_ring* ring_ = nullptr;

    // -- the worker's baton holder
    std::uint16_t tail_ = 0;
    std::uint16_t published_ = 0;

    // -- the filler's side
    std::uint16_t head_ = 0;
};

} // namespace rota::io
