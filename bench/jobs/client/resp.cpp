#include "resp.hpp"

#include <charconv>
#include <stdexcept>

namespace jobload {
namespace {

constexpr std::string_view line_end = "\r\n";

/// The number in a line of which the first character is its type.
long number_of(std::string_view line) {
    long number = 0;
    const char* const end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + 1, end, number);
    if (error != std::errc() || stop != end)
        throw std::runtime_error("no reply: " + std::string(line.substr(0, 80)));
    return number;
}

} // namespace

void append_word(std::string& to, std::string_view word) {
    to += '$';
    to += std::to_string(word.size());
    to += line_end;
    to += word;
    to += line_end;
}

std::string command_of(std::size_t words) { return '*' + std::to_string(words) + "\r\n"; }

std::optional<std::size_t> reply_end(std::string_view text, std::size_t from) {
    std::size_t pending = 1; // replies to come, those in arrays too
    while (pending > 0) {
        const std::size_t end = text.find(line_end, from);
        if (end == std::string_view::npos)
            return std::nullopt;
        const std::string_view line = text.substr(from, end - from);
        from = end + line_end.size();
        --pending;
        switch (line.empty() ? '?' : line.front()) {
        case '+':
        case ':':
            break;
        case '$':
            if (const long bytes = number_of(line); bytes >= 0)
                from += static_cast<std::size_t>(bytes) + line_end.size();
            if (from > text.size())
                return std::nullopt;
            break;
        case '*':
            if (const long parts = number_of(line); parts > 0)
                pending += static_cast<std::size_t>(parts);
            break;
        default:
            throw std::runtime_error("the reply is " + std::string(line.substr(0, 80)));
        }
    }
    return from;
}

std::optional<std::string_view> bulk_of(std::string_view reply, std::size_t longer) {
    std::size_t from = 0;
    while (from < reply.size()) {
        const std::size_t end = reply.find(line_end, from);
        const std::string_view line = reply.substr(from, end - from);
        from = end + line_end.size();
        if (line.front() != '$' || number_of(line) < 0)
            continue;
        const auto bytes = static_cast<std::size_t>(number_of(line));
        if (bytes > longer)
            return reply.substr(from, bytes);
        from += bytes + line_end.size();
    }
    return std::nullopt;
}

} // namespace jobload
