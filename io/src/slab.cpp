#include "slab.hpp"

#include <cstdint>
#include <mutex>
#include <new>

#include <sys/mman.h>

#include <rota/check.hpp>

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
constexpr std::size_t line_bytes = 64;       // of the cache: what is together in a block stays so

constexpr std::size_t round_up(std::size_t bytes) noexcept {
    constexpr std::size_t unit = line_bytes;
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

/// Guards `late` and `slab_gone` of all chunks.
constinit std::mutex late_lock;

} // namespace

struct slab::block {
    block* next;
};

/// At the beginning of its memory. Blocks that were never taken are behind `fresh`, so that memory
/// is touched when it is needed.
struct alignas(line_bytes) slab::chunk {
    explicit chunk(char* first) noexcept : fresh(first) {}

    block* free = nullptr;
    char* fresh;
    std::size_t used = 0;
    std::size_t late = 0; // of them, given back late
    bool slab_gone = false;
    chunk* previous = nullptr;
    chunk* next = nullptr;

    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
        return free != nullptr ||
               fresh + bytes <= reinterpret_cast<const char*>(this) + chunk_bytes;
    }
};

slab::slab(std::size_t bytes) noexcept : block_bytes_(round_up(bytes)) {}

slab::~slab() {
    leave_all(with_room_);
    leave_all(full_);
}

void slab::leave_all(chunk* list) noexcept {
    const std::lock_guard guard(late_lock);
    while (list != nullptr) {
        chunk& c = *list;
        list = c.next;
        c.slab_gone = true;
        if (c.used == c.late)
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
    if (!c.has_room(block_bytes_)) {
        unlink(with_room_, c);
        link(full_, c);
    }
    return taken;
}

void slab::give_back(void* returned) noexcept {
    if (!ROTA_SLABS) {
        ::operator delete(returned);
        return;
    }
    chunk& c = chunk_of(returned);
    ROTA_CHECK(c.used > 0, "a block is given back once");
    ROTA_CHECK(static_cast<std::size_t>(static_cast<char*>(returned) - reinterpret_cast<char*>(&c) -
                                        sizeof(chunk)) %
                       block_bytes_ ==
                   0,
               "a block is one of this slab's");
    if (!c.has_room(block_bytes_)) {
        unlink(full_, c);
        link(with_room_, c);
    }
    c.free = ::new (returned) block{c.free};
    if (--c.used != 0)
        return;
    if (empty_ == 0) { // one is kept, so that a block to and fro costs no mapping
        ++empty_;
        return;
    }
    unlink(with_room_, c);
    --chunks_;
    ::munmap(&c, chunk_bytes);
}

void slab::give_back_late(void* returned) noexcept {
    if (!ROTA_SLABS) {
        ::operator delete(returned);
        return;
    }
    chunk& c = chunk_of(returned);
    const std::lock_guard guard(late_lock);
    ++c.late;
    ROTA_CHECK(c.late <= c.used, "a block is given back once");
    if (c.slab_gone && c.used == c.late)
        ::munmap(&c, chunk_bytes);
}

slab::chunk& slab::chunk_of(void* block) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the chunk begins at a multiple of its size
    return *reinterpret_cast<chunk*>(address - address % chunk_bytes);
}

slab::chunk* slab::add_chunk() {
    void* const memory = map_chunk();
    chunk& added = *::new (memory) chunk(static_cast<char*>(memory) + sizeof(chunk));
    link(with_room_, added);
    ++chunks_;
    ++empty_;
    return &added;
}

void slab::link(chunk*& list, chunk& c) noexcept {
    c.previous = nullptr;
    c.next = list;
    if (list != nullptr)
        list->previous = &c;
    list = &c;
}

void slab::unlink(chunk*& list, chunk& c) noexcept {
    (c.previous != nullptr ? c.previous->next : list) = c.next;
    if (c.next != nullptr)
        c.next->previous = c.previous;
}

} // namespace rota::io
