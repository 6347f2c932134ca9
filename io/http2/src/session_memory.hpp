#pragma once

#include <cstddef>

namespace rota::http::h2 {

/// The memory of one session of nghttp2: the engine's that has the session, used by the holder of
/// its worker's baton. It comes from the pool of frames, since what is kept of a stream lasts as
/// long as the stream's frames do.
///
/// Behind a first lack of it libnghttp2 1.52 may give a block back twice: that of content for which
/// its queue finds no room. So from then on what is given back stays until the end, which
/// engine::write() brings about.
class session_memory {
public:
    session_memory() noexcept = default;
    session_memory(const session_memory&) = delete;
    session_memory& operator=(const session_memory&) = delete;
    /// Frees what is left.
    ~session_memory();

    /// Null if there is none.
    [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
    void deallocate(void* memory) noexcept;
    /// Null if there is none; `memory` is as it was then.
    [[nodiscard]] void* reallocate(void* memory, std::size_t bytes) noexcept;
    /// Whether there was a lack of it.
    [[nodiscard]] bool was_short() const noexcept { return short_; }

private:
    struct alignas(std::max_align_t) block {
        std::size_t bytes = 0; // behind it: nghttp2 gives back without a size
        block* before = this;
        block* after = this;
    };
    static block* block_of(void* memory) noexcept;
    static void free(block* of) noexcept;

    block all_; // a ring
    bool short_ = false;
};

} // namespace rota::http::h2
