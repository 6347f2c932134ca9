#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http_peer.hpp"
#include "memory.hpp"
#include "scenario.hpp"
#include "ws_deflate.hpp"
#include "ws_peer.hpp"

namespace sim {

/// The client's end of a WebSocket, for a thread of the simulation.
class caller {
public:
    explicit caller(const scenario* s) : s_(*s) {
        constexpr std::size_t rooms[] = {1, 100, 65536, 65536};
        if (!p_.refused())
            p_.set_room(r_.one_of(rooms));
    }

    /// The handshake; false if the server is not there, or ends.
    bool begins(std::string_view target) {
        if (p_.refused()) {
            here().require(s_.ending(), "the server refuses clients");
            return false;
        }
        std::string fields = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                             "Sec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        if (const std::string offer = draw_deflate_offer(); !offer.empty())
            fields += fmt::format("{}: {}\r\n", extensions, offer);
        p_.send_slowly(request_text("GET", target, {}, false, fields), pause_);
        answer_reader head;
        std::optional<std::string> text;
        while (!(text = head.head())) {
            if (p_.wait() != peer::event::bytes) {
                here().require(s_.may_cut(), "a handshake is not answered");
                return false;
            }
            head.feed(p_.read());
        }
        const bool done =
            text->starts_with("HTTP/1.1 101 ") &&
            text->find("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") != text->npos;
        here().require(done || s_.ending() || memory::was_short(), "a handshake is refused");
        if (const std::size_t at = text->find(fmt::format("\r\n{}: ", extensions));
            at != text->npos) {
            const std::size_t begin = at + extensions.size() + 4;
            packs_ = ws_deflate(text->substr(begin, text->find("\r\n", begin) - begin));
        }
        frames_.may_be_compressed = packs_.is_on();
        frames_.feed(head.rest());
        return done;
    }

    void send(std::string_view bytes) { p_.send_slowly(bytes, pause_); }
    void half_close() { p_.half_close(); }
    void reset() { p_.reset(); }

    /// The next frame; nothing when the connection has ended, or `until` has come. Pings of the
    /// server's are answered.
    std::optional<ws_frame> next(time_point until = never) {
        for (;;) {
            while (std::optional<ws_frame> f = frames_.next()) {
                if (f->compressed) {
                    here().require(f->last, "a message comes in parts");
                    f = ws_frame{f->what, packs_.unpack(f->payload)};
                }
                if (f->what != ws_frame::ping)
                    return f;
                if (r_.chance(700))
                    p_.send(ws_bytes({ws_frame::pong, f->payload}));
            }
            end_ = p_.wait(until);
            if (end_ != peer::event::bytes)
                return std::nullopt;
            frames_.feed(pause_.count() == 0 ? p_.read() : p_.read(r_.between(1, 100)));
            if (pause_.count() != 0)
                here().sleep(nanoseconds(r_.below(static_cast<std::size_t>(pause_.count()))));
        }
    }
    /// A message, as it is to be sent: see ws_message().
    [[nodiscard]] std::string message(const ws_frame& whole, std::vector<std::string>& pinged) {
        return ws_message(pack(whole), pinged);
    }
    /// Compressed or not.
    [[nodiscard]] ws_frame pack(const ws_frame& whole) {
        if (!packs_.is_on() || r_.chance(200))
            return whole;
        return {whole.what, packs_.pack(whole.payload), whole.last, true};
    }
    [[nodiscard]] bool packs() const noexcept { return packs_.is_on(); }
    /// How the connection has ended.
    [[nodiscard]] peer::event end() const noexcept { return end_; }
    /// Says goodbye, and hears it: all that comes before the answer is passed to `take`.
    template <class Take>
    void say_goodbye(std::uint16_t code, Take&& take) {
        send(ws_bytes({ws_frame::close, ws_close_payload(code, code == 0 ? "" : "bye")}));
        for (;;) {
            const std::optional<ws_frame> f = next();
            if (!f)
                return here().require(s_.may_cut(), "a goodbye is not answered");
            if (f->what == ws_frame::close)
                return ends_with(*f, code);
            take(*f);
        }
    }
    /// A close frame has come: it has this code, and nothing follows.
    void ends_with(const ws_frame& f, std::uint16_t code) {
        here().require(f.payload.substr(0, 2) == ws_close_payload(code) || says_it_drains(f) ||
                           memory::was_short(),
                       "a close frame has another code");
        if (says_it_drains(f))
            p_.send(ws_bytes({ws_frame::close, ws_close_payload(1001)}));
        here().require(!next(), "a frame comes behind the goodbye");
        here().require(end_ == peer::event::end || s_.may_cut(),
                       "a connection is cut off behind its goodbye");
    }
    [[nodiscard]] bool says_it_drains(const ws_frame& f) const {
        return f.what == ws_frame::close && s_.ending() &&
               f.payload.substr(0, 2) == ws_close_payload(1001);
    }

private:
    static constexpr std::string_view extensions = "Sec-WebSocket-Extensions";

    const scenario& s_;
    random& r_ = here().rng();
    peer p_{port};
    ws_reader frames_;
    ws_deflate packs_{""};
    peer::event end_ = peer::event::bytes;
    const nanoseconds pause_{r_.chance(700) ? 0 : 20'000'000};
};

} // namespace sim
