#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rota/io/shared_file.hpp>

#include "backend.hpp"

namespace rota::io {

/// The files among what an output has queued: each stands before one of its strings, or behind the
/// last. Only outputs that have sent a file have one. Guarded as the strings are: `pending` by the
/// output's lock, the rest by the write side's baton.
class queued_files {
public:
    struct entry {
        std::size_t before; // index of the string behind it
        file_slice part;    // what is left to send
        bool last;          // its end is that of what was announced
        bool waited;        // bytes of it have left already, or it had to wait
    };

    std::vector<entry> pending;

    // -- the holder of the write side's baton

    /// What was pending is to be sent.
    void take() {
        sending_.clear();
        sending_.swap(pending);
        next_ = 0;
    }
    void drop() noexcept {
        sending_.clear();
        next_ = 0;
        in_flight_ = false;
    }
    [[nodiscard]] bool all_sent() const noexcept { return next_ == sending_.size(); }
    /// The index of the string before which the next file stands, `none` if there is none.
    [[nodiscard]] std::size_t stop(std::size_t none) const noexcept {
        return all_sent() ? none : std::min(none, sending_[next_].before);
    }
    /// Begins to send of the next file; null if it has changed, which is looked for before the last
    /// byte of it leaves, unless it leaves at once.
    [[nodiscard]] const file_send* begin() noexcept {
        entry& e = sending_[next_];
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(e.part.size, at_once));
        if (e.last && bytes == e.part.size && e.waited && !e.part.holds())
            return nullptr;
        e.waited = true;
        in_flight_ = true;
        asked_ = {.file = e.part.file.native_handle(),
                  .offset = e.part.offset,
                  .bytes = bytes,
                  .first = first_};
        return &asked_;
    }
    /// Whether the send that ends was one of a file, which is none any more.
    [[nodiscard]] bool end() noexcept {
        const bool was = in_flight_;
        in_flight_ = false;
        return was;
    }
    void advance(std::size_t bytes) noexcept {
        first_ = false;
        entry& e = sending_[next_];
        e.part.offset += bytes;
        e.part.size -= bytes;
        if (e.part.size == 0) {
            e.part.file = {};
            ++next_;
        }
    }

private:
    /// So much of a file is sent at once: others have their turn.
    static constexpr std::size_t at_once = std::size_t{1} << 20;

    std::vector<entry> sending_;
    std::size_t next_ = 0;
    file_send asked_{};
    bool in_flight_ = false;
    bool first_ = true; // on this socket
};

/// Where an output has its files: made under its lock, and looked at by the write side without it.
class queued_files_place {
public:
    queued_files_place() noexcept = default;
    ~queued_files_place() { reset(); }
    queued_files_place(const queued_files_place&) = delete;
    queued_files_place& operator=(const queued_files_place&) = delete;

    /// Unless they are there. Throws std::bad_alloc.
    void make() {
        if (!*this)
            files_.store(new queued_files, std::memory_order_release);
    }
    void reset() noexcept { delete files_.exchange(nullptr, std::memory_order_relaxed); }

    explicit operator bool() const noexcept { return get() != nullptr; }
    queued_files* operator->() const noexcept { return get(); }

private:
    [[nodiscard]] queued_files* get() const noexcept {
        return files_.load(std::memory_order_acquire);
    }

    std::atomic<queued_files*> files_{nullptr};
};

} // namespace rota::io
