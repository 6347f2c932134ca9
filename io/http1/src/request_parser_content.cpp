// The half of request_parser.hpp that reads content: sized, or chunked with its trailers.

#include <algorithm>

#include "head_rules.hpp"
#include "request_parser.hpp"
#include "shown_lines.hpp"
#include <rota/http/detail/syntax.hpp>

namespace rota::http {
namespace {

/// No chunk is larger, whatever the limits allow: nobody means such a number.
constexpr std::uint64_t chunk_bytes_max = std::uint64_t{1} << 40;

} // namespace

request_parser::result request_parser::feed_sized_body(std::string_view bytes) noexcept {
    if (bytes.empty())
        return {parse_event::need_more, 0};
    piece_ = bytes.substr(0, std::min<std::uint64_t>(bytes.size(), body_left_));
    body_left_ -= piece_.size();
    if (body_left_ == 0)
        state_ = state::complete;
    return {parse_event::body, piece_.size()};
}

request_parser::result request_parser::feed_chunked(std::string_view bytes) {
    std::size_t taken = 0;
    for (;;) {
        if (state_ == state::chunk_data)
            return feed_chunk_data(bytes, taken);
        std::string_view line;
        if (!take_line(bytes, taken, line)) {
            const bool good = state_ != state::failed;
            return {good ? parse_event::need_more : parse_event::error, taken};
        }
        const parse_event event = on_body_line(line);
        partial_line_.clear();
        if (event != parse_event::need_more)
            return {event, taken};
    }
}

/// Finds the next line, whole: in `bytes`, or joined with the part that came before. False if its
/// end is not there yet.
bool request_parser::take_line(std::string_view bytes, std::size_t& taken, std::string_view& line) {
    const std::size_t lf = bytes.find('\n', taken);
    const std::size_t end = lf == std::string_view::npos ? bytes.size() : lf + 1;
    line = bytes.substr(taken, end - taken);
    taken = end;
    if (lf != std::string_view::npos && partial_line_.empty())
        return true;
    partial_line_.append(line);
    line = partial_line_;
    if (lf != std::string_view::npos)
        return true;
    (void)check_part(syntax::without_last_cr(line));
    return false;
}

request_parser::result request_parser::feed_chunk_data(std::string_view bytes, std::size_t taken) {
    if (taken == bytes.size())
        return {parse_event::need_more, taken};
    piece_ = bytes.substr(taken, std::min<std::uint64_t>(bytes.size() - taken, body_left_));
    taken += piece_.size();
    body_left_ -= piece_.size();
    body_received_ += piece_.size();
    if (!grammar_.execute(piece_))
        return {fail({400, "malformed chunk framing"}), taken};
    if (body_left_ == 0)
        state_ = state::chunk_end;
    return {parse_event::body, taken};
}

parse_event request_parser::on_body_line(std::string_view line) {
    if (!check_line(line))
        return parse_event::error;
    const std::string_view content = line.substr(0, line.size() - 2);
    if (state_ == state::trailers)
        return on_trailer_line(line, content);
    if (state_ == state::chunk_line)
        return on_chunk_line(line, content);
    if (!grammar_.execute(line))
        return fail({400, "malformed chunk framing"});
    state_ = state::chunk_line;
    return parse_event::need_more;
}

parse_event request_parser::on_chunk_line(std::string_view line, std::string_view content) {
    const auto* digits_end = std::find_if(content.begin(), content.end(),
                                          [](char c) { return syntax::hex_value(c) < 0; });
    chunk_extension_bytes_ += static_cast<std::size_t>(content.end() - digits_end);
    if (chunk_extension_bytes_ > limits_->chunk_extension_bytes_max) {
        return fail({400, "too many chunk extensions"});
    }
    if (std::any_of(digits_end, content.end(), [](char c) { return c == ' ' || c == '\t'; })) {
        if (!show_chunk_line(content, shown_))
            return fail({400, "malformed chunk framing"});
        line = shown_;
    }
    if (!grammar_.execute(line))
        return fail({400, "malformed chunk framing"});
    body_left_ = grammar_.chunk_size();
    if (body_left_ > chunk_bytes_max || body_left_ > body_max_ - body_received_) {
        return fail({413, "content too large"});
    }
    state_ = body_left_ > 0 ? state::chunk_data : state::trailers;
    return parse_event::need_more;
}

parse_event request_parser::on_trailer_line(std::string_view line, std::string_view content) {
    if (!content.empty()) {
        if (syntax::starts_with_space(content))
            return fail({400, "a trailer line that starts with a space"});
        if (trailers_.size() >= limits_->header_count_max) {
            return fail({431, "too many trailer fields"});
        }
    }
    const std::size_t start = trailer_text_.size();
    trailer_text_.append(line);
    grammar_.set_base(trailer_text_.data());
    if (!grammar_.execute(std::string_view(trailer_text_).substr(start))) {
        return fail({400, "malformed trailer field"});
    }
    if (!content.empty())
        return parse_event::need_more;
    if (!grammar_.message_complete())
        return fail({400, "malformed chunk framing"});
    if (auto wrong = apply_trailer_rules(trailer_text_.data(), trailers_))
        return fail(*wrong);
    state_ = state::complete;
    return parse_event::complete;
}

} // namespace rota::http
