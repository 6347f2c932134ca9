#include "wire_takeover.hpp"

#include <utility>

namespace rota::http {

wire_takeover::wire_takeover(wire& client, const request* asked, const server_limits& limits,
                             std::stop_token draining) noexcept
    : takeover(asked, limits, std::move(draining)), wire_(client) {}

std::string_view wire_takeover::buffered() const noexcept { return wire_.buffered(); }
void wire_takeover::consume(std::size_t bytes) noexcept {
    forget_shown(bytes);
    wire_.consume(bytes);
}
task<bool> wire_takeover::fill(io::deadline until) {
    drop_shown();
    return wire_.stream().fill(until);
}
task<bool> wire_takeover::fill_more(io::deadline until) {
    drop_shown();
    return wire_.stream().fill_more(until);
}
bool wire_takeover::peer_closed() const noexcept { return wire_.stream().peer_closed(); }
bool wire_takeover::failed() const noexcept { return wire_.broken(); }

task<void> wire_takeover::write(std::string_view bytes, io::deadline until) {
    return wire_.send(bytes, until);
}
task<void> wire_takeover::write_owned(std::string bytes, io::deadline until) {
    return wire_.send_owned(std::move(bytes), until);
}
task<void> wire_takeover::write_shared(io::shared_bytes bytes, io::deadline until) {
    return wire_.send_shared(std::move(bytes), until);
}
bool wire_takeover::try_write(std::string_view bytes) { return wire_.try_send(bytes); }
bool wire_takeover::try_write_last(std::string_view bytes) { return wire_.try_send_last(bytes); }
bool wire_takeover::try_write_shared(std::string_view before, const io::shared_bytes& bytes) {
    return wire_.try_send_shared(before, bytes);
}
bool wire_takeover::has_room(std::size_t bytes) const noexcept { return wire_.has_room(bytes); }
task<void> wire_takeover::flush(io::deadline until) { return wire_.flush(until); }

io::send_progress wire_takeover::progress() const noexcept { return wire_.stream().progress(); }
void wire_takeover::rest() noexcept { wire_.stream().rest(); }
void wire_takeover::shutdown_write() noexcept { wire_.stream().shutdown_write(); }
void wire_takeover::abort() noexcept { wire_.stream().abort(); }

} // namespace rota::http
