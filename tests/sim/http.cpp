// The HTTP server under clients that pipeline, chunk, wait, half-close and break off.

#include <algorithm>

#include "access_book.hpp"
#include "http_peer.hpp"
#include "http_run.hpp"
#include "http_site.hpp"
#include "scenario.hpp"

namespace sim {
namespace {

/// What differs from run to run.
struct rules {
    const scenario* s;
    const way_in* by;
    bool hurry; ///< the server's time limits are as short as the network's delays
    access_book* log;
};

/// Reads the answers to `all`: each exact, in order. Fewer only where there is an excuse, and then
/// false.
bool check_answers(const rules& with, peer& p, const std::vector<exchange>& all,
                   nanoseconds pause) {
    answer_reader reader;
    // The reset of an answer that cannot be whole overtakes what was not read before it.
    const bool overtaken = std::ranges::find(all, 0, &exchange::status) != all.end();
    for (const exchange& e : all) {
        const std::optional<answer> a = next_answer(p, reader, pause);
        const bool excused = with.hurry || with.s->may_cut();
        if (!a) {
            here().require(excused || overtaken, "an answer is missing");
            return false;
        }
        if (with.hurry && (a->status == 408 || a->status == 400))
            return false;
        if (memory::was_short() && (a->status == 500 || a->status == 503))
            return false;
        here().require(e.status != 0, "a file is whole that is not");
        here().require(a->status == e.status, "an answer is of another status");
        here().require(a->status != 200 || a->body == e.body, "an answer is not exact");
        here().require(a->field("X-Request-Id") == e.id, "an answer has another's name");
        with.log->seen(e.target, a->status, a->body.size());
        if (a->closes) { // also behind content in chunks that nobody wanted
            here().require(excused || e.status == 404, "a connection is closed for no reason");
            return false;
        }
    }
    here().require(reader.empty(), "there are more bytes than answers");
    return true;
}

void http_client(const rules& with) {
    random& r = here().rng();
    here().sleep(nanoseconds(r.below(50'000'000)));
    const std::unique_ptr<peer> called = with.by->call(*with.s);
    if (!called)
        return;
    peer& p = *called;
    if (p.refused())
        return here().require(with.s->ending(), "the server refuses clients");
    constexpr std::size_t rooms[] = {1, 100, 65536, 65536};
    constexpr nanoseconds pauses[] = {nanoseconds(0), nanoseconds(0), nanoseconds(20'000'000)};
    p.set_room(r.one_of(rooms));
    const nanoseconds pause = r.one_of(pauses);
    std::vector<exchange> all;
    std::vector<std::string> texts;
    std::string text;
    for (std::size_t count = r.between(1, 6); count != 0; --count) {
        all.push_back(draw_exchange(r));
        texts.push_back(all.back().text());
        with.log->asked(all.back().target);
        text += texts.back();
    }
    const std::size_t way = r.below(8);
    if (way == 0) { // breaks off
        p.send_slowly(std::string_view(text).substr(0, r.below(text.size())), pause);
        here().sleep(nanoseconds(r.below(30'000'000)));
        if (r.chance(500))
            p.reset();
        return;
    }
    if (way < 4) { // one after the other
        for (std::size_t i = 0; i < all.size(); ++i) {
            p.send_slowly(texts[i], pause);
            if (!check_answers(with, p, {all[i]}, pause))
                return;
            if (const auto most = with.by->pause.count(); most != 0)
                here().sleep(nanoseconds(r.below(static_cast<std::size_t>(most))));
        }
        return;
    }
    p.send_slowly(text, pause);
    if (way < 6)
        p.half_close();
    const bool whole = check_answers(with, p, all, pause);
    if (way < 6 && whole) {
        std::string rest;
        const bool ended = p.read_all(rest, pause) == peer::event::end;
        here().require(with.hurry || with.s->may_cut() || (ended && rest.empty()),
                       "a half-close is not answered");
    }
}

rota::http::server_options draw_options(random& r, bool hurry) {
    using std::chrono::milliseconds;
    const auto limit = [&] {
        return hurry ? milliseconds(r.between(1, 100)) : std::chrono::hours(9);
    };
    rota::http::server_options o;
    o.listen = {rota::io::endpoint::parse(address)};
    o.max_connections = r.between(1, 5);
    o.drain_timeout = std::chrono::seconds(10);
    o.limits.header_timeout = limit();
    o.limits.idle_timeout = limit();
    o.limits.body_timeout = limit();
    o.limits.send_timeout = limit();
    o.limits.body_rate_min_bytes_per_s = hurry ? 240 : 0;
    o.limits.linger_timeout = limit();
    o.limits.output_batch_bytes = r.between(1, 3000);
    o.hooks.on_error = scenario::note_error;
    return o;
}

} // namespace

void serve_site(const way_in& by) {
    random& r = here().rng();
    scenario s;
    access_book log;
    const rules with{.s = &s, .by = &by, .hurry = by.may_hurry && r.chance(300), .log = &log};
    rota::http::server_options options = draw_options(r, with.hurry);
    options.hooks.on_access = [&log](const rota::http::access_entry& e) { log.write(e); };
    if (by.open)
        by.open(options);
    const rota::io::shared_file from = make_file(site_file_bytes);
    rota::http::server server(s.context(), site_routes(from), options);
    for (std::size_t count = r.between(1, 6); count != 0; --count) {
        s.client([&with, times = r.chance(300) ? r.between(2, 5) : 1] {
            for (std::size_t left = times; left != 0; --left)
                http_client(with);
        });
    }
    s.serve({.run = [&server] { return server.run(); },
             .drain = [&server] { server.drain(); },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections});
    log.check();
}

void run_http() {
    serve_site({.call = [](const scenario&) { return std::make_unique<peer>(port); }});
}

} // namespace sim
