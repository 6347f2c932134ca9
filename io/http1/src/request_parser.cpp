#include "request_parser.hpp"

#include <algorithm>
#include <utility>

#include "head_rules.hpp"
#include "plain_field.hpp"
#include "shown_lines.hpp"
#include <rota/http/detail/kept_text.hpp>
#include <rota/http/detail/syntax.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

/// No chunk is larger, whatever the limits allow: nobody means such a number.
constexpr std::uint64_t chunk_bytes_max = std::uint64_t{1} << 40;
/// Longer heads are read anew: they say something else each time, most of all in cookies.
constexpr std::size_t remembered_bytes_max = 512;
/// In place of one that llhttp does not know; it says nothing about content.
constexpr std::string_view shown_method = "PUT";

} // namespace

request_parser::result request_parser::feed(std::string_view bytes) {
    switch (state_) {
    case state::request_line:
    case state::fields:
        return feed_head(bytes);
    case state::sized_body:
        return feed_sized_body(bytes);
    case state::chunk_line:
    case state::chunk_data:
    case state::chunk_end:
    case state::trailers:
        return feed_chunked(bytes);
    case state::complete:
        return {parse_event::complete, 0};
    case state::failed:
        break;
    }
    return {parse_event::error, 0};
}

void request_parser::reset() noexcept {
    if (!plain_) {
        grammar_.reset();
        detail::clear_and_trim(shown_);
    }
    plain_ = !all_by_llhttp_;
    plain_length_ = false;
    if (head_.chunked) {
        detail::clear_and_trim(trailer_text_);
        trailers_.clear();
        chunk_extension_bytes_ = 0;
    }
    repeated_ = false;
    is_first_ = false;
    asked_ = 0;
    head_.reset();
    detail::clear_and_trim(buffer_);
    partial_line_.clear();
    line_start_ = 0;
    body_max_ = limits_->body_bytes_max;
    body_left_ = 0;
    body_received_ = 0;
    empty_lines_ = 0;
    state_ = state::request_line;
}

bool request_parser::started() const noexcept {
    return state_ != state::request_line || buffer_.size() > line_start_;
}

bool request_parser::at_http2_preface() const noexcept {
    return state_ == state::failed && empty_lines_ == 0 &&
           std::string_view(head_.base, line_start_) == "PRI * HTTP/2.0\r\n";
}

bool request_parser::limit_body(std::uint64_t bytes) noexcept {
    body_max_ = std::min(body_max_, bytes);
    if (!head_.chunked)
        return head_.content_length <= body_max_;
    const std::uint64_t announced = state_ == state::chunk_data ? body_left_ : 0;
    return body_received_ <= body_max_ && announced <= body_max_ - body_received_;
}

void request_parser::keep_head() {
    if (!buffer_.empty())
        return;
    buffer_.assign(head_.base, line_start_);
    head_.base = buffer_.data();
}

parse_event request_parser::fail(parse_error error) noexcept {
    error_ = error;
    state_ = state::failed;
    return parse_event::error;
}

// --- Lines: what is true of every line of a head, of chunked framing and of trailers ---

/// How long the current line may be without its CRLF. Of a section's budget the CRLFs of the line
/// and of the end are kept back.
std::size_t request_parser::content_max() const noexcept {
    const auto left = [](std::size_t max, std::size_t used) {
        return max > used + 4 ? max - used - 4 : 0;
    };
    switch (state_) {
    case state::request_line:
        return std::min(limits_->request_line_bytes_max,
                        left(limits_->head_bytes_max, line_start_));
    case state::fields:
        return left(limits_->head_bytes_max, line_start_);
    case state::chunk_line:
        return limits_->chunk_line_bytes_max;
    case state::trailers:
        return left(limits_->trailer_bytes_max, trailer_text_.size());
    default:
        return 0; // chunk_end
    }
}

/// Checks a line as far as it has come, without its line end. Says of it what would be said of any
/// longer one.
bool request_parser::check_part(std::string_view content) {
    if (state_ == state::request_line && content.starts_with("HEAD "))
        head_.method = method::head; // no error has content then, whatever else is wrong
    const std::size_t max = content_max();
    if (fields::has_control(content.substr(0, max))) {
        fail({400, "a control character, or a line end that is not CRLF"});
        return false;
    }
    if (content.size() <= max)
        return true;
    switch (state_) {
    case state::request_line:
        show_long_request_line(content, head_);
        fail({414, "request line too long"});
        break;
    case state::fields:
        fail({431, "header section too large"});
        break;
    case state::trailers:
        fail({431, "trailer section too large"});
        break;
    default:
        fail({400, "malformed chunk framing"});
        break;
    }
    return false;
}

