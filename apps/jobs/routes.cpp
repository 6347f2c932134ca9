#include "routes.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rota/http/error.hpp>
#include <rota/routine.hpp>

#include "bulk.hpp"
#include "listing.hpp"
#include "problem.hpp"
#include "requests.hpp"
#include "words.hpp"
#include "json/writer.hpp"

namespace jobs {
namespace {

using rota::task;
using rota::http::body_writer;
using rota::http::request;
using rota::http::response;

constexpr std::string_view json_type = "application/json";
constexpr std::string_view ndjson_type = "application/x-ndjson";
/// Outcomes are gathered up to here, if the input has come in one piece.
constexpr std::size_t outcomes_bytes = 16'384;

/// The media type of the content, without parameters, in lower case; empty if it is not said.
std::string media_type(const request& req) {
    std::string_view type = req.header("Content-Type").value_or("");
    type = type.substr(0, type.find(';'));
    while (type.ends_with(' ') || type.ends_with('\t'))
        type.remove_suffix(1);
    std::string lower(type);
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return lower;
}

bool is_ndjson(std::string_view type) noexcept {
    return type == ndjson_type || type == "application/ndjson" || type == "application/jsonl" ||
           type == "application/x-jsonlines";
}

/// The content of a request whose content is one JSON value, whatever type it is said to have:
/// curl and others name a form's unless they are told.
task<std::string> read_json_text(const service* s, request* req) {
    if (is_ndjson(media_type(*req)))
        throw problem(415, "unsupported_media_type", "the content has to be one JSON value");
    std::string text = co_await req->text(s->options().request_bytes_max);
    co_return std::move(text);
}

std::shared_ptr<job_queue> open_queue(service& s, const request& req) {
    const std::string_view name = req.param("queue");
    check_queue_name(name);
    std::shared_ptr<job_queue> queue = s.open(name);
    if (!queue)
        throw problem(429, "too_many_queues", "there are too many queues that hold jobs");
    return queue;
}

response json_response(std::string body) {
    body += '\n';
    return response::with_body(std::move(body), json_type);
}

// --- Adding ---

problem not_added(const job_queue::add_result& result) {
    if (result.outcome != rota::add_outcome::duplicate) {
        return {429, reason_of(result.outcome), "the queue takes no more jobs for now"};
    }
    problem duplicate(409, "duplicate", "a job with this key is there already");
    json::writer w(duplicate.members);
    w.member("existing_id", id_text(result.status.id));
    w.member("state", state_of(result.status));
    return duplicate;
}

task<response> add_one(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    const json::document doc = parse(text);
    new_job job = read_new_job(doc.root(), s->options());
    const std::shared_ptr<job_queue> queue = open_queue(*s, *req);
    std::string key = job.key;
    const auto added = queue->insert(std::move(job.key), std::move(job.payload));
    if (added.outcome != rota::add_outcome::added)
        throw not_added(added);
    std::string body;
    json::writer w(body);
    w.begin_object().member("id", id_text(added.status.id)).member("key", key);
    w.member("state", "queued").end_object();
    co_return json_response(std::move(body)).status(201);
}

/// Reads on only when the outcomes so far have been taken: a client that does not read is not read.
task<void> add_many_from(service* s, std::shared_ptr<job_queue> queue,
                         rota::http::body_reader* body, std::string first, body_writer* to) {
    bulk_add adding(*queue, s->options());
    std::string outcomes;
    std::string_view piece = first;
    while (!piece.empty()) {
        // In slices, so that what one piece brings about stays in bounds.
        while (!piece.empty()) {
            const std::string_view slice = piece.substr(0, outcomes_bytes);
            piece.remove_prefix(slice.size());
            adding.feed(slice, outcomes);
            co_await to->write(outcomes);
            outcomes.clear();
        }
        piece = co_await body->read();
    }
    adding.finish(outcomes);
    co_await to->write(outcomes);
}

task<response> add_many(service* s, request* req) {
    std::shared_ptr<job_queue> queue = open_queue(*s, *req);
    rota::http::body_reader* const body = &req->body();
    // The first piece is awaited before the answer begins: content that is bad from its start still
    // gets an error answer, and a client that expects 100-continue its go-ahead.
    const std::string_view piece = co_await body->read();
    std::string first(piece);
    auto producer = [s, queue = std::move(queue), body,
                     first = std::move(first)](body_writer& to) mutable -> task<void> {
        return add_many_from(s, std::move(queue), body, std::move(first), &to);
    };
    co_return response::stream(std::move(producer), ndjson_type);
}

task<response> add(service* s, request* req) {
    if (is_ndjson(media_type(*req)))
        return add_many(s, req);
    return add_one(s, req);
}

// --- Taking ---

std::string delivered_body(const job_queue::lease& jobs, const std::vector<std::string>& ids,
                           const service_options& options) {
    std::string body;
    json::writer w(body);
    w.begin_object().key("jobs").begin_array();
    std::size_t i = 0;
    for (const job_queue::job& job : jobs) {
        w.begin_object().member("id", id_text(job.id())).member("key", job.key());
        w.key("payload").raw(job.payload()).member("attempt", job.attempt());
        w.member("lease_id", ids[i++]).member("lease_ms", options.lease.count()).end_object();
    }
    w.end_array().end_object();
    body += '\n';
    return body;
}

/// Sends the jobs; if that fails they go back.
task<void> send_delivery(delivery jobs, std::string body, body_writer* to) {
    co_await to->write_owned(std::move(body));
    co_await to->flush();
    jobs.delivered();
}

task<response> take(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    take_order order;
    if (!text.empty()) {
        const json::document doc = parse(text);
        order = read_take_order(doc.root(), s->options());
    }
    std::shared_ptr<job_queue> queue = open_queue(*s, *req);
    job_queue::lease jobs = queue->try_take_up_to(order.max);
    if (jobs.empty() && order.wait.count() > 0) {
        task<job_queue::lease> waiting =
            s->wait_for_jobs(queue, order.max, order.wait, req->disconnected());
        jobs = co_await std::move(waiting);
    }
    if (jobs.empty())
        co_return json_response(R"({"jobs":[]})");

    std::vector<std::string> ids = service::new_lease_ids(jobs.size());
    std::string body = delivered_body(jobs, ids, s->options());
    rota::routine& self = co_await rota::current_routine;
    delivery sent =
        s->hand_out(std::move(queue), std::move(jobs), std::move(ids), self.home().now());
    const std::size_t length = body.size();
    auto producer = [sent = std::move(sent),
                     body = std::move(body)](body_writer& to) mutable -> task<void> {
        return send_delivery(std::move(sent), std::move(body), &to);
    };
    co_return response::stream(length, std::move(producer), json_type);
}

task<response> acknowledge(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    const json::document doc = parse(text);
    const acknowledgement given = read_acknowledgement(doc.root());
    const std::shared_ptr<job_queue> queue = open_queue(*s, *req);
    const acknowledged result = s->acknowledge(*queue, given.acks, given.retries);
    std::string body;
    json::writer w(body);
    w.begin_object().member("acked", result.acked).member("retried", result.retried);
    w.key("lost").begin_array();
    for (const std::string& id : result.lost)
        w.value(id);
    w.end_array().end_object();
    co_return json_response(std::move(body));
}

// --- Looking ---

response show_queue(const service& s, const request& req) {
    const std::string_view name = req.param("queue");
    check_queue_name(name);
    const std::shared_ptr<job_queue> queue = s.find(name);
    return json_response(describe_queue(name, queue.get(), read_limit(req.query("limit"))));
}

response show_queues(const service& s) { return json_response(describe_queues(s.queues())); }

/// Around everything: what is refused is told as a problem.
task<response> with_problems(request& req, rota::http::next proceed) {
    std::optional<problem> refused;
    try {
        task<response> answering = proceed(req);
        response answer = co_await std::move(answering);
        co_return std::move(answer);
    } catch (const problem& p) {
        refused = p;
    } catch (const rota::http::http_error& e) {
        refused.emplace(e.status(), e.status() == 413 ? "content_too_large" : "bad_content",
                        e.what());
    }
    co_return to_response(*refused);
}

} // namespace

rota::http::router routes(service& served) {
    service* const s = &served;
    rota::http::router result;
    result.use(with_problems)
        .get("", [s](const request&) { return show_queues(*s); })
        .get("/{queue}", [s](const request& req) { return show_queue(*s, req); })
        .post("/{queue}/jobs", [s](request& req) { return add(s, &req); })
        .post("/{queue}/take", [s](request& req) { return take(s, &req); })
        .post("/{queue}/ack", [s](request& req) { return acknowledge(s, &req); });
    return result;
}

} // namespace jobs
