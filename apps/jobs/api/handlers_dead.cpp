#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/yield.hpp>

#include "handlers.hpp"
#include "requests.hpp"
#include "words.hpp"
#include <rota/json/writer.hpp>

namespace jobs {
namespace {

/// Takes the next ids, as many as one step is about.
std::vector<std::uint64_t> take_slice(std::span<const std::uint64_t>& ids, std::size_t limit) {
    const std::span<const std::uint64_t> slice = ids.first(std::min(limit, ids.size()));
    ids = ids.subspan(slice.size());
    return {slice.begin(), slice.end()};
}

/// Until all have been looked at; `sum` tells how far it came if that fails. Between two slices
/// others have their turn, with a store in memory, too, which is not waited for.
task<void> settle_slices(service* s, std::string queue, dead_request what, dead_result* sum) {
    const std::optional<std::vector<std::uint64_t>> named = std::move(what.ids);
    std::span<const std::uint64_t> ids;
    if (named)
        ids = *named;
    do {
        dead_request slice = what;
        slice.ids.reset();
        if (named)
            slice.ids = take_slice(ids, what.limit);
        const dead_result result =
            co_await s->backing().settle_dead(queue, std::move(slice), s->now());
        sum->done += result.done;
        sum->duplicates += result.duplicates;
        sum->more = result.queue != 0 && (result.more || !ids.empty()); // 0: it is gone
        what.after = result.after;
        what.queue = result.queue;
        co_await rota::yield();
    } while (sum->more);
}

task<dead_result> settle_dead(service* s, request* req, dead_action action) {
    const std::string text = co_await read_json_text(s, req);
    dead_request what;
    what.action = action;
    if (!text.empty()) {
        const rota::json::document doc = parse(text);
        what = read_dead_request(doc.root(), action);
    }
    dead_result sum;
    try {
        co_await settle_slices(s, queue_name(*req), std::move(what), &sum);
    } catch (const store_error& e) {
        if (sum.done == 0)
            throw;
        throw problem(503, code_of(e.kind()),
                      std::string(e.what()) + "; before that it was done to " +
                          std::to_string(sum.done) + " jobs");
    }
    co_return sum;
}

} // namespace

task<response> list_dead(service* s, request* req) { return list_state(s, req, job_state::dead); }

task<response> retry_dead_job(service* s, request* req) {
    const std::uint64_t id = job_id(*req);
    const revive_result result = co_await s->backing().retry_dead(queue_name(*req), id, s->now());
    if (result.outcome == revive_outcome::unknown)
        throw problem(404, "unknown_job", "the queue has no such dead job");
    if (result.outcome == revive_outcome::duplicate)
        throw refusal({add_outcome::duplicate, result.id, result.state});
    co_return json_response("{\"id\":\"" + id_text(id) + "\",\"state\":\"queued\"}");
}

task<response> retry_dead_jobs(service* s, request* req) {
    const dead_result sum = co_await settle_dead(s, req, dead_action::revive);
    std::string body;
    rota::json::writer w(body);
    w.begin_object().member("retried", sum.done).member("duplicates", sum.duplicates).end_object();
    co_return json_response(std::move(body));
}

task<response> delete_dead_jobs(service* s, request* req) {
    const dead_result sum = co_await settle_dead(s, req, dead_action::remove);
    co_return json_response("{\"deleted\":" + std::to_string(sum.done) + '}');
}

} // namespace jobs
