#include <rota/coding/encoder.hpp>

#include <algorithm>

namespace rota::coding {

std::string encode_whole(encoder& with, std::string_view content) {
    constexpr std::size_t least_room = 256;
    std::string coded;
    std::size_t written = 0;
    // Mostly it is shorter by far; what cannot be compressed takes a second step.
    std::size_t room = content.size() / 4 + least_room;
    for (;;) {
        coded.resize(written + room);
        const encoder::result step =
            with.encode(content, std::span(coded).subspan(written), flush::end);
        content.remove_prefix(step.read);
        written += step.written;
        if (step.done)
            break;
        room = std::max(content.size() + content.size() / 64, least_room);
    }
    coded.resize(written);
    return coded;
}

} // namespace rota::coding
