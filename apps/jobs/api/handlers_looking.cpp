#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/http/event_stream.hpp>
#include <rota/sleep.hpp>
#include <rota/yield.hpp>

#include "handlers.hpp"
#include "listing.hpp"
#include "requests.hpp"
#include "words.hpp"
#include <rota/json/writer.hpp>

namespace jobs {
namespace {

using rota::http::event_stream;
using rota::http::event_stream_options;
using rota::http::server_event;

constexpr std::chrono::milliseconds wait_max = std::chrono::hours(1); // then it looks again
constexpr std::size_t events_at_once = 100;

/// Tells a client that it has to look at all of the queue again.
server_event missed() {
    server_event made(R"({"reason":"events have been missed"})");
    made.type("reset");
    return made;
}

task<response> show_when_set(service* s, task<std::optional<queue_info>> setting) {
    const std::optional<queue_info> info = co_await std::move(setting);
    if (!info)
        throw refusal({add_outcome::too_many_queues});
    co_return json_response(describe_queue(info->name, info, s->now()));
}

task<response> set_paused(service* s, request* req, bool paused) {
    return show_when_set(s, s->backing().pause(queue_name(*req), paused, s->now()));
}

/// Until the server drains.
task<void> send_events(service* s, watched_ptr queue, std::uint64_t seen, std::string first,
                       event_stream* to) {
    std::string text = std::move(first);
    while (!s->drain_token().stop_requested()) {
        const std::uint64_t last = queue->log.last();
        const std::vector<event> events = queue->log.after(seen, events_at_once);
        if (events.empty() && last > seen) { // none of them is kept
            missed().append_to(text);
            seen = last;
        }
        for (const event& each : events) {
            if (each.number > seen + 1)
                missed().append_to(text);
            text += describe_event(each, s->epoch());
            seen = each.number;
        }
        if (!text.empty())
            co_await to->send_text(text);
        text.clear();
        (void)co_await s->wait_for_event(queue, seen, wait_max);
    }
}

} // namespace

task<response> show_queues(service* s, request* req) {
    queues_request what = read_queues_request(query(*req, "limit"), query(*req, "cursor"));
    const queue_list page = co_await s->backing().queues(std::move(what), s->now());
    co_return json_response(describe_queues(page, s->now()));
}

task<response> show_queue(service* s, request* req) {
    const std::string name = queue_name(*req);
    const std::optional<queue_info> info = co_await s->backing().describe(name, s->now());
    co_return json_response(describe_queue(name, info, s->now()));
}

task<response> configure_queue(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    const rota::json::document doc = parse(text);
    const queue_settings to = read_settings(doc.root(), s->options());
    task<std::optional<queue_info>> setting =
        s->backing().configure(queue_name(*req), to, s->now());
    co_return co_await show_when_set(s, std::move(setting));
}

task<response> pause_queue(service* s, request* req) { return set_paused(s, req, true); }
task<response> resume_queue(service* s, request* req) { return set_paused(s, req, false); }

task<response> purge_queue(service* s, request* req) {
    const std::uint64_t purged = co_await s->backing().purge(queue_name(*req), s->now());
    co_return json_response("{\"purged\":" + std::to_string(purged) + '}');
}

task<response> remove_queue(service* s, request* req) {
    const std::string name = queue_name(*req);
    const std::string forced = query(*req, "force").value_or("false");
    if (forced != "true" && forced != "false")
        throw problem(400, "invalid_request", "force has to be true or false");
    constexpr std::chrono::milliseconds longest_pause{500};
    std::chrono::milliseconds pause{10};
    std::uint64_t number = 0;
    for (bool more = true; more;) {
        const removed_queue result =
            co_await s->backing().remove_queue(name, forced == "true", s->now(), number);
        if (result.outcome == removal::unknown)
            throw problem(404, "unknown_queue", "there is no queue of this name");
        if (result.outcome == removal::in_progress) {
            throw problem(409, "jobs_in_progress",
                          "jobs of this queue are in progress: ?force=true removes them, too");
        }
        more = result.more;
        number = result.queue;
        if (more && result.jobs == 0) { // others have what is left in hand
            co_await rota::sleep_for(pause);
            pause = std::min(2 * pause, longest_pause);
        } else {
            co_await rota::yield(); // a store in memory is not waited for
        }
    }
    co_return response(204);
}

task<response> list_jobs(service* s, request* req) {
    if (std::optional<std::string> key = req->query("key")) { // one may be empty
        if (query(*req, "state") || query(*req, "cursor"))
            throw problem(400, "invalid_request", "key goes with neither state nor cursor");
        const std::size_t limit = read_limit(query(*req, "limit"));
        const job_list jobs =
            co_await s->backing().find_key(queue_name(*req), std::move(*key), limit, s->now());
        co_return json_response(describe_jobs(jobs));
    }
    const std::string word = query(*req, "state").value_or("queued");
    const std::optional<job_state> state = read_state(word);
    if (!state) {
        throw problem(400, "invalid_request",
                      "state has to be queued, delayed, in_progress or dead");
    }
    co_return co_await list_state(s, req, *state);
}

task<response> show_job(service* s, request* req) {
    const std::optional<job_info> job =
        co_await s->backing().find(queue_name(*req), job_id(*req), s->now());
    if (!job)
        throw no_such_job();
    co_return json_response(describe_job(*job));
}

task<response> delete_job(service* s, request* req) {
    const bool removed = co_await s->backing().remove(queue_name(*req), job_id(*req), s->now());
    if (!removed)
        throw no_such_job();
    co_return response(204);
}

task<response> show_events(service* s, request* req) {
    watched_ptr queue = open_queue(*s, queue_name(*req));
    std::uint64_t seen = queue->log.last();
    std::string first;
    const std::string_view last_id = req->header("Last-Event-ID").value_or("");
    if (!last_id.empty()) { // else there is none (WHATWG HTML, 9.2.4)
        const auto number = read_event_id(last_id, s->epoch());
        if (number && *number <= seen) {
            seen = *number;
        } else { // of another run: all that there are follow, behind one word that some are missing
            missed().append_to(first);
            seen = queue->log.last_gone();
        }
    }
    auto source = [s, queue = std::move(queue), seen,
                   first = std::move(first)](event_stream& to) mutable {
        return send_events(s, std::move(queue), seen, std::move(first), &to);
    };
    event_stream_options options;
    options.retry = std::chrono::seconds(1);
    co_return event_stream::answer(*req, std::move(source), std::move(options));
}

} // namespace jobs
