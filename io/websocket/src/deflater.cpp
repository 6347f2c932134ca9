#include "deflater.hpp"

#include <algorithm>
#include <span>

#include <rota/check.hpp>

#include "append_room.hpp"

namespace rota::http::ws {
namespace {

constexpr std::size_t deflated_min = 64;
constexpr std::string_view flushed("\0\0\xff\xff", 4); // what ends it, and is left out

} // namespace

deflater::deflater(const coding::encoder_options& how, bool keeps) noexcept
    : how_(how), keeps_(keeps) {}

deflater::~deflater() = default;

void deflater::put(std::string_view message, std::string& out) {
    if (message.empty()) { // section 7.2.3.6
        out.push_back('\0');
        return;
    }
    if (!encoder_)
        encoder_ = coding::make_encoder(how_);
    std::size_t room = message.size() / 2 + deflated_min;
    for (bool done = false; !done;) {
        coding::encoder::result step;
        append_room(out, room, [&](char* at) {
            step = encoder_->encode(message, std::span(at, room), coding::flush::sync);
            return step.written;
        });
        message.remove_prefix(step.read);
        done = step.done;
        room = std::max(message.size(), deflated_min);
    }
    ROTA_CHECK(out.ends_with(flushed), "deflate ends what is flushed by an empty block");
    out.resize(out.size() - flushed.size());
    if (!keeps_)
        encoder_->reset();
}

} // namespace rota::http::ws
