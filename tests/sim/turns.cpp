// One worker, a client or a handler that could go on and on, and a neighbour whose turn must come.

#include <rota/detail/budget.hpp>
#include <rota/event.hpp>
#include <rota/http/server.hpp>
#include <rota/sleep.hpp>
#include <rota/yield.hpp>

#include "http_peer.hpp"
#include "scenario.hpp"

namespace sim {
namespace {

using rota::task;
using rota::http::request;
using rota::http::response;

/// More than a step has awaits before it has to let others go on.
constexpr std::size_t in_a_row_max = std::size_t{rota::budget::awaits_max} + 32;
constexpr std::size_t all_in_a_row = 900;

/// What is done for the one that goes on: at some point it wakes the neighbour, and from there on
/// it has so much more before the neighbour is heard, and no more.
class rally {
public:
    explicit rally(std::size_t at) : at_(at) {}

    void advance() {
        if (++done_ == at_) {
            rung_ = waits_;
            bell_.set();
        }
        here().require(!rung_ || done_ <= at_ + in_a_row_max, "a neighbour's turn does not come");
    }
    /// The one that goes on does so no more.
    void end() {
        over_ = true;
        bell_.set();
    }
    [[nodiscard]] bool over() const noexcept { return over_; }
    task<response> hear() {
        waits_ = true;
        co_await bell_.wait();
        rung_ = false;
        co_return response::fixed("heard");
    }

private:
    const std::size_t at_;
    std::size_t done_ = 0;
    bool waits_ = false; // the neighbour does
    bool rung_ = false;  // and has been woken, and not gone on
    bool over_ = false;
    rota::event bell_;
};

/// Awaits that need not wait.
task<response> go_on(rally* r) {
    rota::event open(true);
    for (std::size_t left = all_in_a_row; left != 0; --left) {
        r->advance();
        co_await open.wait();
    }
    co_return response::fixed("went on");
}

/// Steps that take long and yield: with a timer that comes due meanwhile only a few of them come
/// before what waits for it.
constexpr std::chrono::milliseconds long_step{1};
constexpr std::chrono::milliseconds late_max = 20 * long_step;
constexpr int long_steps = 300;

task<response> yield_on() {
    for (int left = long_steps; left != 0; --left) {
        const time_point until = here().now() + long_step;
        while (here().read_clock() < until) {
        }
        co_await rota::yield();
    }
    co_return response::fixed("went on");
}

task<response> hear_timers(const rally* r) {
    while (!r->over()) {
        const nanoseconds length(here().rng().below(50'000'000));
        const time_point due = here().now() + length;
        co_await rota::sleep_for(length);
        here().require(here().now() <= due + late_max, "a timer is behind steps that yield");
    }
    co_return response::fixed("heard");
}

/// Meanwhile all that its client sends behind it arrives, and the neighbour comes.
task<response> gather() {
    co_await rota::sleep_for(std::chrono::seconds(10));
    co_return response::fixed("gathered");
}

rota::http::router routes(rally& r) {
    rota::http::router all;
    all.get("/gather", [](const request&) { return gather(); });
    all.get("/go-on", [&r](const request&) { return go_on(&r); });
    all.get("/yield-on", [](const request&) { return yield_on(); });
    all.get("/hear-timers", [&r](const request&) { return hear_timers(&r); });
    all.get("/hear", [&r](const request&) { return r.hear(); });
    all.get("/one", [&r](const request&) {
        r.advance();
        return response::fixed("one");
    });
    return all;
}

/// False if the connection has ended.
bool expect(const scenario& s, peer& p, answer_reader& reader, std::string_view body) {
    const std::optional<answer> a = next_answer(p, reader, nanoseconds(0));
    here().require(a || s.may_cut(), "an answer is missing");
    if (a && a->status >= 500 && memory::was_short())
        return false;
    here().require(!a || (a->status == 200 && a->body == body), "an answer is not exact");
    return a.has_value();
}

/// Sends `target` `count` times behind what gathers them.
void insatiable_client(const scenario& s, std::string_view target, std::size_t count,
                       std::string_view body) {
    peer p(port);
    if (p.refused())
        return here().require(s.ending(), "the server refuses clients");
    std::string text = request_text("GET", "/gather");
    const std::string one = fmt::format("GET {} HTTP/1.1\r\nHost:\r\n\r\n", target);
    for (std::size_t i = 0; i < count; ++i)
        text += one;
    p.send(text);
    answer_reader reader;
    bool more = expect(s, p, reader, "gathered");
    for (std::size_t i = 0; i < count && more; ++i)
        more = expect(s, p, reader, body);
}

void neighbour(const scenario& s, std::string_view target) {
    here().sleep(nanoseconds(here().rng().below(50'000'000)));
    peer p(port);
    if (p.refused())
        return here().require(s.ending(), "the server refuses clients");
    p.send(request_text("GET", target));
    answer_reader reader;
    expect(s, p, reader, "heard");
}

} // namespace

void run_turns() {
    using std::chrono::hours;
    random& r = here().rng();
    simulation::here().net.widen(65536);  // byte by byte takes too long
    here().slow_down(nanoseconds(2'000)); // a session's turn ends by time, and by nothing else
    scenario s(setting::together);
    rota::http::server_options options;
    options.listen = {rota::io::endpoint::parse(address)};
    options.max_connections = r.between(2, 4);
    options.limits.header_timeout = hours(9);
    options.limits.idle_timeout = hours(9);
    options.limits.send_timeout = hours(9);
    // A full batch may have to wait for the socket, and then it is everybody's turn anyway.
    constexpr std::size_t batches[] = {1, 3000, 1'000'000, 1'000'000};
    options.limits.output_batch_bytes = r.one_of(batches);
    options.hooks.on_error = scenario::note_error;
    rally both(r.between(1, all_in_a_row - in_a_row_max - 1));
    rota::http::server server(s.context(), routes(both), options);
    std::string_view heard = "/hear";
    if (r.chance(300)) {
        heard = "/hear-timers";
        s.client([&] {
            insatiable_client(s, "/yield-on", 1, "went on");
            both.end();
        });
    } else if (r.chance(500)) {
        s.client([&] {
            insatiable_client(s, "/one", all_in_a_row, "one");
            both.end();
        });
    } else {
        s.client([&] {
            insatiable_client(s, "/go-on", 1, "went on");
            both.end();
        });
    }
    s.client([&s, heard] { neighbour(s, heard); });
    s.serve({.run = [&server] { return server.run(); },
             .drain = [&server] { server.drain(); },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections});
}

} // namespace sim
