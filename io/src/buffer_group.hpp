#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

struct io_uring_buf_ring;

namespace rota::io {

/// The receive buffers of one worker, and the ring through which they go back to what fills them
/// (the kernel, or the epoll backend acting as it): the layout is that of
/// io_uring_register_buf_ring(3).
///
/// The filler takes buffers at the head; the worker's baton holder is the only one that adds at the
/// tail. give_back() only writes the entry; publish() releases the new tail, once a turn. What
/// arrived is copied out at once, so buffers are away for one turn and no client, however slow,
/// keeps any.
///
/// A kernel begins at the beginning of a ring. One that takes the place of another while buffers
/// are away cannot: it gets a ring of its own with what is free, and the filler carries what comes
/// back from the first ring to that one (ring_for_kernel(), refill()). Each ring has one writer.
class buffer_group {
public:
    /// Throws std::bad_alloc, std::invalid_argument (count no power of two, or above 32768).
    buffer_group(std::uint16_t id, unsigned count, std::size_t bytes_each);
    ~buffer_group() = default;
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
    /// The ring for a kernel that has not known the group, with all that is free. Throws
    /// std::bad_alloc, and then nothing has changed.
    [[nodiscard]] io_uring_buf_ring* ring_for_kernel();
    /// Whether that ring is another than the one into which buffers come back.
    [[nodiscard]] bool is_carried() const noexcept { return carried_ != nullptr; }
    /// Carries what has come back to the kernel's ring, if it is carried.
    void refill() noexcept;
    /// As the kernel does it: the next free buffer, or none. For a filler in user space.
    std::uint16_t take() noexcept;
    /// Gives back the one just taken, unused.
    void untake() noexcept { --head_; }
    /// The kernel has taken one: another filler can go on behind it.
    void taken_by_kernel() noexcept { ++(is_carried() ? carried_head_ : head_); }
    /// Which of the read side's backends knows it, counted from 1; 0: none yet. Not its address,
    /// which may be that of one that has gone.
    std::uint64_t attached_to = 0;
    /// All buffers are home again; the ring begins anew, for another filler. The filler that is the
    /// baton holder, too.
    void reset() noexcept;

private:
    struct unmapping {
        std::size_t bytes;
        void operator()(void* memory) const noexcept;
    };
    using mapping = std::unique_ptr<void, unmapping>;

    [[nodiscard]] static mapping map(std::size_t bytes);
    void write_entry(io_uring_buf_ring* ring, std::uint16_t at, std::uint16_t buffer) noexcept;
    [[nodiscard]] std::uint16_t buffer_at(io_uring_buf_ring* ring, std::uint16_t at) const noexcept;

    const std::uint16_t id_;
    const unsigned count_;
    const std::size_t bytes_each_;
    // One cache line more than a buffer: buffers that all began at a multiple of a page would
    // compete for the same few sets of the caches.
    const std::size_t stride_;
    const mapping memory_map_;
    const mapping ring_map_;
    char* const memory_;
    io_uring_buf_ring* const ring_;

    // -- the worker's baton holder
    std::uint16_t tail_ = 0;
    std::uint16_t published_ = 0;

    // -- the filler
    std::uint16_t head_ = 0;
    mapping carried_{nullptr, unmapping{0}}; // a ring of the kernel's own
    std::uint16_t carried_head_ = 0;
    std::uint16_t carried_tail_ = 0;
};

} // namespace rota::io
