#include "sha1.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace rota::http::ws {
namespace {

constexpr std::size_t block_size = 64;

struct digest_state {
    std::array<std::uint32_t, 5> words{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};

    void add_block(const unsigned char* block) noexcept;
};

void digest_state::add_block(const unsigned char* block) noexcept {
    std::array<std::uint32_t, 80> w{};
    for (std::size_t i = 0; i < 16; ++i) {
        const unsigned char* const at = block + 4 * i;
        w[i] = std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
               at[3];
    }
    for (std::size_t i = 16; i < w.size(); ++i)
        w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    auto [a, b, c, d, e] = words;
    for (std::size_t i = 0; i < w.size(); ++i) {
        std::uint32_t f = b ^ c ^ d;
        std::uint32_t k = i < 40 ? 0x6ed9eba1 : 0xca62c1d6;
        if (i < 20) {
            f = (b & c) | (~b & d);
            k = 0x5a827999;
        } else if (i >= 40 && i < 60) {
            f = (b & c) | (b & d) | (c & d);
            k = 0x8f1bbcdc;
        }
        const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    words[0] += a;
    words[1] += b;
    words[2] += c;
    words[3] += d;
    words[4] += e;
}

} // namespace

std::array<unsigned char, 20> sha1(std::string_view text) noexcept {
    digest_state state;
    std::size_t done = 0;
    for (; text.size() - done >= block_size; done += block_size)
        state.add_block(reinterpret_cast<const unsigned char*>(text.data()) + done);
    // What is left, a one bit, and behind zeros the length in bits: one block or two.
    std::array<unsigned char, 2 * block_size> last{};
    const std::size_t rest = text.size() - done;
    if (rest != 0)
        std::memcpy(last.data(), text.data() + done, rest);
    last[rest] = 0x80;
    const std::size_t end = rest + 9 <= block_size ? block_size : 2 * block_size;
    const std::uint64_t bits = std::uint64_t{text.size()} * 8;
    for (std::size_t i = 0; i < 8; ++i)
        last[end - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
    for (std::size_t at = 0; at < end; at += block_size)
        state.add_block(last.data() + at);
    std::array<unsigned char, 20> out{};
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<unsigned char>(state.words[i / 4] >> (24 - 8 * (i % 4)));
    return out;
}

} // namespace rota::http::ws
