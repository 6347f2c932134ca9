#include <rota/io/stream.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <rota/check.hpp>

namespace rota::io {

task<std::optional<std::string_view>> stream::read(deadline until) {
    const std::size_t seen = std::exchange(seen_, 0);
    drop_shown();
    bool more = buffered().size() > seen;
    if (!more) {
        try {
            if (seen == 0)
                more = co_await fill(until);
            else
                more = co_await fill_more(until);
        } catch (...) {
            seen_ = seen;
            throw;
        }
    }
    if (!more) {
        seen_ = seen;
        co_return std::nullopt;
    }
    shown_ = buffered().size();
    co_return buffered();
}

void stream::drop_what_was_shown() noexcept {
    seen_ = 0;
    consume(std::exchange(shown_, 0));
}

void stream::unread(std::size_t bytes) noexcept {
    ROTA_CHECK(bytes <= shown_, "no more is given back than read() has shown");
    shown_ -= bytes;
    seen_ = bytes;
}

task<void> stream::write_all(std::span<const std::string_view> pieces, deadline until) {
    std::string joined;
    std::size_t size = 0;
    for (const std::string_view piece : pieces)
        size += piece.size();
    joined.reserve(size);
    for (const std::string_view piece : pieces)
        joined.append(piece);
    co_await write_owned(std::move(joined), until);
}

task<void> stream::write_file(file_slice part, deadline until) {
    constexpr std::size_t piece_bytes = 65'536;
    while (part.size > 0) {
        std::string piece;
        try {
            piece = co_await read_piece(&part, piece_bytes);
        } catch (const std::system_error&) {
            abort(); // what was announced does not come
            throw;
        }
        co_await write_owned(std::move(piece), until);
    }
}

task<void> stream::write_shared(shared_bytes bytes, deadline until) {
    constexpr std::size_t piece_bytes = 65'536;
    std::string_view rest = bytes.view();
    // By a deadline it waits before it queues, so a piece whose wait is given up is not there.
    const bool whole = rest.size() <= piece_bytes;
    const deadline limit = whole ? until : until.value_or(deadline::value_type::max());
    try {
        while (!rest.empty()) {
            const std::string_view piece = rest.substr(0, piece_bytes);
            co_await write(piece, limit);
            rest.remove_prefix(piece.size());
        }
    } catch (...) {
        if (rest.size() != bytes.size())
            abort(); // what follows would be taken for the rest
        throw;
    }
}

bool stream::try_write_last(std::string_view bytes) { return try_write(bytes); }

bool stream::try_write_shared(std::string_view, const shared_bytes&) { return false; }

bool stream::try_write_file(std::string_view, const file_slice&) { return false; }

task<std::size_t> stream::read_some(std::span<char> into, deadline until) {
    if (into.empty())
        co_return 0;
    drop_shown();
    const bool more = co_await fill(until);
    if (!more)
        co_return 0;
    const std::string_view arrived = buffered();
    const std::size_t count = std::min(into.size(), arrived.size());
    std::memcpy(into.data(), arrived.data(), count);
    consume(count);
    co_return count;
}

task<std::size_t> stream::read_exactly(std::span<char> into, deadline until) {
    if (into.empty())
        co_return 0;
    drop_shown();
    // Nothing is consumed before all of it is there: a deadline or a stop must not lose a part.
    bool more = co_await fill(until);
    while (more && buffered().size() < into.size())
        more = co_await fill_more(until);
    const std::string_view arrived = buffered();
    const std::size_t count = std::min(into.size(), arrived.size());
    std::memcpy(into.data(), arrived.data(), count);
    consume(count);
    co_return count;
}

task<std::optional<std::string>> stream::read_until(std::string delimiter, std::size_t max_bytes,
                                                    deadline until) {
    if (delimiter.empty())
        throw std::invalid_argument("read_until: an empty delimiter");
    drop_shown();
    std::size_t searched = 0;
    bool more = co_await fill(until);
    for (;;) {
        const std::string_view arrived = buffered();
        const std::size_t found = arrived.find(delimiter, searched);
        const bool complete = found != std::string_view::npos;
        const std::size_t size = complete ? found + delimiter.size() : arrived.size();
        if (size > max_bytes)
            throw std::length_error("read: no end of it within the limit");
        if (complete || !more) {
            if (size == 0)
                co_return std::nullopt;
            std::string piece(arrived.substr(0, size));
            consume(size);
            co_return piece;
        }
        // The delimiter may have begun in what is there.
        searched = size < delimiter.size() ? 0 : size - delimiter.size() + 1;
        more = co_await fill_more(until);
    }
}

task<std::optional<std::string>> stream::read_line(std::size_t max_bytes, deadline until) {
    drop_shown();
    std::size_t searched = 0;
    bool more = co_await fill(until);
    for (;;) {
        const std::string_view arrived = buffered();
        const std::size_t found = arrived.find('\n', searched);
        const bool complete = found != std::string_view::npos;
        std::string_view line = arrived.substr(0, found);
        // A CR at the end goes with the LF, and may do so while the LF has not come yet.
        if ((complete || more) && line.ends_with('\r'))
            line.remove_suffix(1);
        if (line.size() > max_bytes)
            throw std::length_error("read_line: longer than the limit");
        if (complete || !more) {
            if (arrived.empty())
                co_return std::nullopt;
            std::string result(line);
            consume(complete ? found + 1 : arrived.size());
            co_return result;
        }
        searched = arrived.size();
        more = co_await fill_more(until);
    }
}

task<void> stream::write_line(std::string_view line, deadline until) {
    std::string bytes;
    bytes.reserve(line.size() + 1);
    bytes.append(line).push_back('\n');
    co_await write_owned(std::move(bytes), until);
}

} // namespace rota::io
