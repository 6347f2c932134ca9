// Connections that handlers take over: what came behind the request is there, in order and once;
// the server counts them, and its drain waits for them.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <rota/errors.hpp>
#include <rota/http/server.hpp>
#include <rota/http/takeover.hpp>

#include "http_peer.hpp"
#include "scenario.hpp"

namespace sim {
namespace {

using rota::task;
using rota::http::request;
using rota::http::response;
using rota::http::takeover;

constexpr auto drain_timeout = std::chrono::seconds(10);
constexpr auto told_within = std::chrono::milliseconds(100); // where a look at the clock takes long
constexpr std::string_view last_line = "END";                // others have small letters

/// The server, and those that have taken connections of it over.
struct takers {
    const scenario* s;
    bool impatient; ///< the server cuts what takes nothing after a time as short as the network's
    rota::http::server* server = nullptr;
    std::size_t there = 0;
    std::optional<time_point> drains{}; ///< since when

    [[nodiscard]] bool may_cut() const noexcept { return impatient || s->may_cut(); }
};

/// One of them.
class taker {
public:
    explicit taker(takers* of) : of_(*of) { ++of_.there; }
    taker(const taker&) = delete;
    taker& operator=(const taker&) = delete;
    ~taker() { --of_.there; }

    void check_counted() const {
        here().require(of_.server->metrics().connections_taken_over == of_.there,
                       "a connection that is taken over is not counted");
        here().require(of_.server->connections() >= of_.there, "a connection is not counted");
    }
    /// A drain gives it its time; only an end without one does not.
    void check_cancelled() const {
        here().require(!of_.drains || memory::was_short() ||
                           here().now() >= *of_.drains + drain_timeout,
                       "a drain does not wait for a connection that is taken over");
    }

    /// For one that waits to be told of the drain, and has waited for long.
    void check_told(time_point since) const {
        here().require(!of_.drains || here().now() < std::max(*of_.drains, since) + told_within,
                       "a connection that is taken over does not hear of the drain");
    }

private:
    takers& of_;
};

/// Sometimes by a deadline that passes: then nothing has been queued, and it is tried again.
task<void> say(takeover* client, std::string line) {
    random& r = here().rng();
    while (r.chance(300)) {
        const time_point until = here().now() + nanoseconds(r.below(3'000'000));
        try {
            co_await client->write(line, until);
            co_return;
        } catch (const rota::timed_out&) {
            here().note("a line is late");
        }
    }
    co_await client->write(line);
}

task<void> echo(takeover* client, takers* all) {
    const taker me(all);
    try {
        for (;;) {
            const std::optional<std::string> line = co_await client->read_line();
            me.check_counted();
            if (!line || *line == last_line)
                co_return;
            std::string answer = *line + '\n';
            co_await say(client, std::move(answer));
        }
    } catch (const rota::operation_cancelled&) {
        me.check_cancelled();
        throw;
    }
}

/// Says goodbye when the server drains, and waits for the client to go.
task<void> stay(takeover* client, takers* all) {
    const taker me(all);
    try {
        co_await client->write("hi\n");
        bool goes = false;
        const time_point waits_since = here().now();
        try {
            task<bool> waiting = client->fill();
            static_cast<void>(co_await waiting.under(client->draining()));
            goes = true;
        } catch (const rota::operation_cancelled&) {
            if (!client->draining().stop_requested())
                throw;
        }
        if (goes)
            co_return me.check_told(waits_since);
        me.check_counted();
        co_await client->write("bye\n");
        while (co_await client->fill())
            client->consume(client->buffered().size());
    } catch (const rota::operation_cancelled&) {
        me.check_cancelled();
        throw;
    }
}

rota::http::router routes(takers* all) {
    const auto upgraded = [all](const request&) {
        return response::upgrade("echo", [all](takeover& client) { return echo(&client, all); });
    };
    rota::http::router r;
    r.get("/plain", [](const request&) { return response::fixed("hello"); });
    r.get("/echo", upgraded);
    r.post("/echo", upgraded);
    r.get("/stay", [all](const request&) {
        return response::upgrade("echo", [all](takeover& client) { return stay(&client, all); });
    });
    r.connect([all](const request&) {
        return response::tunnel([all](takeover& client) { return echo(&client, all); });
    });
    return r;
}

constexpr std::string_view offer = "Connection: keep-alive, Upgrade\r\nUpgrade: other, echo\r\n";

/// Whether `head` says that the connection is another protocol's.
bool gives_away(std::string_view head) {
    return head.starts_with("HTTP/1.1 200 OK\r\n") ||
           (head.starts_with("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n") &&
            head.ends_with("\r\nUpgrade: echo\r\n\r\n"));
}

std::string draw_request(random& r) {
    switch (r.below(4)) {
    case 0:
        return "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n";
    case 1: {
        const std::string content(r.below(300), 'c'); // none of it is for the taker
        return request_text("POST", "/echo", content, r.chance(500), offer);
    }
    default:
        return request_text("GET", "/echo", {}, false, offer);
    }
}

/// One client of such a server.
class visitor {
public:
    explicit visitor(takers* all) : all_(*all) {
        constexpr std::size_t rooms[] = {1, 100, 65536, 65536};
        if (!p_.refused())
            p_.set_room(r_.one_of(rooms));
    }

