#pragma once

// A handler that gives reads of content up and repeats them, over whatever brings the content.

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <rota/errors.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/task.hpp>
#include <rota/with_timeout.hpp>

namespace rota::http::test {

/// Waits for each piece a second at a time; answers with all of them, and how often it gave up.
inline task<response> read_patiently(request& req) {
    std::string all;
    int given_up = 0;
    for (bool more = true; more;) {
        task<std::string_view> reading = req.body().read();
        try {
            const std::string_view piece =
                co_await with_timeout(std::chrono::seconds(1), std::move(reading));
            all += piece;
            more = !piece.empty();
        } catch (const timed_out&) {
            ++given_up;
        }
    }
    co_return response::text(all + " after " + std::to_string(given_up));
}

} // namespace rota::http::test
