#include "shown_lines.hpp"

#include <rota/http/detail/syntax.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

constexpr std::string_view length_name = "content-length";
constexpr std::string_view coding_name = "transfer-encoding";

bool is_field(std::string_view line, std::string_view name) noexcept {
    return line.size() > name.size() && line[name.size()] == ':' &&
           fields::iequals(line.substr(0, name.size()), name);
}

bool is_space(char c) noexcept { return c == ' ' || c == '\t'; }

/// Takes the tabs off the end of a value.
void show_length(char* value, std::size_t size) noexcept {
    while (size > 0 && is_space(value[size - 1]))
        value[--size] = ' ';
}

/// Leaves one comma between two elements that are not empty, and no other; false if there are none.
/// Of an element itself it says nothing: the rules read what was sent.
bool show_codings(char* value, std::size_t size) noexcept {
    char* comma = nullptr;  // the last one that was left
    bool something = false; // behind it
    for (char* at = value; at != value + size; ++at) {
        if (is_space(*at)) {
            *at = ' ';
        } else if (*at != ',') {
            something = true;
        } else if (something) {
            comma = at;
            something = false;
        } else {
            *at = ' ';
        }
    }
    if (comma != nullptr && !something)
        *comma = ' ';
    return comma != nullptr || something;
}

/// Reads a chunk line from its beginning to its end.
class chunk_line {
public:
    chunk_line(std::string_view content, std::string& shown) noexcept
        : rest_(content), shown_(shown) {}

    bool show() {
        shown_.clear();
        while (!rest_.empty() && syntax::hex_value(rest_.front()) >= 0)
            move_one();
        while (!rest_.empty()) {
            if (!move_separator(';') || !move_token())
                return false;
            if (next_is('=') && (!move_separator('=') || !move_value()))
                return false;
        }
        shown_ += "\r\n";
        return true;
    }

private:
    void move_one() {
        shown_ += rest_.front();
        rest_.remove_prefix(1);
    }
    void skip_space() noexcept {
        while (!rest_.empty() && is_space(rest_.front()))
            rest_.remove_prefix(1);
    }
    [[nodiscard]] bool next_is(char c) const noexcept {
        const std::size_t at = rest_.find_first_not_of(" \t");
        return at != std::string_view::npos && rest_[at] == c;
    }
    bool move_separator(char c) {
        if (!next_is(c))
            return false;
        skip_space();
        move_one();
        skip_space();
        return true;
    }
    bool move_token() {
        const std::size_t before = rest_.size();
        while (!rest_.empty() && fields::is_token_char(rest_.front()))
            move_one();
        return rest_.size() != before;
    }
    bool move_value() {
        if (rest_.empty() || rest_.front() != '"')
            return move_token();
        move_one();
        while (!rest_.empty() && rest_.front() != '"') {
            if (rest_.front() == '\\' && rest_.size() > 1)
                move_one();
            move_one();
        }
        if (rest_.empty())
            return false;
        move_one();
        return true;
    }

    std::string_view rest_;
    std::string& shown_;
};

} // namespace

bool shown_differently(std::string_view line) noexcept {
    const bool has_tab = line.find('\t') != std::string_view::npos;
    const bool is_blank = line.ends_with(":\r\n") || line.ends_with(" \r\n");
    if (!has_tab && !is_blank && line.find(',') == std::string_view::npos)
        return false; // nearly every line; looking for two characters is cheaper than for a name
    return (has_tab && is_field(line, length_name)) || is_field(line, coding_name);
}

void show_field(char* line, std::size_t size) noexcept {
    const std::string_view text(line, size);
    std::size_t end = size;
    while (end > 0 && (line[end - 1] == '\n' || line[end - 1] == '\r'))
        --end;
    const std::size_t name = is_field(text, length_name) ? length_name.size() : coding_name.size();
    char* const value = line + name + 1;
    const auto value_size = end - name - 1;
    if (name == length_name.size())
        show_length(value, value_size);
    else if (!show_codings(value, value_size))
        *line = '-';
}

bool show_chunk_line(std::string_view content, std::string& shown) {
    return chunk_line(content, shown).show();
}

} // namespace rota::http
