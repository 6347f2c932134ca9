#include <rota/http/multipart.hpp>

#include <algorithm>
#include <stdexcept>

#include <rota/check.hpp>
#include <rota/http/detail/summable.hpp>
#include <rota/http/detail/syntax.hpp>

namespace rota::http {
namespace {

constexpr std::size_t boundary_bytes_max = 70;
constexpr auto boundary_chars = fields::detail::make_class("'()+_,-./:=? ");

/// How many bytes they begin with are the same.
std::size_t common(std::string_view a, std::string_view b) noexcept {
    const std::size_t most = std::min(a.size(), b.size());
    std::size_t same = 0;
    while (same < most && a[same] == b[same])
        ++same;
    return same;
}

} // namespace

multipart_parser::multipart_parser(std::string_view boundary, limits most) : limits_(most) {
    limits_.head_bytes_max = summable(most.head_bytes_max);
    if (!valid_boundary(boundary))
        throw std::invalid_argument("not a boundary as RFC 2046 has it");
    delimiter_ = "\r\n--";
    delimiter_.append(boundary);
    begin_line();
}

bool multipart_parser::valid_boundary(std::string_view text) noexcept {
    return !text.empty() && text.size() <= boundary_bytes_max && text.back() != ' ' &&
           std::ranges::all_of(
               text, [](char c) { return boundary_chars[static_cast<unsigned char>(c)]; });
}

form_step multipart_parser::fail(int status, const char* reason) noexcept {
    failure_ = {status, reason};
    state_ = state::failed;
    return form_step::failed;
}

form_step multipart_parser::next(std::string_view& input) {
    while (!input.empty()) {
        form_step step = form_step::more;
        switch (state_) {
        case state::preamble:
        case state::content:
            step = scan(input);
            break;
        case state::head:
            step = read_head(input);
            break;
        case state::epilogue:
            input = {};
            return form_step::end;
        case state::failed:
            return form_step::failed;
        default:
            step = end_line(input.front());
            input.remove_prefix(1);
            break;
        }
        if (step != form_step::more)
            return step;
    }
    return state_ == state::epilogue ? form_step::end
           : state_ == state::failed ? form_step::failed
                                     : form_step::more;
}

form_step multipart_parser::finish() {
    switch (state_) {
    case state::closed:
    case state::epilogue:
        state_ = state::epilogue;
        return form_step::end;
    case state::failed:
        return form_step::failed;
    case state::closed_line_feed:
        return fail(400, "the line of the last boundary does not end with CRLF");
    default:
        return fail(400, "the multipart content ends before its last boundary");
    }
}

/// Looks for the delimiter. There is one CR in it, at its beginning, so where the rest does not
/// follow, it cannot begin within what was there of it.
form_step multipart_parser::scan(std::string_view& input) {
    const bool in_part = state_ == state::content;
    for (;;) {
        if (matched_ > 0) { // in the pieces before, or in this one as a whole
            const std::size_t more = common(input, std::string_view(delimiter_).substr(matched_));
            matched_ += more;
            input.remove_prefix(more);
            if (matched_ == delimiter_.size()) {
                matched_ = granted_ = 0;
                state_ = state::delimited;
                return in_part ? form_step::part_end : form_step::more;
            }
            if (input.empty())
                return form_step::more;
            // It was none, so it is content.
            data_ = std::string_view(delimiter_).substr(granted_, matched_ - granted_);
            matched_ = granted_ = 0;
        } else {
            data_ = input.substr(0, find_delimiter(input));
            input.remove_prefix(data_.size());
        }
        if (in_part && !data_.empty())
            return form_step::data;
        preamble_ = preamble_ || !data_.empty();
        if (input.empty())
            return form_step::more;
        if (input.front() == '\r') {
            matched_ = 1;
            input.remove_prefix(1);
        }
    }
}

/// Where it begins in this piece, or may begin, if the piece ends before; else the end.
std::size_t multipart_parser::find_delimiter(std::string_view input) const noexcept {
    for (std::size_t at = input.find('\r'); at != std::string_view::npos;
         at = input.find('\r', at)) {
        const std::size_t same = common(input.substr(at), delimiter_);
        if (same == delimiter_.size() || at + same == input.size())
            return at;
        at += same;
    }
    return input.size();
}

/// What follows a delimiter, up to the end of its line.
form_step multipart_parser::end_line(char c) noexcept {
    const bool blank = c == ' ' || c == '\t';
    switch (state_) {
    case state::delimited:
    case state::padding:
        if (blank) {
            state_ = state::padding;
        } else if (c == '\r') {
            state_ = state::line_feed;
        } else if (c == '-' && state_ == state::delimited) {
            state_ = state::dash;
        } else {
            return fail(400, c == '\n' ? "the line of a boundary does not end with CRLF"
                                       : "a line begins with the boundary and goes on");
        }
        return form_step::more;
    case state::line_feed:
        if (c != '\n')
            return fail(400, "the line of a boundary does not end with CRLF");
        if (parts_ == limits_.parts_max)
            return fail(413, "the content has too many parts");
        ++parts_;
        head_.clear();
        line_ = 0;
        state_ = state::head;
        return form_step::more;
    case state::dash:
        if (c != '-')
            return fail(400, "a line begins with the boundary and goes on");
        // Clients write a form without anything so; what only has text in front is none.
        if (parts_ == 0 && preamble_)
            return fail(400, "the multipart content has no part");
        state_ = state::closed;
        return form_step::more;
    case state::closed:
        if (!blank && c != '\r')
            return fail(400, "the line of the last boundary goes on");
        state_ = blank ? state::closed : state::closed_line_feed;
        return form_step::more;
    default:
        ROTA_CHECK(state_ == state::closed_line_feed, "a state that reads no line");
        if (c != '\n')
            return fail(400, "the line of the last boundary does not end with CRLF");
        state_ = state::epilogue;
        return form_step::end;
    }
}

form_step multipart_parser::read_head(std::string_view& input) {
    while (!input.empty()) {
        const std::size_t end = input.find('\n');
        const std::string_view piece =
            input.substr(0, end == std::string_view::npos ? end : end + 1);
        head_.append(piece.substr(0, limits_.head_bytes_max + 3 - head_.size()));
        input.remove_prefix(piece.size());
        const std::string_view line = std::string_view(head_).substr(line_);
        if (line == "\r\n") {
            head_.resize(line_);
            begin_line(); // this line's end may be that before the delimiter
            state_ = state::content;
            return form_step::part;
        }
        // What ends the head does not count.
        if (head_.size() > limits_.head_bytes_max && line != "\r")
            return fail(413, "the head of a part is too long");
        if (end == std::string_view::npos)
            return form_step::more;
        if (!line.ends_with("\r\n") || line.find('\r') != line.size() - 2)
            return fail(400, "a line in the head of a part does not end with CRLF");
        line_ = head_.size();
    }
    return form_step::more;
}

} // namespace rota::http
