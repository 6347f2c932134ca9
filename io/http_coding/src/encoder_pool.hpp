#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include <rota/coding/encoder.hpp>

namespace rota::http {

/// Encoders that have nothing to do. Used by one thread at a time.
class encoder_pool {
public:
    /// What `options` makes, used before or new. A reset() is due. Throws std::bad_alloc.
    [[nodiscard]] std::unique_ptr<coding::encoder> take(const coding::encoder_options& options);
    /// Keeps it, if there is room. All of one format were made by the same options.
    void give_back(std::unique_ptr<coding::encoder> idle) noexcept;

    /// What those that it has hold.
    [[nodiscard]] std::size_t memory() const noexcept { return memory_; }

    static constexpr std::size_t memory_max = 8'388'608;
    static constexpr std::size_t count_max = 4; ///< of one format

private:
    struct kept {
        std::size_t count = 0;
        std::array<std::unique_ptr<coding::encoder>, count_max> encoders;
        std::array<std::size_t, count_max> memory{};
    };
    std::array<kept, coding::format_count> idle_;
    std::size_t memory_ = 0;
};

/// An encoder of a pool for as long as this lives, on the pool's thread.
class pooled_encoder {
public:
    pooled_encoder(encoder_pool& pool, const coding::encoder_options& options)
        : pool_(pool), encoder_(pool.take(options)) {}
    ~pooled_encoder() { pool_.give_back(std::move(encoder_)); }
    pooled_encoder(const pooled_encoder&) = delete;
    pooled_encoder& operator=(const pooled_encoder&) = delete;

    coding::encoder& operator*() const noexcept { return *encoder_; }

private:
    encoder_pool& pool_;
    std::unique_ptr<coding::encoder> encoder_;
};

} // namespace rota::http
