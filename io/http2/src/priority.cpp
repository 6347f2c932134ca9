#include "priority.hpp"

#include <algorithm>
#include <cstddef>

#include <rota/http/detail/syntax.hpp>
#include <rota/http/fields.hpp>

namespace rota::http::h2 {
namespace {

bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool is_alpha(char c) noexcept { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

/// Of an item, as much as counts here.
struct item {
    enum class kind : std::uint8_t { integer, boolean, other };
    kind is = kind::other;
    long long value = 0;
};

/// Reads a dictionary (RFC 8941 section 4.2), and keeps nothing of it. Each function takes off what
/// it reads; false: there is no such thing.
class dictionary_reader {
public:
    explicit dictionary_reader(std::string_view text) noexcept : text_(text) { skip(" "); }

    [[nodiscard]] bool at_end() const noexcept { return text_.empty(); }

    /// The next member: its key, and its item.
    bool member(std::string_view& name, item& of) noexcept {
        if (!key(name))
            return false;
        of = {.is = item::kind::boolean, .value = 1};
        if (take('=') && !(starts('(') ? inner_list(of) : bare_item(of)))
            return false;
        return parameters();
    }

    /// What is between two members, or behind the last one.
    bool behind_member() noexcept {
        skip(" \t");
        if (at_end())
            return true;
        if (!take(','))
            return false;
        skip(" \t");
        return !at_end();
    }

private:
    [[nodiscard]] bool starts(char c) const noexcept { return text_.starts_with(c); }
    bool take(char c) noexcept {
        if (!starts(c))
            return false;
        text_.remove_prefix(1);
        return true;
    }
    void skip(std::string_view chars) noexcept {
        text_.remove_prefix(std::min(text_.find_first_not_of(chars), text_.size()));
    }
    std::string_view take_while(auto holds) noexcept {
        std::size_t size = 0;
        while (size < text_.size() && holds(text_[size]))
            ++size;
        const std::string_view taken = text_.substr(0, size);
        text_.remove_prefix(size);
        return taken;
    }

    bool key(std::string_view& name) noexcept {
        if (at_end() || !(is_lower(text_.front()) || starts('*')))
            return false;
        name = take_while([](char c) {
            return is_lower(c) || syntax::is_digit(c) || c == '_' || c == '-' || c == '.' ||
                   c == '*';
        });
        return true;
    }

    bool parameters() noexcept {
        while (take(';')) {
            skip(" ");
            std::string_view name;
            item ignored;
            if (!key(name) || (take('=') && !bare_item(ignored)))
                return false;
        }
        return true;
    }

    bool inner_list(item& of) noexcept {
        of = {};
        take('(');
        skip(" ");
        while (!take(')')) {
            item ignored;
            if (!bare_item(ignored) || !parameters() || !(starts(' ') || starts(')')))
                return false;
            skip(" ");
        }
        return true;
    }

    bool bare_item(item& of) noexcept {
        of = {};
        if (at_end())
            return false;
        const char first = text_.front();
        if (first == '-' || syntax::is_digit(first))
            return number(of);
        if (first == '"')
            return string();
        if (first == '?')
            return boolean(of);
        if (first == ':')
            return bytes();
        if (first != '*' && !is_alpha(first))
            return false;
        take_while([](char c) { return fields::is_token_char(c) || c == ':' || c == '/'; });
        return true;
    }

    bool number(item& of) noexcept {
        const bool negative = take('-');
        const std::string_view whole = take_while(syntax::is_digit);
        if (whole.empty() || whole.size() > 15)
            return false;
        if (take('.')) {
            const std::string_view part = take_while(syntax::is_digit);
            return whole.size() <= 12 && !part.empty() && part.size() <= 3;
        }
        of.is = item::kind::integer;
        for (const char digit : whole)
            of.value = of.value * 10 + (digit - '0');
        if (negative)
            of.value = -of.value;
        return true;
    }

    bool boolean(item& of) noexcept {
        take('?');
        of.is = item::kind::boolean;
        of.value = starts('1') ? 1 : 0;
        return take('0') || take('1');
    }

    bool string() noexcept {
        take('"');
        for (;;) {
            take_while([](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
            if (take('"'))
                return true;
            if (!take('\\') || !(take('"') || take('\\')))
                return false;
        }
    }

    bool bytes() noexcept {
        take(':');
        take_while([](char c) {
            return is_alpha(c) || syntax::is_digit(c) || c == '+' || c == '/' || c == '=';
        });
        return take(':');
    }

    std::string_view text_;
};

} // namespace

std::optional<stream_priority> read_priority(std::string_view value,
                                             stream_priority before) noexcept {
    dictionary_reader reader(value);
    stream_priority all = before;
    while (!reader.at_end()) {
        std::string_view name;
        item of;
        if (!reader.member(name, of) || !reader.behind_member())
            return std::nullopt;
        // Of members with one name the last one counts, be it right or wrong.
        if (name == "u") {
            const bool right = of.is == item::kind::integer && of.value >= 0 && of.value <= 7;
            all.urgency =
                right ? static_cast<std::uint8_t>(of.value) : stream_priority::urgency_default;
        } else if (name == "i") {
            all.incremental = of.is == item::kind::boolean && of.value == 1;
        }
    }
    return all;
}

} // namespace rota::http::h2
