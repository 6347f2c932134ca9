// Lines that come back by TLS. Clients are cut off behind any byte, send a byte that is another, or
// meet a certificate that is not for the name they asked for: what arrives is what was sent, and an
// end that nobody has said is no end.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <rota/errors.hpp>
#include <rota/io/server.hpp>
#include <rota/io/tls/stream.hpp>

#include "scenario.hpp"
#include "tls_files.hpp"

#include "record_engine.hpp"

namespace sim {
namespace {

namespace tls = rota::io::tls;
using rota::task;
using rota::io::connection;
using outcome = tls::record_engine::outcome;

struct tls_host {
    scenario* s;
    const tls::context* with;
    std::shared_ptr<const tls::snapshot> client;
    unsigned holds;
    std::size_t names = 0;
    std::set<std::string> ended{}; // the clients whose end of the stream has been met
};

task<void> serve_lines(tls_host* in, connection c) {
    random& r = here().rng();
    tls::stream over(c, *in->with);
    std::string name;
    try {
        co_await over.handshake(here().now() + std::chrono::minutes(10));
        while (std::optional<std::string> line = co_await over.read_line()) {
            if (name.empty())
                name = *line;
            if (r.chance(in->holds))
                here().sleep(nanoseconds(r.below(400'000'000)));
            co_await over.write_line(*line);
        }
    } catch (const tls::failure&) {
        co_return; // what a client has done, which looks at what came of it
    } catch (const rota::timed_out&) {
        co_return; // a length that is another: the rest of that record never comes
    }
    const memory::ample here_is_room;
    in->ended.insert(name);
}

/// What becomes of a client's bytes.
struct damage {
    std::size_t cut = std::string::npos;  // it sends so many
    std::size_t flip = std::string::npos; // this one is another
};

/// A client of TLS, for a thread of the simulation.
class tls_peer {
public:
    tls_peer(tls_host& in, const std::string& host, damage what)
        : peer_(port), engine_(in.client, host), damage_(what) {}

    [[nodiscard]] peer& transport() noexcept { return peer_; }
    [[nodiscard]] const tls::record_engine& engine() const noexcept { return engine_; }
    /// So many bytes have been sent, of those that there were.
    [[nodiscard]] std::size_t sent() const noexcept { return sent_; }
    [[nodiscard]] bool is_cut() const noexcept { return cut_; }

    /// Whether it is complete.
    bool shake_hands() {
        for (;;) {
            const outcome o = advance([this](std::string_view& in, std::string& out) {
                return engine_.handshake(in, out);
            });
            if (o != outcome::need_record || !take_more())
                return o == outcome::done;
        }
    }
    void write(std::string_view text, nanoseconds pause) {
        random& r = here().rng();
        while (!text.empty() && !cut_) {
            const std::size_t size = std::min(text.size(), r.between(1, 700));
            std::string out;
            here().require(engine_.write(text.substr(0, size), out), "a client cannot write");
            text.remove_prefix(size);
            send(out, pause);
        }
    }
    void close() {
        std::string out;
        engine_.close(out);
        send(out, nanoseconds(0));
    }
    /// Reads until there is no more. How it came to that: `ended`, `failed`, or `need_record` for
    /// an end without a word.
    outcome read_all(std::string& text, std::size_t most = std::string::npos) {
        while (text.size() < most) {
            const outcome o = advance([&](std::string_view& in, std::string& out) {
                return engine_.read(in, text, out);
            });
            if (o == outcome::ended || o == outcome::failed)
                return o;
            if (o == outcome::need_record && !take_more())
                return o;
        }
        return outcome::done;
    }

private:
    template <class Step>
    outcome advance(Step step) {
        std::string_view in = arrived_;
        std::string out;
        const outcome o = step(in, out);
        arrived_.erase(0, arrived_.size() - in.size());
        send(out, nanoseconds(0));
        return o;
    }
    bool take_more() {
        if (peer_.wait() != peer::event::bytes)
            return false;
        arrived_ += peer_.read();
        return true;
    }
    void send(std::string bytes, nanoseconds pause) {
        if (cut_ || bytes.empty())
            return;
        if (damage_.flip - sent_ < bytes.size())
            bytes[damage_.flip - sent_] ^= static_cast<char>(1U << here().rng().below(8));
        if (bytes.size() > damage_.cut - sent_) {
            bytes.resize(damage_.cut - sent_);
            cut_ = true;
        }
        sent_ += bytes.size();
        peer_.send_slowly(bytes, pause);
        if (cut_)
            peer_.half_close();
    }

