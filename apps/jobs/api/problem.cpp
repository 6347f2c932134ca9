#include "problem.hpp"

#include <rota/http/problem.hpp>

namespace jobs {

rota::http::response to_response(const problem& p) {
    rota::http::problem told(p.status);
    told.member("code", p.code).member("detail", p.detail); // in this order, even if it is empty
    for (const auto& [name, text] : p.members)
        told.member(name, text);
    rota::http::response answer = told.answer();
    if (p.coded)
        answer.header("Accept-Encoding", "identity");
    if (p.status == 429 || p.status == 503)
        answer.header("Retry-After", "1");
    return answer;
}

} // namespace jobs
