#include <rota/io/line_decoder.hpp>

#include <stdexcept>
#include <utility>

namespace rota::io {

std::optional<std::string> line_decoder::feed(std::string_view bytes, std::size_t& used) {
    const std::size_t end = bytes.find('\n');
    const bool complete = end != std::string_view::npos;
    used = complete ? end + 1 : bytes.size();
    tail_.append(bytes.substr(0, complete ? end : bytes.size()));
    const bool ends_with_cr = !tail_.empty() && tail_.back() == '\r';
    // While the line is open, a CR at its end may turn out to belong to its CRLF.
    const std::size_t length = tail_.size() - (ends_with_cr ? 1 : 0);
    if (length > max_bytes_) {
        tail_.clear();
        throw std::length_error("a line is longer than the limit");
    }
    if (!complete)
        return std::nullopt;
    tail_.resize(length);
    return std::exchange(tail_, {});
}

std::optional<std::string> line_decoder::finish() {
    if (tail_.empty())
        return std::nullopt;
    return std::exchange(tail_, {});
}

} // namespace rota::io
