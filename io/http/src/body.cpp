#include <rota/http/body.hpp>

#include <algorithm>

#include <rota/http/error.hpp>

namespace rota::http {

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
        whole.append(piece);
    }
}

} // namespace rota::http
