#include "console.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <rota/http/error.hpp>

// Made of console/* by tools/embed.py.
#include "api_js.hpp"
#include "console_css.hpp"
#include "dom_js.hpp"
#include "events_js.hpp"
#include "figures_js.hpp"
#include "icon_svg.hpp"
#include "index_html.hpp"
#include "jobs_js.hpp"
#include "main_js.hpp"
#include "queues_js.hpp"
#include "taken_js.hpp"

namespace rota_http {
namespace {

using rota::http::literal;
using rota::http::request;
using rota::http::response;

struct console_file {
    std::string_view name;
    literal type;
    literal content;
    std::string etag{};
};

constexpr literal css = "text/css; charset=utf-8";
constexpr literal html = "text/html; charset=utf-8";
constexpr literal script = "text/javascript; charset=utf-8";
constexpr literal svg = "image/svg+xml";

/// Another content, another name: FNV-1a.
std::string etag_of(std::string_view content) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : content) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3;
    }
    return fmt::format("\"{:016x}\"", hash);
}

std::vector<console_file> all_files() {
    std::vector<console_file> all{
        {"api.js", script, console::api_js_bytes},
        {"console.css", css, console::console_css_bytes},
        {"dom.js", script, console::dom_js_bytes},
        {"events.js", script, console::events_js_bytes},
        {"figures.js", script, console::figures_js_bytes},
        {"icon.svg", svg, console::icon_svg_bytes},
        {"index.html", html, console::index_html_bytes},
        {"jobs.js", script, console::jobs_js_bytes},
        {"main.js", script, console::main_js_bytes},
        {"queues.js", script, console::queues_js_bytes},
        {"taken.js", script, console::taken_js_bytes},
    };
    for (console_file& each : all)
        each.etag = etag_of(each.content.text);
    return all;
}

/// Nothing but the page's own files, and requests to its own server.
constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Whether one of the validators of an If-None-Match field is `etag` (RFC 9110, 13.1.2).
bool names(std::string_view field, std::string_view etag) {
    while (!field.empty()) {
        const std::size_t end = std::min(field.find(','), field.size());
        std::string_view each = field.substr(0, end);
        field.remove_prefix(std::min(end + 1, field.size()));
        while (each.starts_with(' ') || each.starts_with('\t'))
            each.remove_prefix(1);
        while (each.ends_with(' ') || each.ends_with('\t'))
            each.remove_suffix(1);
        if (each.starts_with("W/"))
            each.remove_prefix(2);
        if (each == etag || each == "*")
            return true;
    }
    return false;
}

response serve(const console_file& file, const request& req) {
    const auto known = req.header("If-None-Match");
    response answer = known && names(*known, file.etag) ? response(304)
                                                        : response::fixed(file.content, file.type);
    answer.header("ETag", file.etag).header("Cache-Control", "no-cache");
    answer.header("Content-Security-Policy", policy).header("X-Content-Type-Options", "nosniff");
    answer.header("Referrer-Policy", "no-referrer");
    return answer;
}

using files = std::shared_ptr<const std::vector<console_file>>;

response serve_named(const files& all, std::string_view name, const request& req) {
    const auto found = std::ranges::find(*all, name, &console_file::name);
    if (found == all->end())
        throw rota::http::http_error(404, "the console has no such file");
    return serve(*found, req);
}

} // namespace

void add_console(rota::http::router& to) {
    const files all = std::make_shared<const std::vector<console_file>>(all_files());
    to.get("/", [all](const request& req) {
          return serve_named(all, "index.html", req);
      }).get("/console/{file}", [all](const request& req) {
        return serve_named(all, req.param("file"), req);
    });
}

} // namespace rota_http
