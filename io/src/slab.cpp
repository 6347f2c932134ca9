#include "slab.hpp"

#include <cstdint>
#include <new>

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROTA_SLABS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ROTA_SLABS 0
#endif
#endif
#ifndef ROTA_SLABS
#define ROTA_SLABS 1
#endif

namespace rota::io {
namespace {

constexpr std::size_t chunk_bytes = 262'144; // and their alignment

constexpr std::size_t round_up(std::size_t bytes) noexcept {
    constexpr std::size_t unit = alignof(std::max_align_t);
    return (bytes + unit - 1) / unit * unit;
}

/// Fresh memory, aligned to its size: twice as much is mapped, and the rest goes back.
void* map_chunk() {
    void* const all = ::mmap(nullptr, 2 * chunk_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        throw std::bad_alloc();
    char* const begin = static_cast<char*>(all);
    const std::size_t before =
        (chunk_bytes - reinterpret_cast<std::uintptr_t>(all) % chunk_bytes) % chunk_bytes;
    if (before != 0)
        ::munmap(begin, before);
    ::munmap(begin + before + chunk_bytes, chunk_bytes - before);
    return begin + before;
}

} // namespace

struct slab::block {
    block* next;
};

/// At the beginning of its memory. Blocks that were never taken are behind `fresh`, so that memory
/// is touched when it is needed.
struct alignas(std::max_align_t) slab::chunk {
    explicit chunk(char* first) noexcept : fresh(first) {}

    block* free = nullptr;
    char* fresh;
    std::size_t used = 0;
    chunk* previous = nullptr;
    chunk* next = nullptr;

    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
        return free != nullptr ||
               fresh + bytes <= reinterpret_cast<const char*>(this) + chunk_bytes;
    }
};

slab::slab(std::size_t bytes) noexcept : block_bytes_(round_up(bytes)) {}

slab::~slab() {
    while (with_room_ != nullptr) { // an object that is left keeps its chunk
        chunk& c = *with_room_;
        unlink(c);
        if (c.used == 0)
            ::munmap(&c, chunk_bytes);
    }
}

void* slab::take() {
    if (!ROTA_SLABS)
        return ::operator new(block_bytes_);
    chunk& c = with_room_ != nullptr ? *with_room_ : *add_chunk();
    if (c.used++ == 0)
        --empty_;
    void* taken = c.free;
    if (c.free != nullptr) {
        c.free = c.free->next;
    } else {
        taken = c.fresh;
        c.fresh += block_bytes_;
    }
    if (!c.has_room(block_bytes_))
        unlink(c);
    return taken;
}

void slab::give_back(void* returned) noexcept {
    if (!ROTA_SLABS) {
        ::operator delete(returned);
        return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(returned);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the chunk begins at a multiple of its size
    chunk& c = *reinterpret_cast<chunk*>(address - address % chunk_bytes);
    if (!c.has_room(block_bytes_))
        link(c);
    c.free = ::new (returned) block{c.free};
    if (--c.used != 0)
        return;
    if (empty_ == 0) { // one is kept, so that a block to and fro costs no mapping
        ++empty_;
        return;
    }
    unlink(c);
    --chunks_;
    ::munmap(&c, chunk_bytes);
}

slab::chunk* slab::add_chunk() {
    void* const memory = map_chunk();
    chunk& added = *::new (memory) chunk(static_cast<char*>(memory) + sizeof(chunk));
    link(added);
    ++chunks_;
    ++empty_;
    return &added;
}

void slab::link(chunk& c) noexcept {
    c.previous = nullptr;
    c.next = with_room_;
    if (with_room_ != nullptr)
        with_room_->previous = &c;
    with_room_ = &c;
}

void slab::unlink(chunk& c) noexcept {
    (c.previous != nullptr ? c.previous->next : with_room_) = c.next;
    if (c.next != nullptr)
        c.next->previous = c.previous;
}

} // namespace rota::io
