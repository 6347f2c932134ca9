// The job queues over HTTP: producers, consumers that finish, retry, forget, and go away.

#include <rota/http/server.hpp>

#include "http_peer.hpp"
#include "job_book.hpp"
#include "jobs/routes.hpp"
#include "jobs/rules/memory_store.hpp"
#include "jobs/service.hpp"
#include "scenario.hpp"

namespace sim {
namespace {

using std::chrono::milliseconds;

/// A step of it may lack memory anywhere.
class scarce_store final : public jobs::memory_store {
public:
    using memory_store::memory_store;

private:
    bool submit(jobs::store_step& what, std::exception_ptr& error) override {
        const memory::scarce here;
        return memory_store::submit(what, error);
    }
};

struct market {
    const scenario* s;
    milliseconds lease;
    job_book book;
    std::size_t active = 0; // clients that are neither the sweeper nor ended
    bool in_vain = false;   // most attempts fail
};

/// A client with a connection, on which one request follows the other.
class customer {
public:
    explicit customer(const market& m) : market_(m), peer_(port) {
        if (peer_.refused())
            here().require(m.s->ending(), "the server refuses clients");
    }
    [[nodiscard]] bool refused() const { return peer_.refused(); }
    [[nodiscard]] peer& connection() { return peer_; }

