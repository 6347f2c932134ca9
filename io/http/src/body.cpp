#include <rota/http/body.hpp>

#include <algorithm>
#include <utility>

#include <rota/http/error.hpp>

namespace rota::http {

void body_reader::keep(std::uint64_t bytes) {
    if (!kept_.reach_in_steps(static_cast<std::size_t>(bytes)))
        throw http_error(503, "the memory for content is used up at the moment");
}

task<std::string> body_reader::read_all(std::size_t bytes_max) {
    std::string whole;
    limit(bytes_max);
    if (const auto announced = length()) {
        // What is announced need not come: memory is taken as it does.
        constexpr std::uint64_t believed_max = 65'536;
        whole.reserve(static_cast<std::size_t>(std::min(*announced, believed_max)));
    }
    for (;;) {
        const std::string_view piece = co_await read();
        if (piece.empty())
            co_return whole;
        if (piece.size() > bytes_max - whole.size())
            throw http_error(413, "content too large");
        keep(whole.size() + piece.size());
        whole.append(piece);
    }
}

task<void> body_writer::write_shared(io::shared_bytes piece) { co_await write(piece.view()); }

task<void> body_writer::write_file(io::file_slice part) {
    constexpr std::size_t piece_bytes = 65'536;
    while (part.size > 0) {
        std::string piece = co_await io::read_piece(&part, piece_bytes);
        co_await write_owned(std::move(piece));
    }
}

} // namespace rota::http
