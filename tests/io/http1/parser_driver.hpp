#pragma once

// Runs bytes through a request_parser, cut as the test likes, and writes down what came of it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/limits.hpp>

#include "request_parser.hpp"

namespace rota::http::test {

/// What a parser made of a whole input. Body pieces are joined, so that the cuts leave no trace.
struct transcript {
    std::string text;
    int status = 0; // of the error that ended it, or 0
    const char* reason = "";
};

inline void describe_head(const request_head& head, std::string& out) {
    out += to_string(head.method);
    if (head.unfit != 0)
        out += " unfit=" + std::to_string(head.unfit);
    out += ' ';
    out += head.text(head.target);
    out += " 1." + std::to_string(head.minor);
    out += " host=";
    out += head.text(head.host);
    out += " path=";
    out += head.text(head.path);
    out += " query=";
    out += head.text(head.query);
    out += head.keep_alive ? " keep" : " close";
    if (head.expects_continue)
        out += " expect";
    if (head.chunked)
        out += " chunked";
    if (head.has_content_length)
        out += " length=" + std::to_string(head.content_length);
    for (const header_field field : head.headers()) {
        out += " [";
        out += field.name;
        out += '|';
        out += field.value;
        out += ']';
    }
    out += "\n";
}

/// Feeds the pieces one after the other. Each piece is its own allocation that dies after the call,
/// so a sanitizer sees a view that was kept for too long.
inline transcript run(const std::vector<std::string_view>& pieces, const parser_limits& limits = {},
                      bool all_by_llhttp = false) {
    request_parser parser(limits, all_by_llhttp);
    transcript seen;
    for (std::string_view piece : pieces) {
        const std::vector<char> copy(piece.begin(), piece.end());
        std::string_view rest(copy.data(), copy.size());
        for (;;) {
            const auto [event, consumed] = parser.feed(rest);
            rest.remove_prefix(consumed);
            if (event == parse_event::need_more)
                break;
            if (event == parse_event::head) {
                describe_head(parser.head(), seen.text);
                parser.keep_head();
            } else if (event == parse_event::body) {
                seen.text += parser.body_piece();
            } else if (event == parse_event::complete) {
                for (const header_field field : parser.trailers()) {
                    seen.text +=
                        "\n{" + std::string(field.name) + "|" + std::string(field.value) + "}";
                }
                seen.text += "\nend\n";
                parser.reset();
                if (rest.empty())
                    break;
            } else {
                seen.status = parser.error().status;
                seen.reason = parser.error().reason;
                return seen;
            }
        }
    }
    return seen;
}

inline transcript run(std::string_view bytes, const parser_limits& limits = {}) {
    return run(std::vector<std::string_view>{bytes}, limits);
}

inline std::vector<std::string_view> byte_by_byte(std::string_view bytes) {
    std::vector<std::string_view> pieces;
    pieces.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i)
        pieces.push_back(bytes.substr(i, 1));
    return pieces;
}

} // namespace rota::http::test
