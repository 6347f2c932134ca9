#include "codings.hpp"

#include <string>
#include <utility>

#include <rota/http/behind.hpp>
#include <rota/http/coding.hpp>
#include <rota/http/decoding.hpp>

#include "jobs/api/encoded.hpp"

namespace rota_http {
namespace {

using rota::http::handler;
using rota::http::method;
using rota::http::middleware;
using rota::http::next;
using rota::http::request;
using rota::http::response;

middleware shared_by(std::shared_ptr<const middleware> by) {
    return [by = std::move(by)](request& req, next proceed) { return (*by)(req, proceed); };
}

response unsupported() {
    response answer = response::text(std::string(jobs::encoded_refusal) + '\n');
    answer.status(415).header("Accept-Encoding", "identity");
    return answer;
}

rota::task<response> refuse_encoded(request& req, next proceed) {
    return jobs::is_encoded(req) ? rota::ready_task(unsupported()) : proceed(req);
}

} // namespace

codings::codings(const settings& from) {
    if (from.no_compress) {
        requests_ = std::make_shared<const middleware>(refuse_encoded);
        return;
    }
    answers_ = std::make_shared<const middleware>(rota::http::coding());
    rota::http::decoding_options limits;
    limits.bytes_max = from.max_body;
    requests_ = std::make_shared<const middleware>(rota::http::decoding(limits));
}

middleware codings::of_answers(rota::http::error_page page) const {
    if (!answers_)
        return [](request& req, next proceed) { return proceed(req); };
    return [by = rota::http::coding({}, std::move(page))](request& req, next proceed) {
        const bool reads = req.method() == method::get || req.method() == method::head;
        return reads ? by(req, proceed) : proceed(req);
    };
}

handler codings::answers(handler of) const {
    return answers_ ? rota::http::behind(shared_by(answers_), std::move(of)) : std::move(of);
}

handler codings::requests(handler of) const {
    return rota::http::behind(shared_by(requests_), std::move(of));
}

} // namespace rota_http
