#include "secure_peer.hpp"

#include <algorithm>

#include "memory.hpp"
#include "world.hpp"

namespace sim {

std::optional<peer::event> secure_peer::take_more(time_point until) {
    const event e = peer::wait(until);
    if (e != event::bytes)
        return e;
    arrived_ += peer::read();
    return std::nullopt;
}

bool secure_peer::shake_hands() {
    for (;;) {
        std::string_view in = arrived_;
        std::string out;
        const outcome o = engine_.handshake(in, out);
        arrived_.erase(0, arrived_.size() - in.size());
        peer::send(out);
        if (o != outcome::need_record || take_more(never))
            return o == outcome::done;
    }
}

peer::event secure_peer::interrupt(random& r) {
    constexpr std::string_view odd[] = {{"\x15\x03\x03\0\2\1\0", 7},     // close_notify
                                        {"\x15\x03\x03\0\2\1\x5a", 7},   // user_canceled
                                        {"\x16\x03\x03\0\4\0\0\0\0", 9}, // HelloRequest
                                        {"\x14\x03\x03\0\1\1", 6},       // ChangeCipherSpec
                                        {"\x17\x03\x03\0\0", 5}};
    std::string_view none;
    std::string out;
    (void)engine_.handshake(none, out);
    for (std::size_t left = r.between(1, 10); left != 0; --left)
        out += r.one_of(odd);
    peer::send(out);
    peer::half_close();
    event e = event::bytes;
    while (e == event::bytes) {
        (void)peer::read();
        e = peer::wait();
    }
    return e;
}

void secure_peer::send(std::string_view text) {
    std::string out;
    here().require(engine_.write(text, out), "a client cannot write");
    peer::send(out);
}

void secure_peer::half_close() {
    std::string out;
    engine_.close(out);
    peer::send(out);
    if (here().rng().chance(500))
        peer::half_close();
}

peer::event secure_peer::wait(time_point until) {
    while (text_.empty() && !over_) {
        std::string_view in = arrived_;
        std::string out;
        const outcome o = engine_.read(in, text_, out);
        arrived_.erase(0, arrived_.size() - in.size());
        peer::send(out);
        if (o == outcome::ended) {
            over_ = event::end;
        } else if (o == outcome::failed) {
            here().require(memory::was_short(), "a record of the server's cannot be read");
            over_ = event::reset; // it has said why, and ends
        } else if (o == outcome::need_record) {
            const std::optional<event> e = take_more(until);
            if (e == event::late)
                return event::late;
            if (e)
                over_ = event::reset;
        }
    }
    return text_.empty() ? *over_ : event::bytes;
}

std::string secure_peer::read(std::size_t max) {
    const std::size_t size = std::min(max, text_.size());
    std::string bytes = text_.substr(0, size);
    text_.erase(0, size);
    return bytes;
}

} // namespace sim
