#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace rota::http::ws {

/// Has `write(char* at)` write at most `room` bytes behind those of `to`, and say how many.
/// libstdc++ 12 notes no more capacity than resize_and_overwrite() was asked for, so that many
/// small pieces would be copied again and again: what it grows by is said before.
template <class Write>
void append_room(std::string& to, std::size_t room, Write write) {
    const std::size_t before = to.size();
    if (to.capacity() - before < room)
        to.reserve(std::max(before + room, 2 * to.capacity()));
    to.resize_and_overwrite(
        before + room, [&](char* bytes, std::size_t) { return before + write(bytes + before); });
}

} // namespace rota::http::ws
