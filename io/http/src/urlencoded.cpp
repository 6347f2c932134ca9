#include <rota/http/urlencoded.hpp>

#include <algorithm>
#include <utility>

#include <rota/http/percent.hpp>

namespace rota::http {
namespace {

/// Of a long piece so much is decoded at once.
constexpr std::size_t step_bytes = 16'384;

/// Whether an escape may begin so.
bool begins_escape(std::string_view text) noexcept {
    return text == "%" ||
           (text.size() == 2 && text[0] == '%' &&
            std::string_view("0123456789abcdefABCDEF").find(text[1]) != std::string_view::npos);
}

} // namespace

form_step urlencoded_parser::fail(const char* reason) noexcept {
    failure_ = {413, reason};
    state_ = state::failed;
    return form_step::failed;
}

/// Appends to text_ what is decoded of it; what may be the beginning of an escape waits.
void urlencoded_parser::decode(std::string_view text) {
    escape_.append(text);
    std::size_t rest = escape_.size();
    for (std::size_t size = 1; size <= 2 && size <= escape_.size(); ++size) {
        if (begins_escape(std::string_view(escape_).substr(escape_.size() - size)))
            rest = escape_.size() - size;
    }
    text_.append(decode_form(std::string_view(escape_).substr(0, rest)));
    escape_.erase(0, rest);
}

/// The same of what waited, in vain.
void urlencoded_parser::decode_rest() {
    text_.append(escape_);
    escape_.clear();
}

form_step urlencoded_parser::end_name() {
    decode_rest();
    if (text_.size() > limits_.name_bytes_max)
        return fail("the name of a field is too long");
    name_ = std::move(text_);
    state_ = state::value;
    return form_step::part;
}

form_step urlencoded_parser::end_value() {
    text_.clear();
    decode_rest();
    data_ = text_;
    if (!data_.empty())
        return form_step::data;
    state_ = state::between;
    return form_step::part_end;
}

form_step urlencoded_parser::begin_name(std::string_view& input) {
    if (input.front() == '&') {
        input.remove_prefix(1);
        return form_step::more;
    }
    if (parts_ == limits_.parts_max)
        return fail("the content has too many fields");
    ++parts_;
    text_.clear();
    state_ = state::name;
    return form_step::more;
}

form_step urlencoded_parser::read_name(std::string_view& input) {
    const std::string_view piece = input.substr(0, step_bytes);
    const std::size_t end = std::min(piece.find_first_of("=&"), piece.size());
    decode(piece.substr(0, end));
    input.remove_prefix(end);
    if (text_.size() > limits_.name_bytes_max)
        return fail("the name of a field is too long");
    if (end == piece.size())
        return form_step::more;
    if (input.front() == '=')
        input.remove_prefix(1);
    return end_name();
}

form_step urlencoded_parser::read_value(std::string_view& input) {
    const std::string_view piece = input.substr(0, step_bytes);
    const std::size_t end = std::min(piece.find('&'), piece.size());
    if (end == 0)
        return end_value();
    text_.clear();
    decode(piece.substr(0, end));
    input.remove_prefix(end);
    data_ = text_;
    return data_.empty() ? form_step::more : form_step::data;
}

form_step urlencoded_parser::next(std::string_view& input) {
    while (!input.empty()) {
        form_step step = form_step::more;
        switch (state_) {
        case state::between:
            step = begin_name(input);
            break;
        case state::name:
            step = read_name(input);
            break;
        case state::value:
            step = read_value(input);
            break;
        case state::ended:
            input = {};
            return form_step::end;
        case state::failed:
            return form_step::failed;
        }
        if (step != form_step::more)
            return step;
    }
    return form_step::more;
}

form_step urlencoded_parser::finish() {
    switch (state_) {
    case state::name:
        return end_name();
    case state::value:
        return end_value();
    case state::failed:
        return form_step::failed;
    default:
        state_ = state::ended;
        return form_step::end;
    }
}

} // namespace rota::http
