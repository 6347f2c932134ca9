#pragma once

// Frames as clients send them, for the tests of WebSocket.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace rota::http::ws::test {

/// `length_bytes`: in how many bytes the length is written: 0 as few as it needs, else 1, 2 or 8.
struct made {
    int op = 1;
    bool fin = true;
    int rsv = 0; ///< 4 is RSV1
    bool masked = true;
    int length_bytes = 0;
};

inline std::string frame(std::string_view payload, made how = {}) {
    std::string out;
    out += static_cast<char>((how.fin ? 0x80 : 0) | how.rsv << 4 | how.op);
    const std::uint64_t size = payload.size();
    int bytes = how.length_bytes;
    if (bytes == 0)
        bytes = size < 126 ? 1 : size < 65'536 ? 2 : 8;
    const int short_length = bytes == 1 ? static_cast<int>(size) : bytes == 2 ? 126 : 127;
    out += static_cast<char>((how.masked ? 0x80 : 0) | short_length);
    for (int i = bytes == 1 ? 0 : bytes; i > 0; --i)
        out += static_cast<char>(size >> (8 * (i - 1)));
    if (!how.masked)
        return out.append(payload);
    constexpr std::array key{'\x12', '\xfe', '\x00', '\x7f'};
    out.append(key.data(), key.size());
    for (std::size_t i = 0; i < payload.size(); ++i)
        out += static_cast<char>(payload[i] ^ key[i % key.size()]);
    return out;
}

/// A close frame with a code.
inline std::string close_frame(unsigned code, std::string_view reason = "") {
    std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
    payload.append(reason);
    return frame(payload, {.op = 8});
}

/// What a server sends, without a mask.
inline std::string answer(int op, std::string_view payload) {
    return frame(payload, {.op = op, .masked = false});
}
inline std::string answer_close(unsigned code, std::string_view reason = "") {
    std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
    payload.append(reason);
    return answer(8, payload);
}

} // namespace rota::http::ws::test
