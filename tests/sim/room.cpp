// A room: what a client says goes to all others through their outboxes, on whatever workers they
// are, and to routines beside it through a broadcast. Some connections end where they are not at
// home.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rota/broadcast.hpp>
#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/io/outbox.hpp>
#include <rota/io/server.hpp>
#include <rota/sleep.hpp>
#include <rota/with_timeout.hpp>

#include "memory.hpp"
#include "peer.hpp"
#include "scenario.hpp"

namespace sim {
namespace {

using rota::task;
using rota::io::connection;
using rota::io::outbox;
using rota::io::shared_bytes;
using rota::io::when_full;

struct room {
    rota::io::outbox_options options;
    std::size_t clients = 0; // that come
    std::size_t lines = 0;   // that each says
    unsigned held = 0;       // of a thousand connections: those that another thread ends

    std::vector<outbox*> there{};
    std::size_t entered = 0;
    std::size_t gone = 0; // clients that are done
    std::size_t said = 0;
    std::map<std::string, std::uint64_t> dropped{}; // by the client that it is of
    std::map<std::string, std::size_t> greeted{};   // how often, by the client that was
    std::vector<connection> to_end{};
    bool ends_some = true;
    rota::broadcast<int> counter{3};
    int counted = 0;

    [[nodiscard]] bool all_said() const noexcept { return said == clients * lines; }
};

struct guest {
    explicit guest(room& r) : in(r), out(r.options) { in.there.push_back(&out); }
    guest(const guest&) = delete;
    guest& operator=(const guest&) = delete;
    ~guest() { std::erase(in.there, &out); }
    room& in;
    outbox out;
    std::string name{};
};

/// Another welcome, which may wait for room, but not for long.
task<void> greet_once(guest* me) {
    try {
        const auto patience = nanoseconds(here().rng().below(3'000'000));
        auto greeting = rota::with_timeout(patience, me->out.send(shared_bytes("welcome\n")));
        const bool sent = co_await std::move(greeting);
        const memory::ample here_is_room;
        me->in.greeted[me->name] += sent ? 1 : 0;
    } catch (const rota::timed_out&) { // and nothing has been sent
    }
}

/// As many of them as fill an outbox, and one more.
task<void> greet(guest* me) {
    const std::size_t fill = std::min<std::size_t>(me->in.options.messages_max, 8);
    for (std::size_t i = 0; i <= fill; ++i) {
        task<void> one = greet_once(me);
        co_await std::move(one);
    }
}

task<void> listen_to(connection* client, guest* me) {
    room& in = me->in;
    for (;;) {
        const std::optional<std::string> line = co_await client->read_line();
        if (!line)
            break;
        me->name = line->substr(0, line->find(' '));
        const shared_bytes message({*line, "\n"});
        for (outbox* const other : in.there) {
            if (other != &me->out)
                other->try_send(message);
            here().require(other->size() <= in.options.messages_max, "an outbox is too full");
        }
        ++in.said;
        in.counter.send(++in.counted);
        if (in.options.policy != when_full::drop_oldest && here().rng().chance(100)) {
            task<void> greeting = greet(me);
            co_await std::move(greeting);
        }
    }
    const memory::ample here_is_room;
    in.dropped[me->name] = me->out.dropped();
}

task<void> talk(room* in, connection client) {
    guest me(*in);
    me.out.try_send(shared_bytes("welcome\n")); // as the first of all there is room for it
    task<void> listening = listen_to(&client, &me);
    co_await me.out.serve(client, std::move(listening));
    if (in->ends_some && here().rng().chance(in->held))
        in->to_end.push_back(std::move(client));
}

/// Numbers come in order, and those that are missing are told of.
task<void> count(room* in, rota::lag_policy policy) {
    rota::broadcast<int>::receiver from(in->counter, policy);
    const int first = in->counted;
    int seen = 0;
    for (;;) {
        const std::optional<int> next = co_await from.next();
        if (!next)
            break;
        ++seen;
        here().require(*next == first + seen + static_cast<int>(from.missed()),
                       "a number is missing, or comes twice");
        if (!here().rng().chance(200))
            continue;
        try { // others count on meanwhile
            co_await rota::sleep_for(nanoseconds(here().rng().below(5'000'000)));
        } catch (const std::bad_alloc&) {
            continue;
        }
    }
    here().require(policy == rota::lag_policy::end && from.missed() != 0,
                   "a broadcast ends for one that has not lagged");
    rota::event never_set;
    co_await never_set.wait(); // until it is stopped
}

/// Each line is whole, none comes twice, and those of a client are in order.
class heard {
public:
    explicit heard(std::string own) : own_(std::move(own)) {}
    void add(std::string_view bytes) {
        rest_ += bytes;
        for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
            take(rest_.substr(0, end));
            rest_.erase(0, end + 1);
        }
    }
    [[nodiscard]] bool welcome() const noexcept { return welcomes_ != 0; }
    [[nodiscard]] std::size_t welcomes() const noexcept { return welcomes_; }
    [[nodiscard]] std::size_t lines() const noexcept { return lines_; }

private:
    void take(const std::string& line) {
        if (line == "welcome") {
            ++welcomes_;
            return;
        }
        const std::size_t space = line.find(' ');
        const std::string from = line.substr(0, space);
        here().require(space != std::string::npos && from != own_, "a line is not of the others");
        const int number = std::atoi(line.c_str() + space);
        int& last = last_[from];
        here().require(number > last, "lines of a client come twice, or out of order");
        last = number;
        ++lines_;
    }

