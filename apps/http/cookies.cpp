#include "cookies.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/http/cookie.hpp>
#include <rota/http/error.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/json/writer.hpp>

namespace rota_http {
namespace {

using rota::http::cookie;
using rota::http::http_error;
using rota::http::request;
using rota::http::response;
using rota::http::same_site;

response list(const request& req) {
    std::string text;
    rota::json::writer out(text);
    out.begin_array();
    for (const rota::http::request_cookie& each : req.cookies()) {
        out.begin_object().member("name", each.name).member("value", each.value).end_object();
    }
    out.end_array();
    response answer = response::json(std::move(text));
    answer.header("Cache-Control", "no-store"); // it is this client's
    answer.header("X-Content-Type-Options", "nosniff");
    return answer;
}

/// Each is there once at most.
void check_names(const request& req) {
    constexpr std::array<std::string_view, 7> known{"name",      "value",  "max_age",  "path",
                                                    "same_site", "secure", "http_only"};
    std::vector<std::string> seen;
    for (auto& [name, value] : req.query_parameters()) {
        if (std::ranges::find(known, name) == known.end())
            throw http_error(400, "the query is name, value, max_age, path, same_site, secure and "
                                  "http_only");
        if (std::ranges::find(seen, name) != seen.end())
            throw http_error(400, "the query parameter " + name + " is there twice");
        seen.push_back(std::move(name));
    }
}

std::optional<std::chrono::seconds> max_age_of(const request& req) {
    const std::optional<std::string> text = req.query("max_age");
    if (!text)
        return std::nullopt;
    std::int64_t seconds = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, seconds);
    if (error != std::errc() || stop != end || text->front() == '-')
        throw http_error(400, "max_age is a whole number of seconds, 0 or more");
    return std::chrono::seconds(seconds);
}

same_site same_site_of(const request& req) {
    const std::optional<std::string> text = req.query("same_site");
    if (!text)
        return same_site::unset;
    using rota::http::fields::iequals;
    for (const auto& [name, value] :
         {std::pair("strict", same_site::strict), std::pair("lax", same_site::lax),
          std::pair("none", same_site::none)}) {
        if (iequals(*text, name))
            return value;
    }
    throw http_error(400, "same_site is strict, lax or none");
}

response set(const request& req) {
    check_names(req);
    cookie wanted;
    wanted.name = req.required_query<std::string>("name");
    wanted.value = req.required_query<std::string>("value");
    wanted.max_age = max_age_of(req);
    const std::optional<std::string> path = req.query("path");
    if (path && path->empty())
        throw http_error(400, "the path of a cookie begins with a slash");
    wanted.path = path.value_or("");
    wanted.same_site = same_site_of(req);
    wanted.secure = req.query<bool>("secure", false);
    wanted.http_only = req.query<bool>("http_only", false);
    response answer(204);
    try {
        answer.set_cookie(wanted);
    } catch (const std::invalid_argument& e) {
        throw http_error(400, std::string(e.what()));
    }
    return answer;
}

} // namespace

void add_cookies(rota::http::router& to) { to.get("/cookies", list).post("/cookies", set); }

} // namespace rota_http
