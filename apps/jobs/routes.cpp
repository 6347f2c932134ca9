#include "routes.hpp"

#include <optional>
#include <utility>

#include <rota/http/error.hpp>

#include "handlers.hpp"
#include "problem.hpp"

namespace jobs {
namespace {

/// Around everything: what is refused is told as a problem.
task<response> with_problems(request& req, rota::http::next proceed) {
    std::optional<problem> refused;
    try {
        task<response> answering = proceed(req);
        response answer = co_await std::move(answering);
        co_return std::move(answer);
    } catch (const problem& p) {
        refused = p;
    } catch (const store_error& e) {
        refused.emplace(503, "store_unavailable", e.what());
    } catch (const rota::http::http_error& e) {
        refused.emplace(e.status(), e.status() == 413 ? "content_too_large" : "bad_content",
                        e.what());
    }
    co_return to_response(*refused);
}

} // namespace

rota::http::router routes(service& served) {
    using handler = task<response> (*)(service*, request*);
    service* const s = &served;
    const auto by = [s](handler h) { return [s, h](request& req) { return h(s, &req); }; };
    rota::http::router result;
    result.use(with_problems)
        .get("", by(show_queues))
        .get("/{queue}", by(show_queue))
        .put("/{queue}", by(configure_queue))
        .post("/{queue}/jobs", by(add_jobs))
        .get("/{queue}/jobs", by(list_jobs))
        .get("/{queue}/jobs/{id}", by(show_job))
        .delete_("/{queue}/jobs/{id}", by(delete_job))
        .post("/{queue}/take", by(take_jobs))
        .post("/{queue}/ack", by(acknowledge_jobs))
        .post("/{queue}/extend", by(extend_leases))
        .post("/{queue}/pause", by(pause_queue))
        .post("/{queue}/resume", by(resume_queue))
        .post("/{queue}/purge", by(purge_queue))
        .get("/{queue}/dead", by(list_dead))
        .post("/{queue}/dead/{id}/retry", by(retry_dead_job))
        .get("/{queue}/events", by(show_events));
    return result;
}

} // namespace jobs
