#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/errors.hpp>
#include <rota/task_group.hpp>

#include "handlers.hpp"
#include "listing.hpp"
#include "requests.hpp"
#include "words.hpp"
#include "json/writer.hpp"

namespace jobs {
namespace {

using rota::http::body_writer;

/// Between two signs of life to who watches.
constexpr std::chrono::seconds sign_of_life{15};
constexpr std::size_t events_at_once = 100;

problem no_such_job() { return {404, "unknown_job", "the queue has no such job"}; }

std::uint64_t job_id(const request& req) {
    const std::optional<std::uint64_t> id = read_id(req.param("id"));
    if (!id)
        throw no_such_job();
    return *id;
}

/// A parameter that is empty says nothing: a first page is often asked for with an empty cursor.
std::optional<std::string> query(const request& req, std::string_view name) {
    std::optional<std::string> value = req.query(name);
    if (value && value->empty())
        value.reset();
    return value;
}

task<response> show_queue_named(service* s, std::string name) {
    task<std::optional<queue_info>> asking = s->backing().describe(name, s->now());
    const std::optional<queue_info> info = co_await std::move(asking);
    co_return json_response(describe_queue(name, info, s->now()));
}

task<response> show_when_set(service* s, std::string name, task<bool> setting) {
    const bool done = co_await std::move(setting);
    if (!done)
        throw refusal({add_outcome::too_many_queues});
    task<response> showing = show_queue_named(s, std::move(name));
    response answer = co_await std::move(showing);
    co_return std::move(answer);
}

task<response> set_paused(service* s, request* req, bool paused) {
    std::string name = queue_name(*req);
    task<bool> setting = s->backing().pause(name, paused, s->now());
    return show_when_set(s, std::move(name), std::move(setting));
}

task<response> list_state(service* s, request* req, job_state state) {
    list_request what;
    what.state = state;
    what.after = read_cursor(query(*req, "cursor"));
    what.limit = read_limit(query(*req, "limit"));
    task<job_list> listing = s->backing().list(queue_name(*req), what, s->now());
    const job_list jobs = co_await std::move(listing);
    co_return json_response(describe_jobs(jobs));
}

/// Until the server drains.
task<void> send_each(service* s, watched_ptr queue, std::uint64_t seen, std::string first,
                     body_writer* to) {
    std::string text = std::move(first);
    for (;;) {
        const std::vector<event> events = queue->log.after(seen, events_at_once);
        for (const event& each : events) {
            if (each.number > seen + 1)
                text += "event: reset\ndata: {\"reason\":\"events have been missed\"}\n\n";
            text += describe_event(each, s->epoch());
            seen = each.number;
        }
        co_await to->write(text);
        co_await to->flush();
        text.clear();
        task<bool> waiting = s->wait_for_event(queue, seen, sign_of_life);
        const bool there = co_await std::move(waiting);
        if (s->drain_token().stop_requested())
            break;
        if (!there)
            text = ": still here\n\n";
    }
}

task<void> stop_when_gone(request* req, rota::task_group* what) {
    co_await req->disconnected();
    what->request_stop();
}

/// Until the client goes or the server drains. A receive stays armed, so that a client that goes
/// while nothing happens is noticed.
task<void> send_events(service* s, request* req, watched_ptr queue, std::uint64_t seen,
                       std::string first, body_writer* to) {
    const std::stop_token stopped = co_await rota::current_stop_token;
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): the task keeps it
    auto body = [=, queue = std::move(queue),
                 first = std::move(first)](rota::task_group& both) mutable -> task<void> {
        both.spawn(stop_when_gone(req, &both), "events: is the client there");
        co_await send_each(s, std::move(queue), seen, std::move(first), to);
        both.request_stop();
    };
    try {
        task<void> sending = rota::with_task_group(std::move(body));
        co_await std::move(sending);
    } catch (const rota::operation_cancelled&) {
        if (stopped.stop_requested())
            throw;
    }
}

} // namespace

task<response> show_queues(service* s, request* req) {
    (void)req;
    task<std::vector<queue_info>> asking = s->backing().queues(s->now());
    const std::vector<queue_info> all = co_await std::move(asking);
    co_return json_response(describe_queues(all, s->now()));
}

task<response> show_queue(service* s, request* req) {
    return show_queue_named(s, queue_name(*req));
}

task<response> configure_queue(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    const json::document doc = parse(text);
    const queue_settings to = read_settings(doc.root(), s->options());
    std::string name = queue_name(*req);
    task<bool> setting = s->backing().configure(name, to, s->now());
    task<response> showing = show_when_set(s, std::move(name), std::move(setting));
    response answer = co_await std::move(showing);
    co_return std::move(answer);
}

task<response> pause_queue(service* s, request* req) { return set_paused(s, req, true); }
task<response> resume_queue(service* s, request* req) { return set_paused(s, req, false); }

task<response> purge_queue(service* s, request* req) {
    task<std::uint64_t> purging = s->backing().purge(queue_name(*req), s->now());
    const std::uint64_t purged = co_await std::move(purging);
    co_return json_response("{\"purged\":" + std::to_string(purged) + '}');
}

task<response> list_jobs(service* s, request* req) {
    const std::string word = query(*req, "state").value_or("queued");
    const std::optional<job_state> state = read_state(word);
    if (!state) {
        throw problem(400, "invalid_request",
                      "state has to be queued, delayed, in_progress or dead");
    }
    return list_state(s, req, *state);
}

task<response> list_dead(service* s, request* req) { return list_state(s, req, job_state::dead); }

task<response> show_job(service* s, request* req) {
    task<std::optional<job_info>> finding =
        s->backing().find(queue_name(*req), job_id(*req), s->now());
    const std::optional<job_info> job = co_await std::move(finding);
    if (!job)
        throw no_such_job();
    co_return json_response(describe_job(*job));
}

task<response> delete_job(service* s, request* req) {
    task<bool> removing = s->backing().remove(queue_name(*req), job_id(*req), s->now());
    const bool removed = co_await std::move(removing);
    if (!removed)
        throw no_such_job();
    co_return response(204);
}

task<response> retry_dead_job(service* s, request* req) {
    const std::uint64_t id = job_id(*req);
    task<revived> reviving = s->backing().retry_dead(queue_name(*req), id, s->now());
    const revived result = co_await std::move(reviving);
    if (result.outcome == revive_outcome::unknown)
        throw problem(404, "unknown_job", "the queue has no such dead job");
    if (result.outcome == revive_outcome::duplicate)
        throw refusal({add_outcome::duplicate, result.id, result.state});
    co_return json_response("{\"id\":\"" + id_text(id) + "\",\"state\":\"queued\"}");
}

task<response> show_events(service* s, request* req) {
    watched_ptr queue = open_queue(*s, queue_name(*req));
    std::uint64_t seen = queue->log.last();
    std::string first = "retry: 1000\n\n";
    if (const auto last_id = req->header("Last-Event-ID")) {
        const auto number = read_event_id(*last_id, s->epoch());
        if (!number || *number > seen)
            first += "event: reset\ndata: {\"reason\":\"events have been missed\"}\n\n";
        seen = number.value_or(0) > seen ? seen : number.value_or(0);
    }
    auto producer = [s, req, queue = std::move(queue), seen,
                     first = std::move(first)](body_writer& to) mutable -> task<void> {
        return send_events(s, req, std::move(queue), seen, std::move(first), &to);
    };
    response answer = response::stream(std::move(producer), "text/event-stream");
    answer.header("Cache-Control", "no-store");
    co_return std::move(answer);
}

} // namespace jobs
