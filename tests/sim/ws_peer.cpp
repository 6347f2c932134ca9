#include "ws_peer.hpp"

#include "world.hpp"

namespace sim {
namespace {

std::string big_endian(std::uint64_t value, std::size_t bytes) {
    std::string text;
    for (; bytes != 0; --bytes)
        text += static_cast<char>(value >> (8 * (bytes - 1)));
    return text;
}

} // namespace

std::string ws_bytes(const ws_frame& f, bool masked) {
    const std::size_t size = f.payload.size();
    const unsigned mask_bit = masked ? 0x80 : 0;
    std::string bytes(1,
                      static_cast<char>((f.last ? 0x80 : 0) | (f.compressed ? 0x40 : 0) | f.what));
    if (size < 126)
        bytes += static_cast<char>(mask_bit | size);
    else if (size < 65'536)
        bytes.append(1, static_cast<char>(mask_bit | 126)).append(big_endian(size, 2));
    else
        bytes.append(1, static_cast<char>(mask_bit | 127)).append(big_endian(size, 8));
    if (!masked)
        return bytes + f.payload;
    const std::string key = big_endian(here().rng().next(), 4);
    bytes += key;
    for (std::size_t i = 0; i < size; ++i)
        bytes += static_cast<char>(f.payload[i] ^ key[i % 4]);
    return bytes;
}

std::string ws_message(const ws_frame& whole, std::vector<std::string>& pinged) {
    random& r = here().rng();
    std::string bytes;
    std::string_view rest = whole.payload;
    unsigned what = whole.what;
    for (std::size_t frames = r.between(1, 5); frames != 0; --frames) {
        const std::size_t size = frames == 1 ? rest.size() : r.below(rest.size() + 1);
        const bool compressed = whole.compressed && what != ws_frame::more;
        bytes += ws_bytes({what, std::string(rest.substr(0, size)), frames == 1, compressed});
        rest.remove_prefix(size);
        what = ws_frame::more;
        if (frames == 1 || r.chance(700))
            continue;
        pinged.push_back(std::string(r.below(126), static_cast<char>(r.below(256))));
        bytes += ws_bytes({ws_frame::ping, pinged.back()});
    }
    return bytes;
}

std::string ws_close_payload(std::uint16_t code, std::string_view reason) {
    return code == 0 ? std::string() : big_endian(code, 2).append(reason);
}

std::optional<ws_frame> ws_reader::next() {
    const std::string_view unread = std::string_view(unread_).substr(taken_);
    const auto byte = [unread](std::size_t i) { return static_cast<unsigned char>(unread[i]); };
    if (unread.size() < 2)
        return std::nullopt;
    const bool compressed = (byte(0) & 0x40U) != 0;
    here().require((byte(0) & 0x30U) == 0 && (!compressed || may_be_compressed),
                   "a frame has bits that mean nothing");
    here().require(byte(1) < 128, "a frame of the server's is masked");
    const std::size_t width = byte(1) == 127 ? 8 : byte(1) == 126 ? 2 : 0;
    if (unread.size() < 2 + width)
        return std::nullopt;
    std::uint64_t size = width == 0 ? byte(1) : 0;
    for (std::size_t i = 0; i < width; ++i)
        size = size << 8 | byte(2 + i);
    here().require(width == 0 || size >= (width == 2 ? 126U : 65'536U), "a length is too long");
    if (unread.size() - 2 - width < size)
        return std::nullopt;
    ws_frame f{byte(0) & 0x0fU, std::string(unread.substr(2 + width, size)), byte(0) >= 128,
               compressed};
    here().require(f.what < 8 || (f.last && size < 126), "a control frame is too long");
    here().require(!compressed || f.what == ws_frame::text || f.what == ws_frame::binary,
                   "what is no message is compressed");
    taken_ += 2 + width + size;
    return f;
}

} // namespace sim
