#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/http/response.hpp>

namespace jobs {

/// Why a request is refused, for its client (RFC 9457). Thrown by what reads requests; the
/// routes turn it into a response.
struct problem : std::exception {
    problem(int s, std::string_view c, std::string d) : status(s), code(c), detail(std::move(d)) {}
    [[nodiscard]] const char* what() const noexcept override { return detail.c_str(); }

    int status;
    std::string_view code; ///< a word that programs can compare; outlives this
    std::string detail;    ///< a sentence
    /// More members, texts. The names outlive this.
    std::vector<std::pair<std::string_view, std::string>> members{};
    bool coded = false; ///< the content is: the answer says that it must not be
};

/// The answer as application/problem+json. 429 and 503 get a Retry-After of a second.
[[nodiscard]] rota::http::response to_response(const problem& p);

} // namespace jobs
