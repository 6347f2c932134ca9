// Clients of HTTP/1.1 that come back after a while, or do not: each is told from those that its
// handler has served before, and is let go when it has idled for as long as it may, no sooner.

#include <set>
#include <string>

#include "http_peer.hpp"
#include "scenario.hpp"

namespace sim {
namespace {

using rota::http::request;
using rota::http::response;

/// How long it takes at most until a client hears that its time is up.
constexpr auto late_max = std::chrono::seconds(2);
/// Times are kept in whole milliseconds.
constexpr auto early_max = std::chrono::milliseconds(1);

struct house {
    const scenario* s;
    rota::http::server_limits limits;
    std::set<std::string> names{}; ///< of all clients so far, as the server has them

    [[nodiscard]] bool may_end_early() const { return s->ending() || memory::was_short(); }
};

class visitor {
public:
    explicit visitor(house& of) : of_(of), p_(port) {}

    void visit() {
        random& r = here().rng();
        if (p_.refused())
            return here().require(of_.s->ending(), "the server refuses clients");
        for (std::size_t left = r.between(1, 6); left != 0; --left) {
            if (!ask())
                return;
            const std::size_t way = r.below(12);
            if (way == 0)
                return break_in();
            if (way < 3)
                return idle_out();
            if (way < 5)
                send_empty_lines(r.between(1, of_.limits.parser.leading_empty_lines_max));
            pause(2);
        }
        if (r.chance(500) && ask())
            idle_out();
    }

private:
    /// For up to that part of the time for which it may idle.
    void pause(unsigned part) const {
        const nanoseconds most = of_.limits.idle_timeout / part;
        here().sleep(nanoseconds(here().rng().below(static_cast<std::size_t>(most.count()))));
    }

    /// False if that was the last of this connection.
    bool ask() {
        random& r = here().rng();
        constexpr nanoseconds pauses[] = {nanoseconds(0), nanoseconds(0), nanoseconds(20'000'000)};
        const bool large = r.chance(200);
        const std::size_t size = r.below(5'000);
        const std::string target = large ? fmt::format("/large/{}", size) : "/peer";
        asked_at_ = here().now();
        p_.send_slowly(request_text("GET", target), r.one_of(pauses));
        const std::optional<answer> a = next_answer(p_, reader_, nanoseconds(0));
        answered_at_ = here().now();
        if (!a || (memory::was_short() && a->status != 200)) {
            here().require(of_.may_end_early(), "an answer is missing");
            return false;
        }
        here().require(a->status == 200, "an answer is of another status");
        if (large)
            here().require(a->body == pattern(size), "an answer is not exact");
        else
            check_name(a->body);
        const bool last = ++asked_ == of_.limits.requests_per_connection_max;
        here().require(a->closes == last || of_.may_end_early(),
                       "an answer is the last, or is not");
        return !a->closes;
    }

    /// The server knows each client by its own address, from its first request to its last.
    void check_name(const std::string& name) {
        if (name_.empty()) {
            here().require(of_.names.insert(name).second, "a client is taken for another");
            name_ = name;
        }
        here().require(name == name_, "a client is taken for another one after a while");
    }

    void send_empty_lines(std::size_t count) {
        for (; count != 0; --count) {
            p_.send("\r\n");
            pause(16);
        }
    }

    /// With more empty lines than there may be before a request, however long it takes.
    void break_in() {
        const time_point begin = here().now();
        send_empty_lines(of_.limits.parser.leading_empty_lines_max + 1);
        if (here().now() > begin + of_.limits.idle_timeout / 2)
            return;
        const std::optional<answer> a = next_answer(p_, reader_, nanoseconds(0));
        here().require(of_.may_end_early() || (a && a->status == 400 && a->closes),
                       "empty lines are forgotten");
    }

    /// What is no request gives it no more time.
    void idle_out() {
        if (here().rng().chance(300))
            send_empty_lines(here().rng().between(1, 3));
        const peer::event how = p_.wait(answered_at_ + of_.limits.idle_timeout + late_max);
        here().require(how != peer::event::late, "an idle client is kept beyond its time");
        here().require(how != peer::event::bytes, "the server speaks without being asked");
        const time_point soonest = asked_at_ + of_.limits.idle_timeout - early_max;
        here().require(of_.may_end_early() || here().now() >= soonest,
                       "an idle client is let go too soon");
    }

    house& of_;
    peer p_;
    answer_reader reader_;
    std::string name_;
    std::uint64_t asked_ = 0;
    time_point asked_at_{};
    time_point answered_at_{};
};

std::size_t size_of(const request& req) {
    return static_cast<std::size_t>(std::stoul(std::string(req.param("size"))));
}

} // namespace

void run_rests() {
    using std::chrono::milliseconds;
    random& r = here().rng();
    scenario s;
    // No answer is on its way for as long as a client may idle.
    simulation::here().net.widen(8'192);
    rota::http::server_options options = patient_options(r.between(2, 8));
    options.limits.idle_timeout = milliseconds(r.between(6'000, 40'000));
    options.limits.header_timeout = milliseconds(5'000);
    options.limits.rest_after = milliseconds(r.between(1, 3'000));
    options.limits.requests_per_connection_max = r.chance(500) ? r.between(1, 5) : 0;
    house of{.s = &s, .limits = options.limits};
    rota::http::router routes;
    routes.get("/peer", [](const request& req) { return response::text(std::string(req.peer())); });
    routes.get("/large/{size}",
               [](const request& req) { return response::text(pattern(size_of(req))); });
    rota::http::server server(s.context(), std::move(routes), options);
    for (std::size_t count = r.between(2, 8); count != 0; --count) {
        s.client([&of, times = here().rng().between(1, 3)] {
            for (std::size_t left = times; left != 0; --left) {
                here().sleep(nanoseconds(here().rng().below(50'000'000)));
                visitor(of).visit();
            }
        });
    }
    s.serve({.run = [&server] { return server.run(); },
             .drain = [&server] { server.drain(); },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections});
}

} // namespace sim
