#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <rota/io/shared_bytes.hpp>

#include "string_pool.hpp"

namespace rota::io {

/// Bytes of an output's queue: a string of its own, to which more may be appended, or what it
/// shares with others and only reads.
class queued_piece {
public:
    explicit queued_piece(std::string&& own) noexcept : own_(std::move(own)) {}
    explicit queued_piece(shared_bytes shared) noexcept : shared_(std::move(shared)) {}

    [[nodiscard]] bool is_shared() const noexcept { return shared_.size() != 0; }
    [[nodiscard]] std::string_view view() const noexcept {
        return is_shared() ? shared_.view() : std::string_view(own_);
    }
    /// Whether so many bytes more may be appended, and it is no longer than `most` then.
    [[nodiscard]] bool takes(std::size_t bytes, std::size_t most) const noexcept {
        return !is_shared() && own_.size() + bytes <= most;
    }
    void append(std::string_view bytes) { own_.append(bytes); }

    /// It has been sent. What is shared is let go at once, and so is a string with more memory
    /// than `most`; a smaller one stays, see into_spare().
    void let_go(std::size_t most) noexcept {
        shared_ = {};
        if (own_.capacity() > most)
            string_pool::keep(own_);
    }
    /// Leaves its memory to `spare`, if it has some and no more than `most`.
    void into_spare(std::string& spare, std::size_t most) noexcept {
        if (!is_shared() && own_.capacity() <= most)
            spare = std::move(own_);
    }

private:
    std::string own_;
    shared_bytes shared_;
};

} // namespace rota::io
