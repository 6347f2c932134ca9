#include "h2_client.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "h2_peer.hpp"
#include "http_peer.hpp"
#include "http_site.hpp"
#include "ws_peer.hpp"

namespace sim {
namespace {

constexpr std::uint32_t no_error = 0;
constexpr std::uint32_t cancel = 8;
constexpr std::uint32_t stream_max = 0x7fff'ffff;
constexpr std::int64_t default_window = 65'535;

/// What a WebSocket gets whose server is about to end.
const std::string& last_words() {
    static const std::string frame =
        ws_bytes({ws_frame::close, ws_close_payload(1001, "the server is about to end")}, false);
    return frame;
}

/// A WebSocket (RFC 8441), whole: what the client sends, and every byte that comes of it.
exchange draw_websocket(random& r) {
    exchange drawn{"CONNECT", "/ws", "", true, 200, ""};
    for (std::size_t count = r.below(5); count != 0; --count) {
        std::vector<std::string> pinged;
        const ws_frame whole{ws_frame::binary,
                             pattern(r.chance(200) ? r.below(5'000) : r.below(99))};
        drawn.content += ws_message(whole, pinged);
        for (std::string& ping : pinged)
            drawn.body += ws_bytes({ws_frame::pong, std::move(ping)}, false);
        drawn.body += ws_bytes(whole, false);
    }
    if (r.chance(700)) { // else its stream ends without a word
        const ws_frame goodbye{ws_frame::close, ws_close_payload(4000)};
        drawn.content += ws_bytes(goodbye);
        drawn.body += ws_bytes(goodbye, false);
    }
    return drawn;
}

/// A request of a client, and what has come of it.
struct stream {
    exchange asked;
    std::string unsent; // of its content
    bool sent_end = false;
    bool gives_up = false; // it is to be reset in the middle
    std::int64_t send_window = 0;
    std::int64_t receive_window = 0;
    std::optional<int> status{};
    std::optional<std::size_t> length{};
    std::string body{};
    bool ended = false; // the answer is whole
    bool reset = false; // by either side

    [[nodiscard]] bool open() const noexcept { return !reset && !(ended && sent_end); }
    [[nodiscard]] bool is_websocket() const { return asked.method == "CONNECT"; }
};

class h2_client {
public:
    explicit h2_client(h2_host* in) : in_(*in), number_(in->clients++) {
        constexpr std::size_t rooms[] = {1, 100, 65536, 65536};
        if (!p_.refused())
            p_.set_room(in->large ? 65536 : r_.one_of(rooms));
        const std::size_t most = std::max<std::size_t>(in->streams_max, 8);
        for (std::size_t count = r_.between(1, most); count != 0; --count)
            asks_.push_back(draw());
    }

    void visit() {
        if (p_.refused())
            return here().require(in_.s->ending(), "the server refuses clients");
        constexpr std::int64_t windows[] = {0, 1, 50, 1'000, default_window, 200'000};
        initial_window_ = r_.one_of(windows);
        p_.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        // No table, since ours remembers nothing; and how much may come of a stream.
        send({h2_frame::settings, 0, 0, setting(1, 0) + setting(4, initial_window_)});
        const bool breaks_off = r_.chance(150);
        while (!done()) {
            if (breaks_off && r_.chance(50))
                return break_off();
            act();
            const peer::event e = p_.wait(here().now() + nanoseconds(10'000'000));
            if (e == peer::event::bytes)
                read();
            else if (e != peer::event::late && !(said_goodbye_ && done()))
                return check_end(e);
        }
        if (!said_goodbye_ && r_.chance(300))
            say_goodbye();
        if (said_goodbye_)
            wait_for_end();
    }

private:
    void break_off() {
        if (r_.chance(300))
            return p_.reset();
        if (r_.chance(300))
            return p_.close();
        // It reads what comes still; handlers have nobody to answer to.
        left_ = true;
        p_.half_close();
        wait_for_end();
    }

    /// It opens no more streams.
    void say_goodbye() {
        said_goodbye_ = true;
        send({h2_frame::goaway, 0, 0, h2_number(0) + h2_number(no_error)});
    }

    /// It may have to wait for others, slow ones, to be accepted at all.
    void wait_for_end() {
        peer::event e = peer::event::bytes;
        while (e == peer::event::bytes) {
            e = p_.wait(here().now() + std::chrono::minutes(10));
            read();
        }
        here().require(e != peer::event::late, "a connection does not end behind its client");
    }

    exchange draw() {
        if (r_.chance(150))
            return {"GET", fmt::format("/wait/{}-{}", number_, asks_.size()), "", false, 0, ""};
        if (r_.chance(150))
            return draw_websocket(r_);
        if (r_.chance(100)) // longer than from the first goodbye to the last
            return {"GET", fmt::format("/sleep/{}", r_.between(100, 900)), "", false, 200, "slept"};
        if (in_.large && r_.chance(400)) {
            const std::string content = pattern(r_.between(60'000, 100'000));
            if (r_.chance(300))
                return {"POST", "/echo", content, false, 200, content};
            constexpr const char* sources[] = {"large", "file", "need"};
            const char* const from = r_.one_of(sources);
            return {"GET", fmt::format("/{}/{}", from, content.size()), "", false, 200, content};
        }
        if (r_.chance(150)) {
            const std::size_t size = r_.below(5'000);
            return {"GET", fmt::format("/file/{}", size), "", false, 200, pattern(size)};
        }
        return draw_exchange(r_);
    }

    // -- frames out

    static std::string setting(std::uint32_t which, std::int64_t value) {
        return h2_number(which, 2) + h2_number(static_cast<std::uint32_t>(value));
    }
    void send(const h2_frame& f) { p_.send(h2_bytes(f)); }

    [[nodiscard]] bool done() const {
        return std::ranges::none_of(streams_, [](const auto& s) { return s.second.open(); }) &&
               (asks_.empty() || goaways_ != 0);
    }

    /// Some of what it may do now.
    void act() {
        const auto open = static_cast<std::size_t>(
            std::ranges::count_if(streams_, [](const auto& s) { return s.second.open(); }));
        // One more may be on its way when the server has said that there should be none.
        const bool may_open = goaways_ == 0 || (goaways_ == 1 && r_.chance(100));
        const bool known = !asks_.empty() && (asks_.back().method != "CONNECT" || takes_protocols_);
        if (known && may_open && open < in_.streams_max && r_.chance(500))
            begin();
        for (auto& [id, s] : streams_) {
            if (s.open())
                act(id, s);
        }
        if (asks_.empty() && !said_goodbye_ && r_.chance(100))
            say_goodbye();
        if (receive_window_ < default_window / 2 && r_.chance(300))
            open_window(0, receive_window_, r_.between(10'000, 60'000));
        if (!pinged_ && pings_ < 5 && r_.chance(30)) {
            pinged_ = h2_number(++pings_) + "ping";
            send({h2_frame::ping, 0, 0, *pinged_});
        }
        if (!shrinks_by_ && changes_ < 3 && r_.chance(30))
            change_windows();
    }

    void act(std::uint32_t id, stream& s) {
        if (!s.sent_end && r_.chance(500))
            send_content(id, s);
        if (s.receive_window < 500 && r_.chance(300))
            open_window(id, s.receive_window, r_.between(100, 5'000));
        const bool waits = s.asked.target.starts_with("/wait/");
        // If all wait there is nothing else to come, and a drain waits for them.
        if ((s.gives_up || waits) && r_.chance(in_.s->ending() ? 500 : 50))
            give_up(id, s);
    }

    void begin() {
        stream s{.asked = asks_.back(), .unsent = asks_.back().content};
        asks_.pop_back();
        s.gives_up = r_.chance(100);
        s.send_window = server_window_;
        s.receive_window = initial_window_;
        const std::uint32_t id = std::exchange(next_id_, next_id_ + 2);
        std::string block = hpack_field(":method", s.asked.method) +
                            hpack_field(":scheme", "http") + hpack_field(":path", s.asked.target) +
                            hpack_field(":authority", "sim");
        if (s.is_websocket()) {
            block +=
                hpack_field(":protocol", "websocket") + hpack_field("sec-websocket-version", "13");
        }
        if (!s.asked.id.empty())
            block += hpack_field("x-request-id", s.asked.id);
        in_.log.asked(s.asked.target);
        const bool content = s.asked.method == "POST" || s.is_websocket();
        if (content && !s.asked.chunked)
            block += hpack_field("content-length", fmt::format("{}", s.unsent.size()));
        s.sent_end = !content;
        const unsigned end = content ? 0U : unsigned{h2_frame::end_stream};
        const std::size_t cut = r_.chance(200) ? r_.below(block.size()) : block.size();
        const unsigned whole = cut == block.size() ? unsigned{h2_frame::end_headers} : 0U;
        send({h2_frame::headers, end | whole, id, block.substr(0, cut)});
        if (whole == 0)
            send({h2_frame::continuation, h2_frame::end_headers, id, block.substr(cut)});
        streams_.emplace(id, std::move(s));
    }

    void send_content(std::uint32_t id, stream& s) {
        constexpr std::int64_t frame_max = 16'384;
        std::int64_t most = std::min({send_window_, s.send_window, frame_max});
        if (most <= 0 && !s.unsent.empty())
            return;
        const bool padded = most > 100 && r_.chance(100);
        const std::size_t padding = padded ? r_.below(90) : 0;
        most =
            std::max<std::int64_t>(most - (padded ? 1 + static_cast<std::int64_t>(padding) : 0), 0);
        std::size_t size = std::min(s.unsent.size(), static_cast<std::size_t>(most));
        if (size > 1 && r_.chance(500))
            size = r_.between(1, size);
        h2_frame f{h2_frame::data, padded ? h2_frame::padded : 0U, id, s.unsent.substr(0, size)};
        s.unsent.erase(0, size);
        if (padded)
            f.payload = static_cast<char>(padding) + f.payload + std::string(padding, '\0');
        if (s.unsent.empty() && r_.chance(700)) {
            f.flags |= h2_frame::end_stream;
            s.sent_end = true;
        }
        send_window_ -= static_cast<std::int64_t>(f.payload.size());
        s.send_window -= static_cast<std::int64_t>(f.payload.size());
        send(f);
    }

    void open_window(std::uint32_t id, std::int64_t& window, std::size_t bytes) {
        window += static_cast<std::int64_t>(bytes);
        send({h2_frame::window_update, 0, id, h2_number(static_cast<std::uint32_t>(bytes))});
    }

    /// What is less counts once the server has said that it knows; the windows may be below zero.
    void change_windows() {
        ++changes_;
        const std::int64_t before = initial_window_;
        initial_window_ = static_cast<std::int64_t>(r_.below(3'000));
        send({h2_frame::settings, 0, 0, setting(4, initial_window_)});
        shrinks_by_ = std::max<std::int64_t>(before - initial_window_, 0);
        shrinks_below_ = next_id_;
        for (auto& [id, s] : streams_)
            s.receive_window += std::max<std::int64_t>(initial_window_ - before, 0);
    }

    /// A handler that waits for ever hears of it at once.
    void give_up(std::uint32_t id, stream& s) {
        s.reset = true;
        send({h2_frame::rst_stream, 0, id, h2_number(cancel)});
        if (!s.asked.target.starts_with("/wait/") || r_.chance(500))
            return;
        const std::string name = s.asked.target.substr(6);
        const bool stopped = here().wait(
            "a reset to stop a handler",
            [this, &name] { return p_.is_sent() && !in_.waiting.contains(name); },
            here().now() + std::chrono::hours(1));
        here().require(stopped, "a handler goes on although its stream has been reset");
    }

    // -- frames in

    void read() {
        reader_.feed(p_.read());
        while (const std::optional<h2_frame> f = reader_.next())
            take(*f);
    }

    void take(const h2_frame& f) {
        switch (f.what) {
        case h2_frame::data:
            return take_data(f);
        case h2_frame::headers:
            return take_head(f);
        case h2_frame::rst_stream:
            return take_reset(f);
        case h2_frame::settings:
            return take_settings(f);
        case h2_frame::ping:
            here().require((f.flags & h2_frame::ack) != 0 && f.payload == pinged_,
                           "a ping is answered otherwise");
            return pinged_.reset();
        case h2_frame::goaway:
            return take_goaway(f);
        case h2_frame::window_update:
            return take_window(f);
        default:
            here().fail("a frame is of a kind that is not expected");
        }
    }

    stream& find(const h2_frame& f) {
        const auto found = streams_.find(f.stream);
        if (found == streams_.end())
            here().fail("a frame is of a stream that was never opened");
        here().require(f.stream <= last_served_, "a stream is served that is behind the last");
        return found->second;
    }

    void take_data(const h2_frame& f) {
        stream& s = find(f);
        const auto size = static_cast<std::int64_t>(f.payload.size());
        receive_window_ -= size;
        s.receive_window -= size;
        here().require(receive_window_ >= 0 || size == 0,
                       "more comes than the connection's window");
        if (s.reset)
            return;
        here().require(s.receive_window >= 0 || size == 0, "more comes than the stream's window");
        here().require(s.status && !s.ended, "content comes before its head, or behind its end");
        s.body += f.payload;
        if (s.status == s.asked.status && !may_say_why(s))
            here().require(s.asked.status == 404 || s.asked.body.starts_with(s.body),
                           "an answer is not exact");
        end_if(f, s);
    }

    void take_head(const h2_frame& f) {
        stream& s = find(f);
        here().require((f.flags & h2_frame::end_headers) != 0, "a head is in two parts");
        const hpack_head head = read_hpack(f.payload);
        if (s.reset)
            return;
        here().require(!s.status, "an answer has two heads");
        here().note("stream {}: {}, {} {}", f.stream, head.status, s.asked.method, s.asked.target);
        s.status = head.status;
        s.length = head.length;
        here().require(head.id == s.asked.id || head.status != s.asked.status,
                       "an answer has another's name");
        here().require(s.asked.status == 0 || head.status == s.asked.status ||
                           ((head.status == 500 || head.status == 503) && memory::was_short()) ||
                           (s.is_websocket() && head.status == 503 && in_.s->ending()),
                       "an answer is of another status");
        end_if(f, s);
    }

    /// Whether what it says may end with why it ends.
    [[nodiscard]] bool may_say_why(const stream& s) const {
        return s.is_websocket() && (in_.s->ending() || memory::was_short());
    }

    void end_if(const h2_frame& f, stream& s) {
        if ((f.flags & h2_frame::end_stream) == 0)
            return;
        s.ended = true;
        here().require(!s.length || s.length == s.body.size(), "a length is not what comes");
        if (!s.is_websocket())
            in_.log.seen(s.asked.target, s.status.value_or(0), s.body.size());
        if (s.status == 200) {
            here().require(s.asked.status != 0, "what has no end is whole");
            if (may_say_why(s)) {
                std::string_view said = s.body;
                if (said.ends_with(last_words()))
                    said.remove_suffix(last_words().size());
                return here().require(s.asked.body.starts_with(said) || memory::was_short(),
                                      "an answer is not exact");
            }
            here().require(s.body == s.asked.body, "an answer ends too early");
        }
    }

    /// Of what cannot be answered; or of what the server has answered, and need not read.
    void take_reset(const h2_frame& f) {
        stream& s = find(f);
        const bool unread = s.ended && f.number() == no_error;
        here().require(s.reset || unread || s.asked.status == 0 || left_ || !in_.serves(),
                       "a stream is reset for no reason");
        s.reset = true;
    }

    void take_settings(const h2_frame& f) {
        if ((f.flags & h2_frame::ack) != 0) {
            for (auto& [id, s] : streams_) {
                if (id < shrinks_below_)
                    s.receive_window -= shrinks_by_.value_or(0);
            }
            return shrinks_by_.reset();
        }
        for (std::size_t at = 0; at + 6 <= f.payload.size(); at += 6) {
            if (f.payload.substr(at, 2) == h2_number(8, 2))
                takes_protocols_ = f.number(at + 2) == 1;
            if (f.payload.substr(at, 2) != h2_number(4, 2))
                continue;
            const std::int64_t before = std::exchange(server_window_, f.number(at + 2));
            for (auto& [id, s] : streams_)
                s.send_window += server_window_ - before;
        }
        send({h2_frame::settings, h2_frame::ack, 0, ""});
    }

    /// In two steps: which was the last is said behind what was on its way.
    void take_goaway(const h2_frame& f) {
        ++goaways_;
        const std::uint32_t last = f.number();
        if (!in_.serves() && f.number(4) != no_error) {
            last_served_ = std::min(last, last_served_);
            return;
        }
        here().require(f.number(4) == no_error, "the server finds a fault");
        here().require(in_.s->ending() || said_goodbye_, "the server says goodbye for no reason");
        here().require(goaways_ > 1 || last == stream_max || said_goodbye_ || !in_.serves(),
                       "the first goodbye says what the last stream is");
        here().require(last <= last_served_, "a stream that was given up is served");
        for (auto& [id, s] : streams_) {
            here().require(id <= last || !(s.status || has_begun(s)),
                           "a stream that is served is given up");
            s.reset = s.reset || id > last;
        }
        last_served_ = last;
    }

    /// Whether it is known that its handler has run.
    [[nodiscard]] bool has_begun(const stream& s) const {
        return s.asked.target.starts_with("/wait/") && in_.begun.contains(s.asked.target.substr(6));
    }

    void take_window(const h2_frame& f) {
        const std::uint32_t bytes = f.number();
        here().require(bytes != 0 && bytes <= stream_max, "a window opens by nothing");
        if (f.stream == 0)
            send_window_ += bytes;
        else
            find(f).send_window += bytes;
    }

    /// The connection has ended before the client was done.
    void check_end(peer::event e) {
        if (!in_.s->ending())
            return here().require(!in_.serves(), "a connection ends for no reason");
        if (e != peer::event::end || !in_.serves())
            return;
        here().require(goaways_ != 0, "a connection ends without a goodbye");
        for (const auto& [id, s] : streams_)
            here().require(s.reset || s.ended, "a drain does not wait for an answer");
    }

    h2_host& in_;
    const std::size_t number_;
    random& r_ = here().rng();
    peer p_{port};
    h2_reader reader_;
    std::vector<exchange> asks_; // to come
    std::map<std::uint32_t, stream> streams_;
    std::uint32_t next_id_ = 1;
    std::int64_t send_window_ = default_window;
    std::int64_t receive_window_ = default_window;
    std::int64_t server_window_ = default_window;  // of new streams
    std::int64_t initial_window_ = default_window; // of ours
    std::optional<std::int64_t> shrinks_by_{0};    // when the server has acknowledged that
    std::uint32_t shrinks_below_ = 0;              // the streams of this change
    bool takes_protocols_ = false;                 // RFC 8441 section 3
    std::optional<std::string> pinged_;
    std::uint32_t pings_ = 0;
    unsigned changes_ = 0;
    unsigned goaways_ = 0;
    bool left_ = false;         // it has ended its side
    bool said_goodbye_ = false; // it opens no more streams
    std::uint32_t last_served_ = stream_max;
};

} // namespace

void visit_by_http2(h2_host* in) { h2_client(in).visit(); }

} // namespace sim
