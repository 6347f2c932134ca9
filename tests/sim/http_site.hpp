#pragma once

#include <cstddef>
#include <string>

#include <rota/http/router.hpp>
#include <rota/io/shared_file.hpp>

#include "random.hpp"

namespace sim {

/// A file in memory that holds a pattern.
rota::io::shared_file make_file(std::size_t bytes);
inline constexpr std::size_t site_file_bytes = 100'000;

/// What answers at once or later, in one piece or many, in words or from such a file.
rota::http::router site_routes(const rota::io::shared_file& from);

/// A request to it, and its answer.
struct exchange {
    std::string method;
    std::string target;
    std::string content;
    bool chunked; ///< where there is a choice
    int status;   ///< 0: it is never whole
    std::string body;
    std::string id{}; ///< if it has one, X-Request-Id is that, and the answer's, too

    /// As HTTP/1.1 has it.
    [[nodiscard]] std::string text() const;
};

exchange draw_exchange(random& r);

} // namespace sim
