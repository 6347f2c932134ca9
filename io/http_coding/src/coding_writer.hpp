#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rota/coding/encoder.hpp>
#include <rota/http/body.hpp>
#include <rota/semaphore.hpp>

namespace rota::http {

/// Compresses what a producer writes. Each piece can be read as soon as it has come.
class coding_writer final : public body_writer {
public:
    /// `to` and `with`, which was reset, outlive it. `length`: what the producer has announced.
    /// Pieces of `blocking_bytes` are compressed in blocking(), by as many at once as have a permit
    /// of `places`, which outlives it, too.
    coding_writer(body_writer& to, coding::encoder& with, std::optional<std::uint64_t> length,
                  std::size_t blocking_bytes, semaphore& places) noexcept
        : to_(to), encoder_(with), left_(length), blocking_bytes_(blocking_bytes), places_(places) {
    }

    task<void> write(std::string_view piece) override;
    task<void> write_owned(std::string piece) override;
    task<void> flush() override;
    void add_trailer(std::string_view name, std::string_view value) override;
    /// The end of the content. Throws std::length_error if it is shorter than announced,
    /// and http_error if a piece of it was given up: it must not look whole.
    [[nodiscard]] task<void> end();

private:
    struct part {
        std::string coded;
        std::size_t read = 0;
        bool done = false;
    };
    [[nodiscard]] part encode(std::string_view piece, std::size_t room, coding::flush how);
    void require_whole() const;
    task<void> put(std::string_view piece, coding::flush how);

    body_writer& to_;
    coding::encoder& encoder_;
    std::optional<std::uint64_t> left_;
    const std::size_t blocking_bytes_;
    semaphore& places_;
    bool ended_ = false; // the encoder has
    bool torn_ = false; // a piece was given up: what follows would look like content that it is not
};

} // namespace rota::http