    void visit() {
        if (p_.refused())
            return here().require(all_.s->ending(), "the server refuses clients");
        if (r_.chance(300))
            return visit_until_drain();
        if (all_.impatient && r_.chance(300))
            return take_nothing();
        const std::size_t answers = r_.below(3);
        std::string text;
        for (std::size_t i = 0; i < answers; ++i)
            text += request_text("GET", "/plain");
        if (r_.chance(200)) { // without the offer it stays HTTP
            text += request_text("GET", "/echo") + request_text("GET", "/plain");
            p_.send_slowly(text, pause_);
            if (takes_answers(answers, 200) && takes_answers(1, 426))
                takes_answers(1, 200);
            return;
        }
        text += draw_request(r_);
        const std::string lines = draw_lines(r_);
        const bool asks_first = r_.chance(300);
        p_.send_slowly(asks_first ? text : text + lines, pause_);
        if (!takes_answers(answers, 200) || !is_taken_over())
            return;
        if (asks_first)
            p_.send_slowly(lines, pause_);
        talk(lines);
    }

private:
    /// False if the connection has ended, or it is not to be had.
    bool takes_answers(std::size_t count, int status) {
        for (; count != 0; --count) {
            const std::optional<answer> a = next_answer(p_, reader_, pause_);
            here().require(a || all_.may_cut(), "an answer is missing");
            if (!a || (a->status >= 500 && memory::was_short()))
                return false;
            here().require(a->status == status, "an answer is of another status");
            if (a->closes)
                return false;
        }
        return true;
    }

    /// Whether the head says so, which may come without a line to answer.
    bool is_taken_over() {
        std::optional<std::string> head;
        while (!(head = reader_.head())) {
            if (p_.wait() != peer::event::bytes) {
                here().require(all_.may_cut(), "a connection is not taken over");
                return false;
            }
            reader_.feed(p_.read());
        }
        const bool yes = gives_away(*head);
        here().require(yes || all_.s->ending() || memory::was_short(),
                       "a connection is not taken over");
        return yes;
    }

    /// Reads until there are so many bytes; false if the connection ends before.
    bool read_until(std::string& got, std::size_t size) {
        got += reader_.rest();
        while (got.size() < size) {
            if (p_.wait() != peer::event::bytes)
                return false;
            got += p_.read();
        }
        return true;
    }

    void talk(std::string_view lines) {
        std::string got;
        const std::size_t way = r_.below(4);
        if (way == 0) { // goes in the middle of it
            read_until(got, r_.below(lines.size()));
            if (r_.chance(500))
                p_.reset();
            return check_echo(lines, got);
        }
        if (way == 1) {
            p_.half_close();
        } else {
            // What follows is no request: the protocol was another one to the end.
            p_.send(std::string(last_line) + '\n' + request_text("GET", "/plain"));
        }
        got += reader_.rest();
        const peer::event e = p_.read_all(got, pause_);
        check_echo(lines, got);
        if (!all_.may_cut())
            here().require(e == peer::event::end && got == lines, "a line is not answered");
    }

    static void check_echo(std::string_view lines, std::string_view got) {
        here().require(lines.substr(0, got.size()) == got, "the echo is not what was sent");
    }

    /// Stays until it is told goodbye, or for a while.
    void visit_until_drain() {
        p_.send_slowly(request_text("GET", "/stay", {}, false, offer), pause_);
        if (!is_taken_over())
            return;
        const time_point goes = here().now() + nanoseconds(r_.below(400'000'000));
        std::string got(reader_.rest());
        peer::event e = peer::event::bytes;
        while (!got.ends_with("bye\n") && e == peer::event::bytes) {
            e = p_.wait(goes);
            got += p_.read();
        }
        check_echo("hi\nbye\n", got);
        const bool in_time = all_.drains && here().now() < *all_.drains + drain_timeout;
        here().require(got.ends_with("bye\n") || e == peer::event::late || memory::was_short() ||
                           all_.impatient || (all_.s->ending() && !in_time),
                       "a connection that is taken over ends without a goodbye");
        p_.half_close();
        std::string rest;
        p_.read_all(rest, pause_);
    }

    /// What is never taken does not keep the connection for ever.
    void take_nothing() {
        p_.set_room(1);
        p_.send(draw_request(r_) + draw_lines(r_) + std::string(last_line) + '\n');
        const time_point late = here().now() + std::chrono::minutes(10);
        p_.take_nothing(late);
        here().require(here().now() < late, "a client that takes nothing keeps its connection");
    }

    takers& all_;
    random& r_ = here().rng();
    peer p_{port};
    answer_reader reader_;
    const nanoseconds pause_{r_.chance(700) ? 0 : 20'000'000};
};

rota::http::server_options draw_options(random& r, bool impatient) {
    rota::http::server_options o;
    o.listen = {rota::io::endpoint::parse(address)};
    o.max_connections = r.between(1, 5);
    o.drain_timeout = drain_timeout;
    o.limits.header_timeout = std::chrono::hours(9);
    o.limits.idle_timeout = std::chrono::hours(9);
    o.limits.body_timeout = std::chrono::hours(9);
    o.limits.send_timeout =
        impatient ? std::chrono::milliseconds(r.between(1, 100)) : std::chrono::hours(9);
    o.limits.linger_timeout = o.limits.send_timeout;
    o.limits.output_batch_bytes = r.between(1, 3000);
    o.hooks.on_error = scenario::note_error;
    return o;
}

} // namespace

void run_takeover() {
    random& r = here().rng();
    scenario s;
    takers all{.s = &s, .impatient = r.chance(300)};
    const rota::http::server_options options = draw_options(r, all.impatient);
    rota::http::server server(s.context(), routes(&all), options);
    all.server = &server;
    for (std::size_t count = r.between(1, 6); count != 0; --count) {
        s.client([&all] {
            here().sleep(nanoseconds(here().rng().below(50'000'000)));
            visitor(&all).visit();
        });
    }
    s.serve({.run = [&server] { return server.run(); },
             .drain =
                 [&] {
                     all.drains = here().now();
                     server.drain();
                 },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections});
}

} // namespace sim
