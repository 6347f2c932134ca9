#pragma once

#include <cstddef>

namespace rota::io {

/// Memory for many long-lived objects of one size, apart from the heap: what lives shorter can then
/// leave whole pages of the heap free, and no object pays for a header. One thread at a time, but
/// for give_back_late().
///
/// Blocks come from chunks of 256 KiB. A chunk whose last block has come back is given back to the
/// system, but for one. With a sanitizer each block comes from the heap, so that it sees a use
/// after the end.
class slab {
public:
    /// Blocks of `bytes`, up to 32 KiB, aligned to 64 bytes.
    explicit slab(std::size_t bytes) noexcept;
    /// Blocks that are left keep their chunks until give_back_late().
    ~slab();
    slab(const slab&) = delete;
    slab& operator=(const slab&) = delete;

    /// Throws std::bad_alloc.
    [[nodiscard]] void* take();
    /// Gives back what take() returned.
    void give_back(void* block) noexcept;

    /// The same, for a block that may outlive its slab: it is not taken again. Any thread.
    static void give_back_late(void* block) noexcept;

    [[nodiscard]] std::size_t chunks() const noexcept { return chunks_; }

private:
    struct block;
    struct chunk;

    [[nodiscard]] chunk* add_chunk();
    static chunk& chunk_of(void* block) noexcept;
    static void link(chunk*& list, chunk& c) noexcept;
    static void unlink(chunk*& list, chunk& c) noexcept;
    static void leave_all(chunk* list) noexcept;

    const std::size_t block_bytes_;
    chunk* with_room_ = nullptr; // those that have a free block
    chunk* full_ = nullptr;      // the others
    std::size_t chunks_ = 0;
    std::size_t empty_ = 0; // of them, without a block in use
};

} // namespace rota::io
