#include "problem.hpp"

#include <utility>

#include <rota/http/status.hpp>

#include "json/writer.hpp"

namespace jobs {

rota::http::response to_response(const problem& p) {
    std::string body;
    json::writer out(body);
    out.begin_object();
    out.member("title", rota::http::reason_phrase(p.status)).member("status", p.status);
    out.member("code", p.code).member("detail", p.detail);
    if (!p.members.empty())
        body.append(",").append(p.members);
    out.end_object();
    body += '\n';
    rota::http::response answer =
        rota::http::response::with_body(std::move(body), "application/problem+json");
    answer.status(p.status);
    if (p.status == 429 || p.status == 503)
        answer.header("Retry-After", "1");
    return answer;
}

} // namespace jobs
