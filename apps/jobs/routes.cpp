#include "routes.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/http/error.hpp>
#include <rota/http/status.hpp>

#include "jobs/api/handlers.hpp"
#include "jobs/api/problem.hpp"
#include "openapi_json.hpp"

namespace jobs {
namespace {

task<response> describe_api(service*, request*) {
    co_return response::with_body(std::string(openapi_json), "application/json");
}

std::string_view words_for(int status, std::string_view reason) {
    switch (status) {
    case 404:
        return "there is nothing at this path";
    case 405:
        return "this path has other methods: see Allow";
    case 500:
        return "the server has failed to answer this";
    default:
        return reason;
    }
}

/// Around everything: what is refused here is told as a problem, too.
task<response> with_problems(request& req, rota::http::next proceed) {
    std::optional<response> refused;
    try {
        response answer = co_await proceed(req);
        co_return std::move(answer);
    } catch (const problem& p) {
        refused = to_response(p);
    } catch (const store_error& e) {
        refused = to_response({503, "store_unavailable", e.what()});
    } catch (const rota::http::http_error& e) {
        refused = describe_failure(e.status(), e.what());
    }
    co_return std::move(*refused);
}

} // namespace

response describe_failure(int status, std::string_view reason) {
    std::string code(rota::http::reason_phrase(status));
    for (char& c : code)
        c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c >= 'a' && c <= 'z' ? c : '_';
    return to_response({status, code, std::string(words_for(status, reason))});
}

rota::http::router routes(service& served) {
    using handler = task<response> (*)(service*, request*);
    service* const s = &served;
    const auto by = [s](handler h, std::vector<std::string_view> known = {}) {
        return [s, h, known = std::move(known)](request& req) {
            check_query(req, known);
            return h(s, &req);
        };
    };
    rota::http::router result;
    result.use(with_problems)
        .error(describe_failure)
        .get("/openapi.json", by(describe_api))
        .get("/queues", by(show_queues, {"limit", "cursor"}))
        .get("/queues/{queue}", by(show_queue))
        .put("/queues/{queue}", by(configure_queue))
        .delete_("/queues/{queue}", by(remove_queue, {"force"}))
        .post("/queues/{queue}/jobs", by(add_jobs))
        .get("/queues/{queue}/jobs", by(list_jobs, {"state", "limit", "cursor", "key"}))
        .get("/queues/{queue}/jobs/{id}", by(show_job))
        .delete_("/queues/{queue}/jobs/{id}", by(delete_job))
        .post("/queues/{queue}/take", by(take_jobs))
        .post("/queues/{queue}/ack", by(acknowledge_jobs))
        .post("/queues/{queue}/extend", by(extend_leases))
        .post("/queues/{queue}/pause", by(pause_queue))
        .post("/queues/{queue}/resume", by(resume_queue))
        .post("/queues/{queue}/purge", by(purge_queue))
        .get("/queues/{queue}/dead", by(list_dead, {"limit", "cursor"}))
        .post("/queues/{queue}/dead/retry", by(retry_dead_jobs))
        .post("/queues/{queue}/dead/delete", by(delete_dead_jobs))
        .post("/queues/{queue}/dead/{id}/retry", by(retry_dead_job))
        .get("/queues/{queue}/events", by(show_events));
    return result;
}

} // namespace jobs
