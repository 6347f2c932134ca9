#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <rota/io/shared_bytes.hpp>

#include "string_pool.hpp"

namespace rota::io {

/// Bytes of an output's queue: a few that are in it, or a string of its own, to both of which more
/// may be appended, or what it shares with others and only reads.
class queued_piece {
public:
    /// A copy. Throws std::bad_alloc.
    explicit queued_piece(std::string_view bytes) {
        if (bytes.size() <= sizeof few_) {
            keep_few(bytes);
            return;
        }
        std::string copy = string_pool::take(bytes.size());
        copy.append(bytes);
        become(std::move(copy));
    }
    explicit queued_piece(std::string&& own) noexcept { become(std::move(own)); }
    explicit queued_piece(shared_bytes shared) noexcept : kind_(kind::shared) {
        std::construct_at(&shared_, std::move(shared));
    }
    queued_piece(queued_piece&& other) noexcept { take(other); }
    queued_piece& operator=(queued_piece&& other) noexcept {
        if (this != &other) {
            drop();
            take(other);
        }
        return *this;
    }
    ~queued_piece() { drop(); }

    [[nodiscard]] bool is_shared() const noexcept { return kind_ == kind::shared; }
    [[nodiscard]] std::string_view view() const noexcept {
        if (kind_ == kind::few) [[likely]]
            return {few_, size_};
        return is_shared() ? shared_.view() : std::string_view(own_);
    }
    /// Whether so many bytes more may be appended, and it is no longer than `most` then.
    [[nodiscard]] bool takes(std::size_t bytes, std::size_t most) const noexcept {
        return !is_shared() && view().size() + bytes <= most;
    }
    /// Throws std::bad_alloc, and is as it was.
    void append(std::string_view bytes) {
        if (kind_ == kind::own) {
            own_.append(bytes);
        } else if (size_ + bytes.size() <= sizeof few_) {
            std::memcpy(few_ + size_, bytes.data(), bytes.size());
            size_ += static_cast<std::uint32_t>(bytes.size());
        } else {
            std::string both = string_pool::take(size_ + bytes.size());
            both.append(few_, size_).append(bytes);
            become(std::move(both));
        }
    }

    /// It has been sent: what it holds goes.
    void let_go() noexcept { drop(); }

private:
    enum class kind : std::uint8_t { few, own, shared };

    void keep_few(std::string_view bytes) noexcept {
        std::memcpy(few_, bytes.data(), bytes.size());
        size_ = static_cast<std::uint32_t>(bytes.size());
    }
    void become(std::string&& own) noexcept {
        std::construct_at(&own_, std::move(own));
        kind_ = kind::own;
    }
    void take(queued_piece& other) noexcept {
        if (other.kind_ == kind::few) {
            keep_few(other.view());
        } else if (other.is_shared()) {
            std::construct_at(&shared_, std::move(other.shared_));
            kind_ = kind::shared;
        } else {
            become(std::move(other.own_));
        }
    }
    void drop() noexcept {
        if (kind_ == kind::own) {
            string_pool::keep(own_);
            std::destroy_at(&own_);
        } else if (is_shared()) {
            std::destroy_at(&shared_);
        }
        kind_ = kind::few;
        size_ = 0;
    }

    std::uint32_t size_ = 0; // of the few
    kind kind_ = kind::few;
    union {
        char
            few_[248]; // an answer of everyday's size, and all of it within four lines of the cache
        std::string own_;
        shared_bytes shared_;
    };
};

} // namespace rota::io