    static std::string text(std::string_view what, std::string_view content) {
        return request_text("POST", fmt::format("/v1/queues/q/{}", what), content);
    }
    /// The answer; nothing if the server ends.
    std::optional<answer> ask(std::string_view what, std::string_view content) {
        peer_.send_slowly(text(what, content), nanoseconds(0));
        auto a = next_answer(peer_, reader_, nanoseconds(0));
        here().require(a || market_.s->may_cut(), "an answer of the queue is missing");
        if (a && a->status >= 500) {
            here().require(memory::was_short(), fmt::format("the queue answers {}", a->status));
            a.reset(); // what was asked may have been done, or not
        }
        return a;
    }

private:
    const market& market_;
    peer peer_;
    answer_reader reader_;
};

void produce(market& m) {
    random& r = here().rng();
    customer c(m);
    if (c.refused())
        return;
    for (std::size_t count = r.between(1, 8); count != 0; --count) {
        const std::string key = m.book.new_key();
        const std::string content = fmt::format(R"({{"payload":{},"key":"{}"}})", count, key);
        m.book.sent(key);
        if (r.chance(50)) { // not waited for
            c.connection().send(customer::text("jobs", content));
            if (r.chance(500))
                c.connection().reset();
            return;
        }
        const auto a = c.ask("jobs", content);
        if (!a)
            return;
        here().require(a->status == 201, "a job is not taken in");
        m.book.added(a->body);
        if (r.chance(100)) {
            const auto again = c.ask("jobs", content);
            if (again && again->status == 201) { // the first has been done meanwhile
                m.book.added(again->body);
            } else if (again) {
                here().require(again->status == 409, "a job that is there is not refused");
            }
        }
        if (r.chance(500))
            here().sleep(nanoseconds(r.below(40'000'000)));
    }
}

/// Says what became of some of the jobs. False if the connection is over.
bool settle(market& m, customer& c, const std::vector<taken_job>& jobs) {
    random& r = here().rng();
    std::vector<taken_job> acks;
    std::string acked;
    std::string retried;
    for (const taken_job& j : jobs) {
        const std::size_t fate = m.in_vain && r.chance(800) ? 6 : r.below(10);
        const std::string id = fmt::format(R"({{"lease_id":"{}"}})", j.lease_id);
        if (fate < 6) {
            m.book.finishing(j);
            acks.push_back(j);
            acked += (acked.empty() ? "" : ",") + id;
        } else if (fate < 8) {
            m.book.released(j);
            retried += (retried.empty() ? "" : ",") + id;
        }
    }
    const auto a = c.ask("ack", fmt::format(R"({{"acks":[{}],"retries":[{}]}})", acked, retried));
    if (!a)
        return false;
    here().require(a->status == 200, "an acknowledgement is refused");
    for (const taken_job& j : acks) {
        if (a->body.find(j.lease_id) == std::string::npos) {
            m.book.finished(j);
        } else {
            m.book.lost_lease(j);
        }
    }
    return true;
}

std::optional<std::vector<taken_job>> take(customer& c, std::size_t max, std::size_t wait_ms) {
    const time_point asked = here().now();
    const auto a = c.ask("take", fmt::format(R"({{"max":{},"wait_ms":{}}})", max, wait_ms));
    if (!a)
        return std::nullopt;
    here().require(a->status == 200, "a take is refused");
    return read_jobs(a->body, asked);
}

void consume(market& m) {
    random& r = here().rng();
    customer c(m);
    if (c.refused())
        return;
    for (std::size_t count = r.between(1, 6); count != 0; --count) {
        const std::size_t wait_ms = r.chance(300) ? 0 : r.below(300);
        if (r.chance(150)) { // goes while the take waits
            c.connection().send(
                customer::text("take", fmt::format(R"({{"max":2,"wait_ms":{}}})", wait_ms)));
            here().sleep(nanoseconds(r.below(100'000'000)));
            if (r.chance(500))
                c.connection().reset();
            return;
        }
        const auto jobs = take(c, r.between(1, 4), wait_ms);
        if (!jobs)
            return;
        for (const taken_job& j : *jobs)
            m.book.delivered(j);
        // About as long as the lease lasts, now and then.
        const auto longest = std::chrono::duration_cast<nanoseconds>(m.lease + milliseconds(3));
        if (r.chance(400))
            here().sleep(r.chance(500) ? longest - nanoseconds(r.below(6'000'000))
                                       : nanoseconds(r.below(30'000'000)));
        if (r.chance(100))
            return; // and they come back
        if (!jobs->empty() && !settle(m, c, *jobs))
            return;
    }
}

/// When all others have gone: what was not finished is still there, once.
void sweep(market& m) {
    here().wait("the other clients", [&m] {
        return m.s->ending() || (m.active == 0 && simulation::here().net.quiet());
    });
    // The last of the others' connections may still be at work on what they sent, and what failed
    // again and again waits for 10 minutes at most.
    memory::end();
    here().sleep(m.lease + std::chrono::minutes(11));
    customer c(m);
    if (c.refused())
        return;
    const auto jobs = take(c, 1000, 0); // all that there are
    if (!jobs)
        return;
    for (const taken_job& j : *jobs)
        m.book.swept(j);
    if (!m.s->ending())
        m.book.check_swept();
}

rota::http::server_options draw_options(random& r) {
    rota::http::server_options o;
    o.listen = {rota::io::endpoint::parse(address)};
    o.max_connections = r.between(1, 8);
    o.limits.header_timeout = std::chrono::hours(9);
    o.limits.idle_timeout = std::chrono::hours(9);
    o.limits.send_timeout = std::chrono::hours(9);
    o.limits.body_rate_min_bytes_per_s = 0;
    o.hooks.on_error = scenario::note_error;
    return o;
}

} // namespace

void run_jobs() {
    random& r = here().rng();
    constexpr milliseconds leases[] = {milliseconds(15), milliseconds(150), milliseconds(10'000)};
    const milliseconds lease = r.one_of(leases);
    scarce_store store({.lease_ms = lease.count()});
    jobs::service service(store, {.wall_offset = [] { return nanoseconds(0); }});
    scenario s;
    market m{.s = &s, .lease = lease, .book = job_book(lease), .in_vain = r.chance(250)};
    const rota::http::server_options options = draw_options(r);
    rota::http::router routes;
    routes.mount("/v1", jobs::routes(service));
    rota::http::server server(s.context(), std::move(routes), options);
    for (std::size_t count = r.between(2, 7); count != 0; --count) {
        const bool produces = count == 1 || r.chance(400);
        ++m.active;
        s.client([&m, produces] {
            here().sleep(nanoseconds(here().rng().below(60'000'000)));
            produces ? produce(m) : consume(m);
            --m.active;
        });
    }
    s.client([&m] { sweep(m); });
    s.serve({.run = [&server] { return server.run(); },
             .drain =
                 [&service, &server] {
                     service.drain();
                     server.drain();
                 },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections,
             .beside = {[&service] { return service.end_leases(); }}});
}

} // namespace sim
