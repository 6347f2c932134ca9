#include "ws_deflate.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include <rota/coding/format.hpp>

#include "world.hpp"

namespace sim {
namespace {

namespace coding = rota::coding;

constexpr std::string_view tail("\0\0\xff\xff", 4); // is taken off, and put on again

/// The value of a parameter, or what it is without one.
int bits_of(std::string_view answered, std::string_view name) {
    const std::size_t at = answered.find(std::string(name) + '=');
    return at == answered.npos ? 15 : std::atoi(answered.data() + at + name.size() + 1);
}

} // namespace

ws_deflate::ws_deflate(std::string_view answered)
    : on_(answered.starts_with("permessage-deflate")),
      server_keeps_(answered.find("server_no_context_takeover") == answered.npos),
      client_keeps_(answered.find("client_no_context_takeover") == answered.npos) {
    here().require(on_ || answered.empty(), "an extension is chosen that was not offered");
    if (!on_)
        return;
    const std::string copy(answered); // that ends with a zero
    coding::encoder_options to;
    to.to = coding::format::deflate;
    to.window_bits = bits_of(copy, "client_max_window_bits");
    encoder_ = coding::make_encoder(to);
    coding::decoder_options from;
    from.from = coding::format::deflate;
    // zlib writes no window of 256 bytes, but looks back no further than that of 512 needs.
    from.window_bits = std::max(bits_of(copy, "server_max_window_bits"), 9);
    decoder_ = coding::make_decoder(from);
}

std::string ws_deflate::pack(std::string_view message) {
    if (message.empty()) // RFC 7692 section 7.2.3.6
        return std::string(1, '\0');
    std::string packed;
    for (bool done = false; !done;) {
        std::array<char, 512> piece{};
        const auto step = encoder_->encode(message, piece, coding::flush::sync);
        message.remove_prefix(step.read);
        packed.append(piece.data(), step.written);
        done = step.done;
    }
    here().require(packed.ends_with(tail), "a message is flushed");
    packed.resize(packed.size() - tail.size());
    if (!client_keeps_ || here().rng().chance(100)) // it may always begin anew
        encoder_->reset();
    return packed;
}

std::string ws_deflate::unpack(std::string_view payload) {
    const std::string whole = std::string(payload).append(tail);
    std::string message;
    for (std::string_view rest = whole;;) {
        std::array<char, 4096> piece{};
        const auto step = decoder_->decode(rest, piece);
        here().require(step.now == coding::decoder::state::more, "a message cannot be unpacked");
        rest.remove_prefix(step.read);
        message.append(piece.data(), step.written);
        if (rest.empty() && step.written < piece.size())
            break;
    }
    if (!server_keeps_)
        decoder_->reset();
    return message;
}

std::string draw_deflate_offer() {
    if (!rota::coding::is_available(rota::coding::format::deflate))
        return "";
    constexpr std::string_view offers[] = {
        "",
        "permessage-deflate",
        "permessage-deflate; client_max_window_bits",
        "permessage-deflate; server_no_context_takeover",
        "permessage-deflate; client_no_context_takeover; server_max_window_bits=10",
        "permessage-deflate; server_max_window_bits=8; client_max_window_bits=9",
    };
    return std::string(here().rng().one_of(offers));
}

} // namespace sim
