// WebSockets: messages in pieces of all sizes, compressed or not, come back, in order, and pings
// are answered between them; and in a chat what a client says goes to all others by their outboxes,
// on whatever workers they are: each message comes, once, in order.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/server.hpp>
#include <rota/http/websocket.hpp>

#include "http_peer.hpp"
#include "memory.hpp"
#include "scenario.hpp"
#include "ws_caller.hpp"
#include "ws_peer.hpp"

namespace sim {
namespace {

using rota::task;
using rota::http::websocket;
using rota::http::websocket_message;
using rota::io::outbox;
using rota::io::shared_bytes;

constexpr std::size_t message_bytes_max = 80'000;
constexpr std::size_t large_bytes = 65'500; // a length takes eight bytes from 65,536 on
constexpr std::string_view welcome = "welcome";

/// Those of the chat.
struct hall {
    const scenario* s;
    std::size_t guests = 0;   // that come
    std::size_t messages = 0; // that each says
    std::vector<outbox*> there{};
    std::size_t entered = 0;
    std::size_t told = 0; // guests that have heard all
    std::size_t gone = 0;
};

// --- The server ---

/// A whole message, or what comes of it piece by piece, put together.
task<std::optional<websocket_message>> read_somehow(websocket* ws, std::string* content) {
    if (here().rng().chance(500))
        co_return co_await ws->read();
    content->clear();
    for (;;) {
        const std::optional<websocket_message> piece = co_await ws->read_piece();
        if (!piece)
            co_return std::nullopt;
        *content += piece->data;
        if (piece->last)
            co_return websocket_message{*content, piece->text};
    }
}

task<void> echo(websocket ws) {
    std::string content;
    for (;;) {
        const std::optional<websocket_message> message = co_await read_somehow(&ws, &content);
        if (!message)
            co_return;
        co_await ws.send(*message);
    }
}

struct guest {
    explicit guest(hall& h) : in(h), out({.messages_max = 100'000}) { in.there.push_back(&out); }
    guest(const guest&) = delete;
    guest& operator=(const guest&) = delete;
    ~guest() { std::erase(in.there, &out); }
    hall& in;
    outbox out;
};

task<void> listen_to(websocket* ws, guest* me) {
    for (;;) {
        const std::optional<websocket_message> said = co_await ws->read();
        if (!said)
            co_return;
        const shared_bytes frame = websocket::text_frame(said->data);
        for (outbox* const other : me->in.there) {
            if (other != &me->out)
                other->try_send(frame);
        }
    }
}

task<void> talk(hall* in, websocket ws) {
    guest me(*in);
    me.out.try_send(websocket::text_frame(welcome));
    task<void> listening = listen_to(&ws, &me);
    co_await ws.serve(me.out, std::move(listening));
}

std::optional<rota::http::websocket_deflate> draw_deflate(random& r) {
    if (r.chance(300))
        return std::nullopt;
    rota::http::websocket_deflate how;
    how.server_window_bits = static_cast<int>(r.between(8, 15));
    how.client_window_bits = static_cast<int>(r.between(8, 15));
    how.server_keeps_context = r.chance(700);
    how.client_keeps_context = r.chance(700);
    how.bytes_min = r.below(100);
    how.blocking_bytes = r.chance(500) ? 500 : 32'768;
    return how;
}

rota::http::router routes(hall* in, random& r) {
    rota::http::websocket_options o;
    o.message_bytes_max = message_bytes_max;
    o.message_rate_min_bytes_per_s = 0;
    o.deflate = draw_deflate(r);
    o.ping_after =
        r.chance(300) ? std::chrono::milliseconds(r.between(1, 50)) : std::chrono::hours(9);
    o.gone_after = std::chrono::hours(9);
    o.close_within = std::chrono::hours(9);
    o.rest_after = std::chrono::milliseconds(r.between(1, 50));
    rota::http::router all;
    all.get("/echo", rota::http::serve_websockets(echo, o));
    all.get("/chat", rota::http::serve_websockets([in](websocket ws) { return talk(in, ws); }, o));
    return all;
}

// --- Echo ---

std::string draw_text(random& r, bool large) {
    const std::size_t size = large           ? large_bytes + r.below(200)
                             : r.chance(200) ? r.below(5'000)
                                             : r.below(200);
    std::string text;
    while (text.size() < size)
        text += r.chance(50) ? std::string("\xc3\xa9") : std::string(1, 'a' + r.below(26));
    return text;
}

/// Bytes that break a rule, and what the server says to that.
std::pair<std::string, std::uint16_t> draw_fault(random& r, bool large, caller& me) {
    switch (r.below(large ? 6 : 4)) {
    case 0:
        return {ws_bytes({ws_frame::text, "not masked"}, false), 1002};
    case 1:
        return {ws_bytes(me.pack({ws_frame::text, "no UTF-8: \xff"})), 1007};
    case 2:
        return {ws_bytes({ws_frame::more, "of nothing"}), 1002};
    case 3: // no block of deflate begins so, or else nothing may be compressed
        return {ws_bytes({ws_frame::text, "\x07", true, true}), 1002};
    case 4:
        if (me.packs())
            return {ws_bytes(me.pack({ws_frame::binary, std::string(message_bytes_max + 1, 'a')})),
                    1009};
        [[fallthrough]];
    default:
        return {ws_bytes({ws_frame::binary, std::string(message_bytes_max, 'a'), false}) +
                    ws_bytes({ws_frame::more, "a"}),
                1009};
    }
}

class echo_client {
public:
    echo_client(const scenario* s, bool large) : s_(*s), large_(large), me_(s) {}

    void visit() {
        if (!me_.begins("/echo"))
            return;
        std::string bytes;
        for (std::size_t count = r_.below(8); count != 0; --count)
            bytes += draw_message();
        const std::size_t way = r_.below(8);
        if (way == 0) { // breaks off
            me_.send(std::string_view(bytes).substr(0, r_.below(bytes.size() + 1)));
            here().sleep(nanoseconds(r_.below(30'000'000)));
            if (r_.chance(500))
                me_.reset();
            return;
        }
        me_.send(bytes);
        if (way == 1)
            return end_without_goodbye();
        if (way < 4)
            return break_a_rule();
        if (r_.chance(500) && !hears_all())
            return;
        constexpr std::uint16_t codes[] = {0, 1000, 1001, 4999};
        me_.say_goodbye(r_.one_of(codes), [this](const ws_frame& f) { take(f); });
        check_all();
    }

private:
    std::string draw_message() {
        const bool text = r_.chance(500);
        const ws_frame whole{text ? ws_frame::text : ws_frame::binary,
                             draw_text(r_, large_ && r_.chance(200))};
        std::vector<std::string> pinged;
        std::string bytes = me_.message(whole, pinged);
        for (std::string& ping : pinged)
            pings_.push_back(std::move(ping));
        expected_.push_back(whole);
        return bytes;
    }

    /// One of what is to come: messages in their order, and pongs in theirs, of which those before
    /// the newest may be missing (RFC 6455 section 5.5.3).
    void take(const ws_frame& f) {
        if (f.what == ws_frame::pong) {
            while (ponged_ < pings_.size() && pings_[ponged_] != f.payload)
                ++ponged_;
            here().require(ponged_ < pings_.size(), "a pong is not what was sent");
            ++ponged_;
            return;
        }
        here().require(came_ < expected_.size() && f == expected_[came_],
                       "a message is not what was sent");
        ++came_;
    }

    /// False if the connection ends before, with that code, for want of room for a pong.
    bool hears_all(std::uint16_t code = 1001) {
        while (came_ < expected_.size() || ponged_ < pings_.size()) {
            const std::optional<ws_frame> f = me_.next();
            if (!f || f->what == ws_frame::close) {
                check_all();
                if (f)
                    me_.ends_with(*f, code);
                return false;
            }
            take(*f);
        }
        return true;
    }

    void check_all() {
        here().require(came_ == expected_.size() || s_.may_cut(), "a message is not answered");
    }

    void end_without_goodbye() {
        me_.half_close();
        if (hears_all())
            here().require(!me_.next() || s_.may_cut(), "a frame comes behind the end");
    }

    void break_a_rule() {
        const auto [bytes, code] = draw_fault(r_, large_, me_);
        me_.send(bytes);
        if (!hears_all(code))
            return;
        const std::optional<ws_frame> f = me_.next();
        here().require(f || s_.may_cut(), "a fault is not answered");
        if (!f)
            return;
        here().require(f->what == ws_frame::close, "a fault is taken for a message");
        me_.ends_with(*f, code);
    }

    const scenario& s_;
    const bool large_; // messages may be
    random& r_ = here().rng();
    caller me_;
    std::vector<ws_frame> expected_;
    std::size_t came_ = 0; // of that
    std::vector<std::string> pings_;
    std::size_t ponged_ = 0; // of these, or passed over
};

// --- Chat ---

std::string message_of(std::size_t who, std::size_t number) {
    const std::string text = fmt::format("{} {} ", who, number);
    return text + std::string((who * 131 + number * 71) % 300, static_cast<char>('a' + who));
}

class chat_client {
public:
    chat_client(hall* in, std::size_t who) : in_(*in), who_(who), me_(in->s) {}

    void visit() {
        if (!me_.begins("/chat") || !hears_until([this] { return welcomed_; }))
            return;
        ++in_.entered;
        if (!hears_until([this] { return in_.entered == in_.guests; }))
            return;
        for (std::size_t i = 1; i <= in_.messages; ++i) {
            std::vector<std::string> pinged;
            me_.send(me_.message({ws_frame::text, message_of(who_, i)}, pinged));
            pings_ += pinged.size();
            if (r_.chance(300) && !hears_until([this, some = heard_ + 1] {
                    return heard_ >= some || r_.chance(500);
                }))
                return;
        }
        const std::size_t all = (in_.guests - 1) * in_.messages;
        if (!hears_until([this, all] { return heard_ == all && pings_ == 0; }))
            return;
        ++in_.told;
        if (!hears_until([this] { return in_.told == in_.guests; }))
            return;
        me_.say_goodbye(1000, [this](const ws_frame& f) { take(f); });
    }

private:
    [[nodiscard]] bool over() const {
        return in_.s->may_cut() || in_.gone != 0 || here().now() > late_;
    }

    /// False if there is an excuse why it cannot be.
    template <class Done>
    bool hears_until(Done&& done) {
        while (!done()) {
            const std::optional<ws_frame> f = me_.next(here().now() + nanoseconds(10'000'000));
            if (f && f->what == ws_frame::close) {
                me_.ends_with(*f, 1001);
                return false;
            }
            if (f)
                take(*f);
            else if (me_.end() != peer::event::late || over()) {
                here().require(over() || waits_for_others(), "a message is lost");
                return false;
            }
        }
        return true;
    }
    /// There may be too few descriptors for all to be there.
    [[nodiscard]] bool waits_for_others() const { return in_.entered != in_.guests; }

    void take(const ws_frame& f) {
        if (f.what == ws_frame::pong) {
            here().require(pings_ != 0, "a pong comes without a ping");
            --pings_;
            return;
        }
        here().require(f.what == ws_frame::text, "a message has changed its kind");
        if (f.payload == welcome) {
            here().require(!welcomed_, "a message comes twice");
            welcomed_ = true;
            return;
        }
        const std::size_t from = std::strtoul(f.payload.c_str(), nullptr, 10);
        here().require(from != who_ && from < in_.guests, "a message is not of the others");
        here().require(f.payload == message_of(from, ++last_[from]),
                       "a message is lost, comes twice, or out of order");
        ++heard_;
    }

    hall& in_;
    const std::size_t who_;
    random& r_ = here().rng();
    caller me_;
    const time_point late_ = here().now() + std::chrono::seconds(30);
    bool welcomed_ = false;
    std::size_t heard_ = 0;
    std::size_t pings_ = 0; // without an answer yet
    std::map<std::size_t, std::size_t> last_;
};

} // namespace

void run_websockets() {
    random& r = here().rng();
    const bool chat = r.chance(500);
    const bool large = !chat && r.chance(250);
    if (large)
        simulation::here().net.widen(4096);
    scenario s(large ? setting::together : setting::any);
    hall in{.s = &s, .guests = r.between(2, 5), .messages = r.between(1, 20)};
    const std::size_t places = chat ? in.guests : r.between(1, in.guests);
    const rota::http::server_options options = patient_options(places);
    rota::http::server server(s.context(), routes(&in, r), options);
    for (std::size_t i = 0; i < in.guests; ++i) {
        s.client([&s, &in, chat, large, i] {
            here().sleep(nanoseconds(here().rng().below(20'000'000)));
            if (chat)
                chat_client(&in, i).visit();
            else
                echo_client(&s, large).visit();
            ++in.gone;
        });
    }
    s.serve({.run = [&server] { return server.run(); },
             .drain = [&server] { server.drain(); },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections});
}

} // namespace sim