/// Checks a whole line, which ends in LF.
bool request_parser::check_line(std::string_view line) {
    line.remove_suffix(1);
    const bool has_cr = line.ends_with('\r');
    if (has_cr)
        line.remove_suffix(1);
    if (!check_part(line))
        return false;
    if (!has_cr)
        fail({400, "a line end that is not CRLF"});
    return has_cr;
}

// --- The head ---

request_parser::result request_parser::feed_head(std::string_view bytes) {
    if (!buffer_.empty())
        return feed_head_buffered(bytes);
    if (repeats(bytes)) {
        repeated_ = true;
        head_ = last_head_;
        head_.base = bytes.data();
        line_start_ = last_text_.size();
        return {begin_content(), line_start_};
    }
    head_.base = bytes.data();
    std::size_t skipped = 0;
    for (;;) {
        const std::size_t lf = bytes.find('\n', line_start_);
        if (lf == std::string_view::npos)
            return {set_aside(bytes), skipped + bytes.size()};
        const parse_event event = on_head_line(bytes.substr(line_start_, lf + 1 - line_start_));
        line_start_ = lf + 1;
        if (event != parse_event::need_more)
            return {event, skipped + line_start_};
        if (state_ == state::request_line) { // an empty line before the head, and no part of it
            skipped += line_start_;
            bytes.remove_prefix(line_start_);
            line_start_ = 0;
            head_.base = bytes.data();
        }
    }
}

/// Whether a message begins here with the head of the last one.
bool request_parser::repeats(std::string_view bytes) const noexcept {
    return state_ == state::request_line && empty_lines_ == 0 && !last_text_.empty() &&
           bytes.starts_with(last_text_);
}

/// A first message may be the only one.
bool request_parser::is_worth_remembering() const noexcept {
    return plain_ && !is_first_ && buffer_.empty() && empty_lines_ == 0 &&
           line_start_ < remembered_bytes_max;
}

void request_parser::remember_head() {
    last_text_.clear(); // until it is known what it says
    last_head_ = head_;
    last_text_.assign(head_.base, line_start_ + 2);
}

/// Takes over the beginning of a head whose end has not arrived.
parse_event request_parser::set_aside(std::string_view bytes) {
    if (!check_part(syntax::without_last_cr(bytes.substr(line_start_))))
        return parse_event::error;
    buffer_.assign(bytes);
    head_.base = buffer_.data();
    return parse_event::need_more;
}

request_parser::result request_parser::feed_head_buffered(std::string_view bytes) {
    std::size_t taken = 0;
    for (;;) {
        const std::size_t lf = bytes.find('\n', taken);
        const std::size_t end = lf == std::string_view::npos ? bytes.size() : lf + 1;
        buffer_.append(bytes.substr(taken, end - taken));
        taken = end;
        head_.base = buffer_.data();
        const std::string_view line = std::string_view(buffer_).substr(line_start_);
        if (lf == std::string_view::npos) {
            const bool good = check_part(syntax::without_last_cr(line));
            return {good ? parse_event::need_more : parse_event::error, taken};
        }
        const parse_event event = on_head_line(line);
        line_start_ = buffer_.size();
        if (event != parse_event::need_more)
            return {event, taken};
        if (state_ == state::request_line) { // as in feed_head()
            buffer_.clear();
            line_start_ = 0;
        }
    }
}

/// Takes the line of a plain field within all limits; false if it is anything else.
bool request_parser::take_plain_field(std::string_view line) {
    if (!line.ends_with("\r\n") || line_start_ + line.size() + 2 > limits_->head_bytes_max ||
        head_.fields.size() >= limits_->header_count_max) {
        return false;
    }
    line.remove_suffix(2);
    const auto field =
        read_plain_field(line, static_cast<std::uint32_t>(line_start_), plain_length_);
    if (field)
        head_.fields.push_back(*field);
    return field.has_value();
}

