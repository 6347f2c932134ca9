#include "inflater.hpp"

#include <algorithm>
#include <span>

#include <rota/coding/format.hpp>

#include "append_room.hpp"

namespace rota::http::ws {
namespace {

constexpr std::size_t inflated_min = 512;
constexpr std::size_t room_max = 65'536;
constexpr std::size_t step_bytes = 131'072; // about half a millisecond

} // namespace

inflater::inflater(int window_bits, bool keeps) noexcept
    : window_bits_(window_bits), keeps_(keeps) {}

inflater::~inflater() = default;

void inflater::make() {
    coding::decoder_options options;
    options.from = coding::format::deflate;
    options.window_bits = window_bits_;
    decoder_ = coding::make_decoder(options);
    if (!window_.empty()) {
        decoder_->set_window(window_);
        std::string().swap(window_);
    }
}

inflater::result inflater::put(std::string_view& in, std::string& out, std::size_t most) {
    if (in.empty())
        return result::good;
    if (!decoder_)
        make();
    at_end_ = false;
    const std::size_t begun = out.size();
    for (;;) {
        const std::size_t before = out.size();
        const std::size_t room =
            std::min(std::clamp(4 * in.size(), inflated_min, room_max), most - before + 1);
        coding::decoder::result step;
        append_room(out, room, [&](char* at) {
            step = decoder_->decode(in, std::span(at, room));
            return step.written;
        });
        in.remove_prefix(step.read);
        if (step.now == coding::decoder::state::corrupt)
            return result::corrupt;
        if (out.size() > most)
            return result::too_big;
        if (step.now == coding::decoder::state::ended) {
            // A block that says it is the last (section 7.2.3.4): of the message, not of all.
            decoder_->reset_keeping_window();
            at_end_ = in.empty();
            if (in.empty())
                return result::good;
        } else if (in.empty() && step.written < room) {
            return result::good;
        }
        if (!in.empty() && out.size() - begun >= step_bytes)
            return result::good;
    }
}

inflater::result inflater::end(std::string& out, std::size_t most) {
    result ended = result::good;
    if (!at_end_) { // what the sender has taken off (section 7.2.1)
        for (std::string_view last("\0\0\xff\xff", 4); ended == result::good && !last.empty();)
            ended = put(last, out, most);
        if (ended == result::good && !at_end_ && !decoder_->between_blocks())
            ended = result::corrupt; // it was cut short
    }
    at_end_ = true;
    if (!keeps_ && decoder_)
        decoder_->reset();
    return ended;
}

void inflater::rest() {
    if (!may_rest())
        return;
    if (keeps_)
        window_ = decoder_->window();
    decoder_.reset();
}

std::size_t inflater::memory() const noexcept {
    return (decoder_ ? decoder_->memory() : 0) + window_.capacity();
}

} // namespace rota::http::ws
