#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

/// A frame of WebSocket (RFC 6455 section 5.2), unmasked.
struct ws_frame {
    enum kind : unsigned { more = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

    unsigned what = text;
    std::string payload{};
    bool last = true;
    bool compressed = false; // RFC 7692: of a message's first frame

    bool operator==(const ws_frame&) const = default;
};

/// A frame as a client sends it: masked by a key of the seed's, if it is to be.
std::string ws_bytes(const ws_frame& f, bool masked = true);
/// A message as one to five frames, with pings between some of them, each of which is told to
/// `pinged`.
std::string ws_message(const ws_frame& whole, std::vector<std::string>& pinged);
/// What a close frame says: its code, if that is not 0, and a reason.
std::string ws_close_payload(std::uint16_t code, std::string_view reason = {});

/// Takes a server's frames out of bytes: a reader of its own, so that what the server writes is not
/// judged by the server's own code.
class ws_reader {
public:
    void feed(std::string_view bytes) {
        unread_.erase(0, std::exchange(taken_, 0));
        unread_ += bytes;
    }
    /// Whether messages may be compressed.
    bool may_be_compressed = false;
    /// The next whole frame. What is no frame of a server fails the run.
    std::optional<ws_frame> next();

private:
    std::string unread_;
    std::size_t taken_ = 0; // of that
};

} // namespace sim
