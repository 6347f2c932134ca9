#pragma once

// Contents of requests, answers and problems in JSON. Needs the library rota-json (Meson,
// pkg-config) or rota::json (CMake) beside rota.

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <rota/http/error.hpp>
#include <rota/http/problem.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/json/read.hpp>
#include <rota/json/write.hpp>

namespace rota::http {

/// Reads a T out of a content, or a json::document. Throws http_error(400) for what is not JSON, or
/// not as T is described: "items[3].name: expected a string, got 12".
template <class T>
[[nodiscard]] T read_json(std::string_view content, const json::read_options& how = {}) {
    try {
        if constexpr (std::is_same_v<T, json::document>) {
            return json::document::parse(content, how.limits);
        } else {
            return json::read<T>(content, how);
        }
    } catch (const json::parse_error& e) {
        throw http_error(400, std::string("the content is not JSON: ") + e.what());
    } catch (const json::read_error& e) {
        throw http_error(400, std::string(e.path().empty() ? "the content: " : "") + e.what());
    }
}

/// Does what request::json() does.
template <class T>
struct json_content {
    static task<T> read(request* from, std::size_t bytes_max, json::read_options how = {}) {
        const std::string content = co_await from->text(bytes_max);
        co_return read_json<T>(content, how);
    }
};

/// Returns an answer in JSON, of what json::write() takes.
template <class T>
[[nodiscard]] response json_answer(const T& content, int status = 200) {
    return response::json(json::to_text(content)).status(status);
}

} // namespace rota::http
