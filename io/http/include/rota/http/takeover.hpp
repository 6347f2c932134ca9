#pragma once

#include <stop_token>
#include <utility>

#include <rota/check.hpp>
#include <rota/http/limits.hpp>
#include <rota/io/stream.hpp>

namespace rota::http {

class request;

/// A client's connection that a handler has taken over (response::upgrade(), response::tunnel()): a
/// stream of bytes without HTTP. What the client had sent after its request can be read.
///
/// It stays the server's: counted as a connection and in its bytes, ended when the drain is over,
/// and a client that takes nothing of what is written is reset after the server's send_timeout, or
/// below its least rate (timed_out). How long the client may be silent is for its user to decide,
/// by the deadlines of reads. Belongs to the taker, and lives until that ends; the connection
/// closes then, after what was written. If the taker throws, which is reported, it is reset, unless
/// all_told() was called.
class takeover : public io::stream {
public:
    /// Returns the request that asked for it: its path, its fields. Not if the answer has forgotten
    /// it (response::forget_request()).
    [[nodiscard]] const request& asked() const noexcept {
        ROTA_CHECK_ALWAYS(asked_ != nullptr, "a request that was forgotten is not asked for");
        return *asked_;
    }
    /// Returns the server's limits.
    [[nodiscard]] const server_limits& limits() const noexcept { return limits_; }
    /// Returns a token that is requested when the server begins to drain: a good time to say
    /// goodbye. What goes on is cancelled when the drain timeout has passed.
    [[nodiscard]] const std::stop_token& draining() const noexcept { return draining_; }
    /// Notes that the client has all that it is to get: what the taker throws then is reported, and
    /// the connection closes as it does after one that does not throw.
    void all_told() noexcept { all_told_ = true; }
    [[nodiscard]] bool is_all_told() const noexcept { return all_told_; }

protected:
    /// All of them outlive it; `asked` is null if it is forgotten.
    takeover(const request* asked, const server_limits& limits, std::stop_token draining) noexcept
        : asked_(asked), limits_(limits), draining_(std::move(draining)) {}
    ~takeover() override = default;

private:
    const request* const asked_;
    const server_limits& limits_;
    const std::stop_token draining_;
    bool all_told_ = false;
};

} // namespace rota::http
