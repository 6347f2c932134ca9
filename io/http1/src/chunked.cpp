#include <rota/http/chunked.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "request_parser.hpp"

namespace rota::http {

void append_chunk_size(std::string& out, std::size_t size) {
    std::array<char, 18> line;
    char* const end = std::to_chars(line.data(), line.data() + 16, size, 16).ptr;
    std::memcpy(end, "\r\n", 2);
    out.append(line.data(), end + 2);
}

void append_chunk(std::string& out, std::string_view data) {
    if (data.empty())
        return;
    append_chunk_size(out, data.size());
    out.append(data).append("\r\n");
}

void append_last_chunk(std::string& out, const headers& trailers) {
    out.append("0\r\n");
    out.append(trailers.wire());
    out.append("\r\n");
}

/// The server's parser, behind a head that announces chunks.
struct chunked_decoder::state {
    explicit state(const parser_limits& wanted) : limits(wanted), parser(limits) {
        static constexpr std::string_view head =
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        limits.request_line_bytes_max = head.size();
        limits.head_bytes_max = head.size();
        limits.header_count_max = std::max<std::size_t>(limits.header_count_max, 2);
        if (parser.feed(head).event != parse_event::head)
            throw std::logic_error("chunked_decoder: its own head is refused");
    }

    parser_limits limits;
    request_parser parser;
};

chunked_decoder::chunked_decoder(const parser_limits& limits)
    : state_(std::make_unique<state>(limits)) {}
chunked_decoder::chunked_decoder(chunked_decoder&&) noexcept = default;
chunked_decoder& chunked_decoder::operator=(chunked_decoder&&) noexcept = default;
chunked_decoder::~chunked_decoder() = default;

chunked_decoder::result chunked_decoder::feed(std::string_view bytes) {
    const auto [found, consumed] = state_->parser.feed(bytes);
    switch (found) {
    case parse_event::body:
        return {event::piece, consumed};
    case parse_event::complete:
        return {event::complete, consumed};
    case parse_event::error:
        throw http_error(state_->parser.error().status, state_->parser.error().reason);
    case parse_event::head: // it has been read
    case parse_event::need_more:
        break;
    }
    return {event::need_more, consumed};
}

std::string_view chunked_decoder::piece() const noexcept { return state_->parser.body_piece(); }
bool chunked_decoder::complete() const noexcept { return state_->parser.complete(); }
header_list chunked_decoder::trailers() const noexcept { return state_->parser.trailers(); }

} // namespace rota::http
