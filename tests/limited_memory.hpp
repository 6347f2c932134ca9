#pragma once

// Lets allocations of a thread fail. It replaces the program's operator new, so one source of a
// program includes it; others that say how many there may be include allocations_left.hpp.

#include <cstddef>
#include <cstdlib>
#include <new>

#include "allocations_left.hpp"

namespace test {

/// Memory, or null.
inline void* allocate(std::size_t bytes) noexcept {
    if (allocations_left == 0) {
        if (failures_left > 0 && --failures_left == 0)
            allocations_left = failures_left = -1;
        return nullptr;
    }
    if (allocations_left > 0)
        --allocations_left;
    return std::malloc(bytes);
}

} // namespace test

// Not inlined: GCC would take free() for the wrong counterpart of a call of new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    if (void* const memory = ::test::allocate(bytes))
        return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
    return ::test::allocate(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*unused*/) noexcept {
    std::free(memory);
}
