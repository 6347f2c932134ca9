#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <rota/coding/encoder.hpp>

namespace rota::http::ws {

/// Compresses messages for one peer (RFC 7692 section 7.2.1). Used by one thread at a time.
class deflater {
public:
    /// Each message may refer to those before if it `keeps` its context.
    deflater(const coding::encoder_options& how, bool keeps) noexcept;
    ~deflater();

    /// Appends to `out` what a message becomes. If it throws (std::bad_alloc), or the peer does not
    /// get that, a forget() is due.
    void put(std::string_view message, std::string& out);
    /// The next message refers to nothing: which it never has to, so the memory is given up.
    void forget() noexcept { encoder_.reset(); }
    /// About how many bytes of memory it holds.
    [[nodiscard]] std::size_t memory() const noexcept { return encoder_ ? encoder_->memory() : 0; }

private:
    const coding::encoder_options how_;
    const bool keeps_;
    std::unique_ptr<coding::encoder> encoder_;
};

} // namespace rota::http::ws
