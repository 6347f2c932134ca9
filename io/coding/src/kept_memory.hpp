#pragma once

#include <csetjmp>
#include <cstddef>

namespace rota::coding {

/// Memory for a library that takes it by functions and cannot begin anew by itself: blocks that are
/// given back are kept for the next request of their size, up to a bound. Used by one thread at a
/// time. What is still taken at its end is freed.
///
/// A library that cannot go on without memory may end the process when it is told that there is
/// none. Where() it is to leave its call instead is said before the call:
///
///     memory.leave_to(&way_out);
///     if (setjmp(way_out) != 0) { ... } // what the library had is broken: free_taken()
///     ... // the call
///     memory.leave_to(nullptr);
class kept_memory {
public:
    explicit kept_memory(std::size_t kept_bytes_max) noexcept : kept_bytes_max_(kept_bytes_max) {}
    ~kept_memory();
    kept_memory(const kept_memory&) = delete;
    kept_memory& operator=(const kept_memory&) = delete;

    /// For want of memory it leaves to where leave_to() says, or is null, as libraries expect it.
    [[nodiscard]] void* take(std::size_t size);
    /// Null is nothing.
    void give_back(void* block) noexcept;
    /// Null for a way out that there is no more. It is forgotten once it is taken.
    void leave_to(std::jmp_buf* way_out) noexcept { way_out_ = way_out; }
    /// Frees what is taken and was not given back.
    void free_taken() noexcept;
    /// All that it holds, in use or kept.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    // The same as functions of C.
    static void* take_from(void* self, std::size_t size) {
        return static_cast<kept_memory*>(self)->take(size);
    }
    static void give_back_to(void* self, void* block) noexcept {
        static_cast<kept_memory*>(self)->give_back(block);
    }

private:
    struct head; // stands before each block

    void drop_kept() noexcept;
    head* find_kept(std::size_t size) noexcept;
    head* make(std::size_t size) noexcept;
    static void unmake(head* block) noexcept;

    const std::size_t kept_bytes_max_;
    std::size_t bytes_ = 0;
    std::size_t kept_bytes_ = 0;
    head* kept_ = nullptr;  // the last one given back first
    head* taken_ = nullptr; // the last one first
    std::jmp_buf* way_out_ = nullptr;
};

} // namespace rota::coding
