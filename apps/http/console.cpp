#include "console.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <rota/http/behind.hpp>
#include <rota/http/body.hpp>
#include <rota/http/conditional.hpp>
#include <rota/http/error.hpp>
#include <rota/task.hpp>

#include "jobs/rules/random_id.hpp"

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
#include "queue_list_js.hpp"
#include "queues_js.hpp"
#include "raw_js.hpp"
#include "spark_js.hpp"
#include "taken_js.hpp"
#include "token_js.hpp"
#include "trends_js.hpp"

namespace rota_http {
namespace {

using rota::http::body_writer;
using rota::http::error_page;
using rota::http::guard;
using rota::http::literal;
using rota::http::method;
using rota::http::precondition;
using rota::http::request;
using rota::http::response;

struct console_file {
    std::string_view name;
    literal type;
    literal content;
    std::string etag{};
};

constexpr literal css = "text/css; charset=utf-8";
constexpr std::string_view html = "text/html; charset=utf-8";
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
        {"jobs.js", script, console::jobs_js_bytes},
        {"main.js", script, console::main_js_bytes},
        {"queue_list.js", script, console::queue_list_js_bytes},
        {"queues.js", script, console::queues_js_bytes},
        {"raw.js", script, console::raw_js_bytes},
        {"spark.js", script, console::spark_js_bytes},
        {"taken.js", script, console::taken_js_bytes},
        {"token.js", script, console::token_js_bytes},
        {"trends.js", script, console::trends_js_bytes},
    };
    for (console_file& each : all)
        each.etag = etag_of(each.content.text);
    return all;
}

/// Nothing but the page's own files, and requests to its own server. No script: the page adds its
/// own.
constexpr std::string_view policy =
    "default-src 'none'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

response with_policy(response answer, std::string_view scripts = {}) {
    answer.header("Content-Security-Policy", std::string(policy).append(scripts));
    answer.header("X-Content-Type-Options", "nosniff").header("Referrer-Policy", "no-referrer");
    return answer;
}

/// The whole, or what the preconditions of the request make of it. Without a tag nobody keeps it.
response conditional(response whole, const std::string& etag, const request& req) {
    const auto what = check_preconditions(req.method(), req.headers(),
                                          {.tag = rota::http::entity_tag::parse(etag)});
    if (what != precondition::go_on) {
        response instead(304);
        if (what == precondition::failed)
            instead = response::text("Precondition Failed\n").status(412);
        const std::string_view type = whole.headers().find("Content-Type").value_or("");
        instead.stands_for({.content_type = std::string(type), .length = whole.body().size()});
        whole = std::move(instead);
    }
    if (what != precondition::failed && !etag.empty())
        whole.header("ETag", etag);
    if (what != precondition::failed)
        whole.header("Cache-Control", etag.empty() ? "no-store" : "no-cache");
    return whole;
}

response serve(const console_file& file, const request& req) {
    return with_policy(conditional(response::fixed(file.content, file.type), file.etag, req));
}

void replace(std::string& in, std::string_view from, std::string_view by) {
    if (const std::size_t at = in.find(from); at != std::string::npos)
        in.replace(at, from.size(), by);
}

/// The page, as it says which HTTP brought it. Its script, and what that imports, are known by a
/// nonce: by their origin so would be whatever else the server has or makes up, as the files of
/// --files; and where they are is for a proxy to say.
response serve_page(const request& req, int status) {
    const std::string nonce = jobs::random_id(); // which nobody can know before it is sent
    std::string text(literal(console::index_html_bytes).text);
    replace(text, "<script ", fmt::format("<script nonce=\"{}\" ", nonce));
    if (req.version_major() == 2)
        replace(text, ">HTTP/1.1<", ">HTTP/2<");
    response page = response::with_body(std::move(text), html).status(status);
    if (status == 200)
        page = conditional(std::move(page), {}, req);
    else
        page.header("Cache-Control", "no-store");
    return with_policy(std::move(page), fmt::format("; script-src 'nonce-{}'", nonce));
}

using console_files = std::vector<console_file>;

const console_file& find(const console_files& all, std::string_view name) {
    const auto found = std::ranges::find(all, name, &console_file::name);
    if (found == all.end())
        throw rota::http::http_error(404, "the console has no such file");
    return *found;
}

/// Whether a browser is to show the answer, not a program to read it.
bool is_navigation(const request& req) {
    return req.header("Accept").value_or("").find("text/html") != std::string_view::npos;
}

/// What the console's handlers share.
struct guarded_files {
    std::shared_ptr<const guard> by;
    console_files all = all_files();

    /// The page; also as the content of a 401, so that it can ask for a token.
    [[nodiscard]] response page(const request& req) const {
        const auto refused = by->check(req);
        if (!refused)
            return serve_page(req, 200);
        if (refused->status != 401)
            return guard::answer(*refused, {});
        error_page shown;
        if (is_navigation(req))
            shown = [&req](int status, std::string_view) { return serve_page(req, status); };
        response answer = guard::answer(*refused, shown);
        answer.header("Vary", "Accept");
        return answer;
    }

    [[nodiscard]] response other_method(const request& req) const {
        const auto refused = by->check(req);
        if (refused)
            return guard::answer(*refused, {});
        response answer = response::text("Method Not Allowed\n").status(405);
        if (req.method() == method::options)
            answer = response(204);
        answer.header("Allow", "GET, HEAD, OPTIONS");
        return answer;
    }
};

/// Around what the page needs before there is a token.
rota::task<response> pass_browsers(const guard& by, request& req, rota::http::next proceed) {
    if (const auto refused = by.check_browser(req))
        return rota::ready_task(guard::answer(*refused, {}));
    return proceed(req);
}

/// Around the page when it has been coded. Each has a nonce of its own, and so a length, which an
/// answer to HEAD cannot tell for one to GET: neither does.
void leave_length_out(response& answer) {
    if (!answer.headers().find("Content-Encoding"))
        return;
    response streamed = response::stream(
        [text = answer.take_owned_body()](body_writer& to) { return to.write(text); });
    streamed.headers() = std::move(answer.headers());
    streamed.status(answer.status());
    answer = std::move(streamed);
}

} // namespace

void add_console(rota::http::router& to, std::shared_ptr<const guard> by, const codings& coded) {
    const auto shared = std::make_shared<const guarded_files>(std::move(by));
    // The page is at a path of its own, not in a router of its own, whose guard would surround it.
    // Without TRACE, which is no method of the server (RFC 9110 section 9.3.8): Allow would name
    // it.
    for (const method m :
         {method::post, method::put, method::patch, method::delete_, method::options})
        to.add(m, "/", [shared](const request& req) { return shared->other_method(req); });
    const auto without_length = [](request& req, rota::http::next proceed) {
        return rota::http::then(proceed(req), leave_length_out);
    };
    to.get("/", rota::http::behind(without_length, coded.answers([shared](const request& req) {
               return shared->page(req);
           })));
    rota::http::router files;
    files.get("/{file}", coded.answers([shared](const request& req) {
        return serve(find(shared->all, req.param("file")), req);
    }));
    files.use([by = shared->by](request& req, rota::http::next proceed) {
        return pass_browsers(*by, req, proceed);
    });
    to.mount("/console", std::move(files));
}

} // namespace rota_http
