#pragma once

// What a request must not be: bytes in, status out, whatever the cut.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "parser_driver.hpp"

namespace rota::http::test {

struct refused {
    int status;
    std::string bytes;
};

inline const std::string get = "GET / HTTP/1.1\r\n";
inline const std::string host = get + "Host: a\r\n";
inline const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
inline const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
inline const std::string end = "\r\n\r\n";

/// Checks every row whole, cut in two at every place, and byte by byte.
inline void check_all(const std::vector<refused>& table, const parser_limits& limits = {}) {
    for (const refused& request : table) {
        CAPTURE(request.bytes);
        const auto whole = run(request.bytes, limits);
        CHECK(whole.status == request.status);
        const std::string_view bytes = request.bytes;
        for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
            CAPTURE(cut);
            const auto seen = run({bytes.substr(0, cut), bytes.substr(cut)}, limits);
            REQUIRE(seen.status == whole.status);
            REQUIRE(std::string_view(seen.reason) == whole.reason);
        }
        const auto slow = run(byte_by_byte(bytes), limits);
        REQUIRE(slow.status == whole.status);
        REQUIRE(std::string_view(slow.reason) == whole.reason);
        REQUIRE(slow.text == whole.text);
    }
}

} // namespace rota::http::test
