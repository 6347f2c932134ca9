#include <string>
#include <utility>
#include <vector>

#include "handlers.hpp"
#include "listing.hpp"
#include "requests.hpp"
#include "words.hpp"
#include "json/writer.hpp"

namespace jobs {
namespace {

using rota::http::body_writer;

/// Sends the jobs; if that fails they go back.
task<void> send_delivery(delivery jobs, std::string body, body_writer* to) {
    co_await to->write_owned(std::move(body));
    co_await to->flush();
    jobs.delivered();
}

void write_lost(json::writer& w, const std::vector<std::string>& lost) {
    w.key("lost").begin_array();
    for (const std::string& id : lost)
        w.value(id);
    w.end_array();
}

} // namespace

task<response> take_jobs(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    take_order order;
    if (!text.empty()) {
        const json::document doc = parse(text);
        order = read_take_order(doc.root(), s->options());
    }
    watched_ptr queue = open_queue(*s, queue_name(*req));
    std::vector<taken_job> jobs;
    const bool waits = order.wait.count() > 0;
    if (!waits || queue->line.empty()) { // a short way where nobody waits
        task<std::vector<taken_job>> taking = s->take_now(queue, order.wanted);
        jobs = co_await std::move(taking);
    }
    if (jobs.empty() && waits) {
        task<std::vector<taken_job>> waiting =
            s->wait_for_jobs(queue, order.wanted, order.wait, req->disconnected());
        jobs = co_await std::move(waiting);
    }
    if (jobs.empty())
        co_return json_response(R"({"jobs":[]})");

    std::vector<std::string> leases;
    leases.reserve(jobs.size());
    for (const taken_job& job : jobs)
        leases.push_back(job.lease_id);
    delivery sent(*s, std::move(queue), std::move(leases));
    std::string body = describe_taken(jobs) + '\n';
    const std::size_t length = body.size();
    auto producer = [sent = std::move(sent),
                     body = std::move(body)](body_writer& to) mutable -> task<void> {
        return send_delivery(std::move(sent), std::move(body), &to);
    };
    co_return response::stream(length, std::move(producer), "application/json");
}

task<response> acknowledge_jobs(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    const json::document doc = parse(text);
    acknowledgement given = read_acknowledgement(doc.root(), s->options());
    task<acknowledged> settling = s->backing().settle(queue_name(*req), std::move(given.acks),
                                                      std::move(given.retries), s->now());
    const acknowledged result = co_await std::move(settling);
    std::string body;
    json::writer w(body);
    w.begin_object().member("acked", result.acked).member("retried", result.retried);
    write_lost(w, result.lost);
    w.end_object();
    co_return json_response(std::move(body));
}

task<response> extend_leases(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    const json::document doc = parse(text);
    extension given = read_extension(doc.root(), s->options());
    task<extended> extending =
        s->backing().extend(queue_name(*req), std::move(given.leases), given.lease_ms, s->now());
    const extended result = co_await std::move(extending);
    std::string body;
    json::writer w(body);
    w.begin_object().key("extended").begin_array();
    for (const lease_end& each : result.leases) {
        w.begin_object().member("lease_id", each.lease_id);
        w.member("lease_expires_at", time_text(each.expires_at)).end_object();
    }
    w.end_array();
    write_lost(w, result.lost);
    w.end_object();
    co_return json_response(std::move(body));
}

} // namespace jobs
