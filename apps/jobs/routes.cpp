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
#include "jobs/api/words.hpp"
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
        co_return co_await proceed(req);
    } catch (const problem& p) {
        refused = to_response(p);
    } catch (const store_error& e) {
        refused = to_response({503, code_of(e.kind()), e.what()});
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
    using check = void (*)(const request&);
    service* const s = &served;
    // What is wrong is told in this order: what the path names, then the query, then the rest.
    const auto behind = [s](check path) {
        return [s, path](handler h, std::vector<std::string_view> known = {}) {
            return [s, path, h, known = std::move(known)](request& req) {
                path(req);
                check_query(req, known);
                check_fields(req);
                return h(s, &req);
            };
        };
    };
    const auto by = behind([](const request&) {});
    const auto of_queue = behind(check_queue);
    const auto of_job = behind(check_job);
    rota::http::router result;
    result.use(with_problems)
        .error(describe_failure)
        .get("/openapi.json", by(describe_api))
        .get("/queues", by(show_queues, {"limit", "cursor"}))
        .get("/queues/{queue}", of_queue(show_queue))
        .put("/queues/{queue}", of_queue(configure_queue))
        .delete_("/queues/{queue}", of_queue(remove_queue, {"force"}))
        .post("/queues/{queue}/jobs", of_queue(add_jobs))
        .get("/queues/{queue}/jobs", of_queue(list_jobs, {"state", "limit", "cursor", "key"}))
        .get("/queues/{queue}/jobs/{id}", of_job(show_job))
        .delete_("/queues/{queue}/jobs/{id}", of_job(delete_job))
        .post("/queues/{queue}/take", of_queue(take_jobs))
        .post("/queues/{queue}/ack", of_queue(acknowledge_jobs))
        .post("/queues/{queue}/extend", of_queue(extend_leases))
        .post("/queues/{queue}/pause", of_queue(pause_queue))
        .post("/queues/{queue}/resume", of_queue(resume_queue))
        .post("/queues/{queue}/purge", of_queue(purge_queue))
        .get("/queues/{queue}/dead", of_queue(list_dead, {"limit", "cursor"}))
        .post("/queues/{queue}/dead/retry", of_queue(retry_dead_jobs))
        .post("/queues/{queue}/dead/delete", of_queue(delete_dead_jobs))
        .post("/queues/{queue}/dead/{id}/retry", of_job(retry_dead_job))
        .get("/queues/{queue}/events", of_queue(show_events));
    return result;
}

} // namespace jobs
