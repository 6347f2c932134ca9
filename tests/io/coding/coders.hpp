#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rota/coding/decoder.hpp>
#include <rota/coding/encoder.hpp>

namespace rota::coding::test {

inline std::vector<format> available_formats() {
    std::vector<format> found;
    for (int i = 0; i < format_count; ++i) {
        if (is_available(static_cast<format>(i)))
            found.push_back(static_cast<format>(i));
    }
    return found;
}

/// The same each time, and hard to compress.
inline std::string noise(std::size_t size, std::uint64_t seed = 1) {
    std::string text(size, '\0');
    for (char& c : text) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        c = static_cast<char>(seed >> 56);
    }
    return text;
}

/// The same each time, and easy to compress, with references of all lengths.
inline std::string prose(std::size_t size) {
    std::string text;
    for (std::uint64_t i = 0; text.size() < size; i = i * 31 + 7)
        text += "line " + std::to_string(i % 977) + " of many\n";
    text.resize(size);
    return text;
}

/// `text` through an encoder that gets `in` bytes at a time and has room for `out`.
inline std::string encode(encoder& with, std::string_view text, flush how = flush::end,
                          std::size_t in = std::string::npos, std::size_t out = 4'096) {
    std::string coded;
    std::string room(out, '\0');
    do {
        const std::string_view piece = text.substr(0, in);
        const flush now = piece.size() == text.size() ? how : flush::none;
        const encoder::result step = with.encode(piece, room, now);
        coded.append(room, 0, step.written);
        text.remove_prefix(step.read);
        if (step.done && now == how)
            return coded;
    } while (true);
}

struct decoded {
    std::string text{};
    std::size_t left = 0; // of the input, behind the end
    decoder::state now = decoder::state::more;
};

/// The same the other way round; ends when the input has, or it ended or is corrupt.
inline decoded decode(decoder& with, std::string_view coded, std::size_t in = std::string::npos,
                      std::size_t out = 4'096) {
    decoded found;
    std::string room(out, '\0');
    for (;;) {
        const decoder::result step = with.decode(coded.substr(0, in), room);
        found.text.append(room, 0, step.written);
        coded.remove_prefix(step.read);
        found.left = coded.size();
        found.now = step.now;
        const bool drained = step.read == 0 && step.written > 0;
        const bool idle = coded.empty() && step.written < room.size() && !drained;
        if (step.now != decoder::state::more || idle)
            return found;
    }
}

} // namespace rota::coding::test
