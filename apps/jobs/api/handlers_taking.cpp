#include <new>
#include <string>
#include <utility>
#include <vector>

#include "handlers.hpp"
#include "listing.hpp"
#include "requests.hpp"
#include "words.hpp"
#include <rota/json/writer.hpp>

namespace jobs {
namespace {

using rota::http::body_writer;

/// Sends the jobs; if that fails they go back. Once all of it is on its way they may not, or the
/// next consumer would have them beside this one: for want of memory to wait with, the lease's end
/// has to show that they did not arrive.
task<void> send_delivery(delivery jobs, std::string body, body_writer* to) {
    co_await to->write_owned(std::move(body));
    try {
        co_await to->flush();
    } catch (const std::bad_alloc&) {
    }
    jobs.delivered();
}

void write_lost(rota::json::writer& w, const std::vector<std::string>& lost) {
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
        const rota::json::document doc = parse(text);
        order = read_take_order(doc.root(), s->options());
    }
    watched_ptr queue = open_queue(*s, queue_name(*req));
    std::vector<taken_job> jobs;
    const bool waits = order.wait.count() > 0;
    if (!waits || queue->line.empty()) { // a short way where nobody waits
        jobs = co_await s->take_now(queue, order.wanted);
    }
    if (jobs.empty() && waits) {
        jobs = co_await s->wait_for_jobs(queue, order.wanted, order.wait, req->disconnected());
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
    const rota::json::document doc = parse(text);
    acknowledgement given = read_acknowledgement(doc.root(), s->options());
    const settle_result result = co_await s->backing().settle(
        queue_name(*req), std::move(given.acks), std::move(given.retries), s->now());
    std::string body;
    rota::json::writer w(body);
    w.begin_object().member("acked", result.acked).member("retried", result.retried);
    write_lost(w, result.lost);
    w.end_object();
    co_return json_response(std::move(body));
}

task<response> extend_leases(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    const rota::json::document doc = parse(text);
    extension given = read_extension(doc.root(), s->options());
    const extend_result result = co_await s->backing().extend(
        queue_name(*req), std::move(given.leases), given.lease_ms, s->now());
    std::string body;
    rota::json::writer w(body);
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