    const std::string own_;
    std::string rest_;
    std::map<std::string, int> last_;
    std::size_t lines_ = 0;
    std::size_t welcomes_ = 0;
};

/// Reads until `done`; false if the connection ends before.
template <class Done>
bool read_until(peer& p, heard& h, Done&& done) {
    while (!done()) {
        const peer::event e = p.wait(here().now() + nanoseconds(10'000'000));
        if (e == peer::event::bytes) {
            h.add(p.read());
        } else if (e != peer::event::late) {
            return false;
        }
    }
    return true;
}

/// Those that are cut off go, though they still have their stream open.
void check_cut_off(const room& in) {
    const bool all_gone = here().wait(
        "those that are cut off to go",
        [&in] {
            return std::ranges::none_of(in.there, [](const outbox* o) { return o->cut_off(); });
        },
        here().now() + std::chrono::minutes(1));
    here().require(all_gone, "a client that does not read is not cut off");
}

void be_client(const scenario* s, room* in, std::size_t number) {
    random& r = here().rng();
    const std::string name = "c" + std::to_string(number);
    here().sleep(nanoseconds(r.below(10'000'000)));
    peer p(port);
    if (p.refused())
        return here().require(s->ending(), "the server refuses clients");
    heard h(name);
    // There may be too few descriptors for all to be there at once.
    const time_point late = here().now() + std::chrono::seconds(30);
    const auto over = [s, in, late] {
        return s->ending() || in->gone != 0 || memory::was_short() || here().now() > late;
    };
    const auto enters = [&] { return h.welcome() || over(); };
    if (!read_until(p, h, enters))
        return;
    ++in->entered;
    if (!read_until(p, h, [&] { return in->entered == in->clients || over(); }))
        return;
    const bool deaf = r.chance(200);
    if (deaf)
        p.set_room(1);
    for (std::size_t i = 1; i <= in->lines; ++i) {
        p.send(name + ' ' + std::to_string(i) + '\n');
        if (!deaf && r.chance(500) && p.wait(here().now()) == peer::event::bytes)
            h.add(p.read());
    }
    const auto all_said = [&] { return in->all_said() || over(); };
    if (deaf) {
        here().wait("all to be said", all_said, late);
    } else if (!read_until(p, h, all_said)) {
        return here().require(in->options.policy == when_full::disconnect || s->may_cut(),
                              "a client is cut off");
    }
    const bool complete = in->all_said();
    check_cut_off(*in);
    const bool keeps_all = in->options.messages_max > in->clients * in->lines;
    if (complete && keeps_all && !deaf) {
        const time_point end = here().now() + std::chrono::minutes(10);
        const auto heard_all = [&] { return h.lines() == (in->clients - 1) * in->lines; };
        const auto gives_up = [&] { return s->may_cut() || here().now() > end; };
        if (read_until(p, h, [&] { return heard_all() || gives_up(); }))
            here().require(heard_all() || s->may_cut(), "a line does not come");
    }
    p.half_close();
    std::string rest;
    const peer::event e = p.read_all(rest, nanoseconds(0));
    h.add(rest);
    if (complete && in->options.policy != when_full::disconnect && !s->may_cut())
        here().require(e == peer::event::end, "a client is cut off at its end");
    if (complete && e == peer::event::end && !s->may_cut()) {
        here().require(h.lines() + in->dropped[name] == (in->clients - 1) * in->lines,
                       "a line is lost");
        here().require(h.welcomes() == 1 + in->greeted[name],
                       "what was sent in time is lost, or what was late is there");
    }
}

/// Ends connections on a thread that is no worker, as long as there are clients.
void end_connections(room* in) {
    while (in->gone != in->clients || !in->to_end.empty()) {
        here().wait("a connection to end",
                    [in] { return !in->to_end.empty() || in->gone == in->clients; });
        here().sleep(nanoseconds(here().rng().below(3'000'000)));
        if (!in->to_end.empty())
            in->to_end.pop_back();
    }
    in->ends_some = false;
}

} // namespace

void run_room() {
    random& r = here().rng();
    constexpr when_full policies[] = {when_full::drop_oldest, when_full::drop_newest,
                                      when_full::disconnect};
    room in{.options = {.messages_max = r.chance(400) ? 1'000 : r.between(1, 8),
                        .policy = r.one_of(policies),
                        .finish_within = std::chrono::hours(1)},
            .clients = r.between(2, 5),
            .lines = r.between(1, 30),
            .held = r.chance(500) ? 500U : 0U};
    scenario s;
    rota::io::server_options options;
    options.listen = {rota::io::endpoint::parse(address)};
    options.max_connections = in.clients;
    options.drain_timeout = std::chrono::seconds(10);
    rota::io::server server(
        s.context(), [&in](connection c) { return talk(&in, std::move(c)); }, options);
    for (std::size_t i = 0; i < in.clients; ++i) {
        s.client([&s, &in, i] {
            be_client(&s, &in, i);
            ++in.gone;
        });
    }
    s.client([&in] { end_connections(&in); });
    const auto counting = [&in] { return count(&in, rota::lag_policy::skip); };
    const auto strict = [&in] { return count(&in, rota::lag_policy::end); };
    s.serve({.run = [&server] { return server.run(); },
             .drain = [&server] { server.drain(); },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections,
             .beside = {counting, counting, strict}});
}

} // namespace sim
