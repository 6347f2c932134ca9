#include <rota/http/takeover.hpp>

#include <utility>

#include "wire.hpp"

namespace rota::http {

takeover::takeover(wire& client, const request& asked, const server_limits& limits,
                   std::stop_token draining) noexcept
    : wire_(client), asked_(asked), limits_(limits), draining_(std::move(draining)) {}

std::string_view takeover::buffered() const noexcept { return wire_.buffered(); }
void takeover::consume(std::size_t bytes) noexcept {
    forget_shown(bytes);
    wire_.consume(bytes);
}
task<bool> takeover::fill(io::deadline until) {
    drop_shown();
    return wire_.stream().fill(until);
}
task<bool> takeover::fill_more(io::deadline until) {
    drop_shown();
    return wire_.stream().fill_more(until);
}
bool takeover::peer_closed() const noexcept { return wire_.stream().peer_closed(); }

task<void> takeover::write(std::string_view bytes, io::deadline until) {
    return wire_.send(bytes, until);
}
task<void> takeover::write_owned(std::string bytes, io::deadline until) {
    return wire_.send_owned(std::move(bytes), until);
}
bool takeover::try_write(std::string_view bytes) { return wire_.try_send(bytes); }
task<void> takeover::flush(io::deadline until) { return wire_.flush(until); }

io::send_progress takeover::progress() const noexcept { return wire_.stream().progress(); }
void takeover::shutdown_write() noexcept { wire_.stream().shutdown_write(); }
void takeover::abort() noexcept { wire_.stream().abort(); }

} // namespace rota::http