parse_event request_parser::on_head_line(std::string_view line) {
    if (state_ == state::fields) {
        if (line == "\r\n")
            return on_head_end(line); // there is room for it: see content_max()
        if (plain_ && take_plain_field(line))
            return parse_event::need_more;
    } else if (plain_ && line.size() <= content_max() && take_plain_request_line(line, head_)) {
        asked_ = line_start_;
        state_ = state::fields;
        return parse_event::need_more;
    }
    if (!check_line(line))
        return parse_event::error;
    const std::string_view content = line.substr(0, line.size() - 2);
    if (state_ == state::request_line)
        return on_request_line(line, content);
    if (syntax::starts_with_space(content))
        return fail({400, "a header line that starts with a space"});
    if (head_.fields.size() >= limits_->header_count_max) {
        return fail({431, "too many header fields"});
    }
    if (!ask_llhttp(line)) {
        if (is_huge_content_length(content))
            return fail({413, "content too large"});
        return fail({400, "malformed header field"});
    }
    return parse_event::need_more;
}

/// Lets llhttp read the head as far as it has not, to the end of `line`.
bool request_parser::ask_llhttp(std::string_view line) {
    const bool was_plain = std::exchange(plain_, false);
    if (was_plain)
        head_.fields.clear(); // it finds them again
    grammar_.collect(head_.fields);
    const std::size_t from = std::exchange(asked_, line_start_ + line.size());
    std::string_view text(head_.base + from, asked_ - from);
    const bool is_first = was_plain || state_ == state::request_line;
    // Of what it does not take it is shown something else: a method that is not known, 1.2 to 1.9,
    // which are read as 1.1, some fields.
    const std::size_t name = is_first ? head_.unknown_method.size : 0;
    const std::size_t version = is_first ? text.find("\r\n") - 1 : 0;
    const bool other_version = is_first && text[version] > '1';
    const bool other_field = state_ == state::fields && shown_differently(line);
    std::size_t offset = from;
    if (name > 0 || other_version || other_field) {
        shown_.assign(text);
        if (other_version)
            shown_[version] = '1';
        if (other_field)
            show_field(shown_.data() + text.size() - line.size(), line.size());
        if (name > 0) {
            shown_.replace(0, name, shown_method);
            offset += name - shown_method.size();
        }
        text = shown_;
    }
    grammar_.set_base(text.data(), offset);
    return grammar_.execute(text);
}

parse_event request_parser::on_request_line(std::string_view line, std::string_view content) {
    if (content.empty()) {
        if (++empty_lines_ > limits_->leading_empty_lines_max) {
            return fail({400, "empty lines instead of a request"});
        }
        return parse_event::need_more;
    }
    asked_ = line_start_;
    bool plain = false;
    if (auto wrong = parse_request_line(content, head_, plain))
        return fail(*wrong);
    if ((!plain || !plain_) && !ask_llhttp(line))
        return fail({400, "malformed request target"});
    state_ = state::fields;
    return parse_event::need_more;
}

parse_event request_parser::on_head_end(std::string_view line) {
    if (auto wrong = apply_head_rules(head_))
        return fail(*wrong);
    if (head_.content_length > body_max_)
        return fail({413, "content too large"});
    if (!plain_ && !framing_agrees(line))
        return fail({400, "ambiguous framing"});
    if (is_worth_remembering())
        remember_head();
    else
        last_text_.clear();
    if (head_.chunked)
        grammar_.collect(trailers_);
    return begin_content();
}

parse_event request_parser::begin_content() noexcept {
    if (head_.chunked) {
        state_ = state::chunk_line;
    } else if (head_.content_length > 0) {
        body_left_ = head_.content_length;
        state_ = state::sized_body;
    } else {
        state_ = state::complete;
    }
    return parse_event::head;
}

/// The rules and llhttp must agree where this message ends, or another server will not. (Of a plain
/// head there is only one reading.)
bool request_parser::framing_agrees(std::string_view last_line) {
    return ask_llhttp(last_line) && grammar_.head_complete() &&
           grammar_.chunked() == head_.chunked &&
           (head_.chunked || grammar_.content_length() == head_.content_length);
}

// --- Content: sized, or chunked with its trailers ---

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
    if (chunk_extension_bytes_ > limits_->chunk_extension_bytes_max)
        return fail({400, "too many chunk extensions"});
    if (digits_end != content.end()) { // llhttp takes extensions that are malformed
        if (!show_chunk_line(content, shown_))
            return fail({400, "malformed chunk framing"});
        line = shown_;
    }
    if (!grammar_.execute(line)) {
        if (is_huge_chunk_size(content))
            return fail({413, "content too large"});
        return fail({400, "malformed chunk framing"});
    }
    body_left_ = grammar_.chunk_size();
    if (body_left_ > chunk_bytes_max || body_left_ > body_max_ - body_received_)
        return fail({413, "content too large"});
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
