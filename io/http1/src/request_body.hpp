#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <rota/http/body.hpp>
#include <rota/http/detail/content_pace.hpp>
#include <rota/http/detail/wire.hpp>
#include <rota/http/limits.hpp>
#include <rota/task.hpp>
#include <rota/worker.hpp>

#include "request_parser.hpp"

namespace rota::http {

/// The content of the request that the parser is at, off the wire. Belongs to a session, which
/// calls reset() for each request, once its head has been consumed.
///
/// Only time spent waiting for the client counts against the client: a handler may take its time
/// between two reads.
class request_body final : public body_reader {
public:
    /// All of them outlive it; `memory` may be null.
    request_body(wire& client, request_parser& parser, const server_limits& limits, worker& home,
                 memory_budget* memory = nullptr) noexcept
        : body_reader(memory), wire_(client), parser_(parser), limits_(limits), home_(home) {}

    void reset() noexcept;

    task<std::string_view> read() override;
    [[nodiscard]] std::optional<std::uint64_t> length() const noexcept override;
    void limit(std::uint64_t bytes) override;
    [[nodiscard]] std::uint64_t allowed() const noexcept override {
        return most_ == no_limit ? most_ : most_ - received_;
    }
    [[nodiscard]] header_list trailers() const noexcept override { return parser_.trailers(); }

    /// Reads and drops what is left, which the client is invited to send, up to `bytes_max` bytes.
    /// False if that did not get to the end.
    [[nodiscard]] task<bool> drain(std::uint64_t bytes_max);
    /// Drops the piece that was read last.
    void release() noexcept;
    using body_reader::keep_nothing;
    /// Drops what has arrived, after the handler has ended.
    void drop_arrived();

    /// Reading failed: the position in the input is lost, and the connection with it.
    [[nodiscard]] bool failed() const noexcept { return failed_; }
    /// How much of an announced length has not been read; nothing if none was announced.
    [[nodiscard]] std::optional<std::uint64_t> left() const noexcept {
        const auto announced = length();
        return announced ? std::optional(*announced - received_) : std::nullopt;
    }
    /// Bytes of the input that the last piece still holds.
    [[nodiscard]] std::size_t held() const noexcept { return piece_bytes_; }
    /// The answer has begun: it is too late for "100 Continue".
    void stop_inviting() noexcept { too_late_ = true; }
    /// The client waits for a word before it sends the content, and has not been given one.
    [[nodiscard]] bool continue_owed() const noexcept;

private:
    static constexpr auto no_limit = std::numeric_limits<std::uint64_t>::max();

    [[nodiscard]] parse_event advance();
    void invite();
    [[nodiscard]] task<void> wait();

    wire& wire_;
    request_parser& parser_;
    const server_limits& limits_;
    worker& home_;
    std::size_t piece_bytes_ = 0; // of the input, still to be consumed
    std::uint64_t received_ = 0;
    std::uint64_t most_ = no_limit; // by limit(), of what is received in all
    content_pace pace_;
    bool asked_ = false;
    bool too_late_ = false;
    bool failed_ = false;
};

} // namespace rota::http
