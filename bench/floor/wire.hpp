// What comes and goes: heads of requests, however they are cut into pieces, and the answer.
#pragma once

#include <cstddef>
#include <string_view>

namespace floor_bench {

/// As long as what rota-http answers to GET /plaintext.
inline constexpr std::string_view answer = "HTTP/1.1 200 OK\r\n"
                                           "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                           "Content-Type: text/plain; charset=utf-8\r\n"
                                           "Content-Length: 13\r\n"
                                           "\r\n"
                                           "Hello, World!";

/// Counts the empty lines in a stream of bytes. One for each connection.
class head_counter {
public:
    /// How many heads end in `piece`, which follows the pieces before it.
    std::size_t count(std::string_view piece) {
        std::size_t found = 0;
        while (matched_ != 0 && !piece.empty()) {
            found += step(piece.front()) ? 1 : 0;
            piece.remove_prefix(1);
        }
        for (;;) {
            const std::size_t place = piece.find(end);
            if (place == std::string_view::npos)
                break;
            ++found;
            piece.remove_prefix(place + end.size());
        }
        // The end may have begun in the last bytes.
        if (piece.size() >= end.size())
            piece.remove_prefix(piece.size() - (end.size() - 1));
        for (const char c : piece)
            step(c);
        return found;
    }

private:
    static constexpr std::string_view end = "\r\n\r\n";

    /// Whether `c` completes the end of a head.
    bool step(char c) {
        if (c == end[matched_])
            ++matched_;
        else
            matched_ = c == '\r' ? 1 : 0;
        if (matched_ < end.size())
            return false;
        matched_ = 0;
        return true;
    }

    unsigned matched_ = 0; // bytes of the end that were the last ones
};

} // namespace floor_bench
