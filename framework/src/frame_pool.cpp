#include <rota/detail/frame_pool.hpp>

#include <array>
#include <new>

#include <rota/thread_end.hpp>

namespace rota::frame_pool {
namespace {

// With what malloc adds to each they are multiples of 32: 24 bytes, 56, 88, up to 2 KiB.
constexpr std::size_t class_bytes = 32;
constexpr std::size_t least_bytes = 24;
constexpr std::size_t classes = 64;
constexpr unsigned kept_per_class = 64; // each may hold a page of the heap that is free otherwise

struct block {
    block* next;
};

struct free_list {
    block* head = nullptr;
    unsigned count = 0;
};

/// The free blocks of one thread, given back to the heap when it ends.
struct cache {
    std::array<free_list, classes> lists{};
    bool keeps = false; // its end is noted
    bool ended = false; // frames may be freed after this thread's cache has gone
};

constinit thread_local cache local;

void clear(void* object) noexcept {
    cache& of = *static_cast<cache*>(object);
    of.keeps = false;
    of.ended = true;
    for (free_list& list : of.lists) {
        while (list.head != nullptr) {
            block* next = list.head->next;
            ::operator delete(list.head);
            list.head = next;
        }
        list.count = 0;
    }
}

/// Before the thread keeps its first block: whether it may.
bool begin_to_keep() noexcept {
    static const thread_end end(&clear);
    local.keeps = !local.ended && end.note(&local);
    return local.keeps;
}

constexpr std::size_t class_of(std::size_t bytes) noexcept {
    return bytes <= least_bytes ? 0 : (bytes - least_bytes + class_bytes - 1) / class_bytes;
}

} // namespace

void* allocate(std::size_t bytes) {
    const std::size_t index = class_of(bytes);
    if (!keeps || index >= classes)
        return ::operator new(bytes);
    free_list& list = local.lists[index];
    if (list.head == nullptr)
        return ::operator new(least_bytes + index * class_bytes);
    block* const first = list.head;
    list.head = first->next;
    --list.count;
    return first;
}

void deallocate(void* memory, std::size_t bytes) noexcept {
    const std::size_t index = class_of(bytes);
    if (!keeps || index >= classes || local.lists[index].count == kept_per_class ||
        (!local.keeps && !begin_to_keep())) {
        ::operator delete(memory);
        return;
    }
    free_list& list = local.lists[index];
    list.head = ::new (memory) block{list.head};
    ++list.count;
}

} // namespace rota::frame_pool
