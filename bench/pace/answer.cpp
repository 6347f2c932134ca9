#include "answer.hpp"

#include <charconv>
#include <stdexcept>
#include <utility>

#include <strings.h>

namespace pace {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";
constexpr std::size_t head_bytes_max = std::size_t{64} << 10;

bool same_name(std::string_view a, std::string_view b) {
    return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view without_spaces(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The line up to the next end of a line, which is taken off with it.
std::string_view next_line(std::string_view& text) {
    const std::size_t end = text.find("\r\n");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    return line;
}

std::uint64_t parse_length(std::string_view text) {
    std::uint64_t length = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, length);
    if (error != std::errc() || stop != end)
        throw std::runtime_error("Content-Length: " + std::string(text));
    return length;
}

} // namespace

void answer_reader::read_head(std::string_view head) {
    const std::string_view status = next_line(head);
    if (!status.starts_with("HTTP/1.1 "))
        throw std::runtime_error("no answer of HTTP/1.1: " + std::string(status.substr(0, 80)));
    if (status.substr(9, 3) != "200")
        throw std::runtime_error("status " + std::string(status.substr(9, 3)) + " instead of 200");
    last_ = false;
    while (!head.empty()) {
        const std::string_view line = next_line(head);
        const std::size_t colon = std::min(line.find(':'), line.size());
        const std::string_view name = line.substr(0, colon);
        const std::string_view value =
            without_spaces(line.substr(std::min(colon + 1, line.size())));
        if (same_name(name, "Content-Length")) {
            if (due_)
                throw std::runtime_error("two Content-Lengths");
            due_ = parse_length(value);
        } else if (same_name(name, "Connection")) {
            last_ = same_name(value, "close");
        }
    }
    if (!due_)
        throw std::runtime_error("no Content-Length");
}

bool answer_reader::take(std::string_view piece) {
    if (!due_) {
        const std::size_t before = head_.size();
        head_.append(piece);
        const std::size_t from = before < head_end.size() ? 0 : before - (head_end.size() - 1);
        const std::size_t end = head_.find(head_end, from);
        if (end == std::string::npos) {
            if (head_.size() > head_bytes_max)
                throw std::runtime_error("a head without end");
            return false;
        }
        read_head(std::string_view(head_).substr(0, end));
        piece.remove_prefix(end + head_end.size() - before);
        head_.clear();
    }
    if (piece.size() > *due_)
        throw std::runtime_error("more than its Content-Length");
    *due_ -= piece.size();
    if (*due_ != 0)
        return false;
    due_.reset();
    return true;
}

} // namespace pace
