#include "masking.hpp"

#include <cstdint>
#include <cstring>

namespace rota::http::ws {

void apply_mask(std::string_view from, char* to, const mask_key& key, std::size_t at) noexcept {
    // Eight bytes at a time, in whatever order this machine has them; the compiler makes vectors of
    // the loop.
    std::array<char, 8> turned{};
    for (std::size_t i = 0; i < turned.size(); ++i)
        turned[i] = key[(at + i) % key.size()];
    std::uint64_t word = 0;
    std::memcpy(&word, turned.data(), sizeof word);
    const std::size_t whole = from.size() / sizeof word * sizeof word;
    const char* const in = from.data();
    for (std::size_t i = 0; i < whole; i += sizeof word) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, in + i, sizeof eight);
        eight ^= word;
        std::memcpy(to + i, &eight, sizeof eight);
    }
    for (std::size_t i = whole; i < from.size(); ++i)
        to[i] = static_cast<char>(in[i] ^ turned[i % turned.size()]);
}

} // namespace rota::http::ws
