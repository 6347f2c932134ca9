#include "session_memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include <rota/detail/frame_pool.hpp>

namespace rota::http::h2 {

session_memory::block* session_memory::block_of(void* memory) noexcept {
    return static_cast<block*>(memory) - 1;
}

void session_memory::free(block* of) noexcept {
    of->before->after = of->after;
    of->after->before = of->before;
    frame_pool::deallocate(of, sizeof(block) + of->bytes);
}

session_memory::~session_memory() {
    while (all_.after != &all_)
        free(all_.after);
}

void* session_memory::allocate(std::size_t bytes) noexcept {
    try {
        if (bytes > std::numeric_limits<std::size_t>::max() - sizeof(block))
            throw std::bad_alloc();
        void* const memory = frame_pool::allocate(sizeof(block) + bytes);
        block* const made = std::construct_at(static_cast<block*>(memory));
        made->bytes = bytes;
        made->before = all_.before;
        made->after = &all_;
        all_.before->after = made;
        all_.before = made;
        return made + 1;
    } catch (const std::bad_alloc&) {
        short_ = true;
        return nullptr;
    }
}

void session_memory::deallocate(void* memory) noexcept {
    if (memory != nullptr && !short_)
        free(block_of(memory));
}

void* session_memory::reallocate(void* memory, std::size_t bytes) noexcept {
    void* const larger = allocate(bytes);
    if (larger == nullptr || memory == nullptr)
        return larger;
    std::memcpy(larger, memory, std::min(bytes, block_of(memory)->bytes));
    deallocate(memory);
    return larger;
}

} // namespace rota::http::h2