    peer peer_;
    tls::record_engine engine_;
    damage damage_;
    std::string arrived_;
    std::size_t sent_ = 0;
    bool cut_ = false;
};

damage draw_damage(random& r, std::size_t lines) {
    damage what;
    const std::size_t about = 450 + lines + lines / 8; // with a handshake
    if (r.chance(350))
        what.cut = r.below(about);
    else if (r.chance(400))
        what.flip = r.below(about);
    return what;
}

void tls_client(tls_host& in) {
    random& r = here().rng();
    here().sleep(nanoseconds(r.below(50'000'000)));
    const std::string name = "client " + std::to_string(in.names++);
    const std::string lines = name + '\n' + draw_lines(r);
    const damage what = draw_damage(r, lines.size());
    const bool astray = r.chance(100);
    tls_peer p(in, astray ? "b.test" : "a.test", what);
    if (p.transport().refused())
        return here().require(in.s->ending(), "the server refuses clients");
    constexpr std::size_t rooms[] = {1, 50, 65536};
    constexpr nanoseconds pauses[] = {nanoseconds(0), nanoseconds(0), nanoseconds(10'000'000)};
    p.transport().set_room(r.one_of(rooms));
    const nanoseconds pause = r.one_of(pauses);
    const auto may_fail = [&] {
        return in.s->ending() || memory::was_short() || p.is_cut() || what.flip < p.sent();
    };
    if (!p.shake_hands()) {
        if (astray && p.engine().kind() == tls::failure::kind::certificate)
            return;
        return here().require(may_fail(), "a handshake fails");
    }
    here().require(!astray, "a certificate is good for any name");
    const std::size_t shaken = p.sent();
    p.write(lines, pause);
    std::string got;
    // Behind a length that is another the server may wait for bytes that never come.
    if (r.chance(300) && what.flip >= p.sent()) { // it wants all of it before it ends its side
        const outcome o = p.read_all(got, lines.size());
        here().require(lines.starts_with(got), "the echo is not what was sent");
        here().require(o == outcome::done || may_fail(), "the echo ends too early");
    }
    p.close();
    const bool whole = !p.is_cut() && what.flip >= p.sent();
    if (whole ? r.chance(500) : !p.is_cut())
        p.transport().half_close();
    const outcome o = p.read_all(got);
    here().require(lines.starts_with(got), "the echo is not what was sent");
    if (whole && !in.s->may_cut() && !memory::was_short())
        here().require(o == outcome::ended && got == lines,
                       "the end of the stream is not answered");
    if (p.is_cut() || (what.flip >= shaken && what.flip < p.sent()))
        here().require(!in.ended.contains(name), "an end is met that nobody has said");
}

} // namespace

void run_tls() {
    random& r = here().rng();
    draw_tls_from(r.next());
    tls::server_options how;
    how.certificates = {tls_pair()};
    how.handshakes_at_once = r.chance(500) ? 0 : 1'000;
    tls::client_options trusting;
    trusting.system_roots = false;
    trusting.roots = {tls_pair().certificate};
    const tls::context with(how);
    tls_host in{.s = nullptr,
                .with = &with,
                .client = std::make_shared<const tls::snapshot>(trusting),
                .holds = r.chance(300) ? 300U : 0U};
    scenario s(in.holds != 0 ? setting::held_up : setting::any);
    in.s = &s;
    rota::io::server_options options;
    options.listen = {rota::io::endpoint::parse(address)};
    options.max_connections = r.between(1, 6);
    options.drain_timeout = std::chrono::seconds(10);
    rota::io::server server(
        s.context(), [&in](connection c) { return serve_lines(&in, std::move(c)); }, options);
    for (std::size_t count = r.between(1, 6); count != 0; --count) {
        s.client([&in, times = r.chance(300) ? r.between(2, 5) : 1] {
            for (std::size_t left = times; left != 0; --left)
                tls_client(in);
        });
    }
    s.serve({.run = [&server] { return server.run(); },
             .drain = [&server] { server.drain(); },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections});
}

} // namespace sim
