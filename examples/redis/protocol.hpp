#pragma once

// The protocol that Redis clients speak (RESP 2): requests in, replies out. Knows bytes only.

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redis {

/// The words of one request: views of what has arrived.
using request = std::vector<std::string_view>;

template <class Number>
std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

/// Takes the requests of a piece of the stream one after another.
class request_reader {
public:
    explicit request_reader(std::string_view bytes) : rest_(bytes) {}

    /// The next whole one, not empty; nothing if there is none, or a problem().
    std::optional<request> next() {
        while (!rest_.empty() && problem_.empty()) {
            const std::string_view before = rest_;
            request words;
            if (!(rest_.front() == '*' ? take_array(words) : take_inline(words))) {
                rest_ = before;
                fail_if(rest_.size() > request_max, "too big request");
                return std::nullopt;
            }
            if (!words.empty())
                return words;
        }
        return std::nullopt;
    }
    /// How many bytes belong to a request that is not whole.
    [[nodiscard]] std::size_t rest() const { return rest_.size(); }
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    static constexpr std::size_t line_max = 65'536;
    static constexpr std::size_t request_max = 64 << 20;
    static constexpr long words_max = 1 << 20;
    static constexpr long word_max = 32 << 20;

    std::optional<std::string_view> take_line() {
        const std::size_t end = rest_.find('\n');
        if (end == rest_.npos) {
            if (rest_.size() > line_max)
                problem_ = "too big inline request";
            return std::nullopt;
        }
        std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        return line;
    }

    bool take_inline(request& words) {
        const auto line = take_line();
        for (std::size_t at = 0; line && at < line->size();) {
            const std::size_t end = std::min(line->find_first_of(" \t", at), line->size());
            if (end > at)
                words.push_back(line->substr(at, end - at));
            at = end + 1;
        }
        return line.has_value();
    }

    /// *2 CRLF $4 CRLF PING CRLF $5 CRLF hello CRLF
    bool take_array(request& words) {
        const auto count = take_length('*', words_max, "invalid multibulk length");
        for (long i = 0; count && i < *count; ++i) {
            const auto size = take_length('$', word_max, "invalid bulk length");
            if (!size || *size < 0 || rest_.size() < static_cast<std::size_t>(*size) + 2)
                return fail_if(size && *size < 0, "invalid bulk length");
            words.push_back(rest_.substr(0, static_cast<std::size_t>(*size)));
            rest_.remove_prefix(words.back().size() + 2);
        }
        return count.has_value();
    }

    std::optional<long> take_length(char kind, long most, const char* what) {
        const auto line = take_line();
        if (!line)
            return std::nullopt;
        fail_if(!line->starts_with(kind), "expected '$'");
        const auto length = number<long>(line->substr(std::min<std::size_t>(1, line->size())));
        fail_if(!length || *length > most, what);
        return problem_.empty() ? length : std::nullopt;
    }

    bool fail_if(bool wrong, const char* what) {
        if (wrong && problem_.empty())
            problem_ = what;
        return false;
    }

    std::string_view rest_;
    std::string problem_;
};

/// Appends replies to what is to be sent.
class reply {
public:
    explicit reply(std::string& out) : out_(out) {}

    void ok() { out_ += "+OK\r\n"; }
    void simple(std::string_view text) { line('+', text); }
    /// Of several pieces; made one line.
    void error(std::string_view text, std::string_view more = {}, std::string_view end = {}) {
        std::string all(text);
        all.append(more).append(end);
        const auto is_control = [](unsigned char c) { return std::iscntrl(c) != 0; };
        std::replace_if(all.begin(), all.end(), is_control, '?');
        line('-', all);
    }
    void integer(long long n) { line(':', std::to_string(n)); }
    void array(std::size_t count) { line('*', std::to_string(count)); }
    void nil() { out_ += "$-1\r\n"; }
    void text(std::string_view bytes) {
        line('$', std::to_string(bytes.size()));
        out_.append(bytes).append("\r\n");
    }

private:
    void line(char kind, std::string_view rest) {
        out_.push_back(kind);
        out_.append(rest).append("\r\n");
    }
    std::string& out_;
};

} // namespace redis
