#include "peer.hpp"

#include <algorithm>

#include "simulation.hpp"

namespace sim {

peer::peer(std::uint16_t port) : link_(simulation::here().net.connect(port)) {}

peer::~peer() { close(); }

void peer::send(std::string_view bytes) {
    if (link_->client_closed || link_->up.ends)
        return;
    if (link_->up.under_way.empty())
        link_->up.due = here().now();
    link_->up.under_way.append(bytes);
}

void peer::send_slowly(std::string_view bytes, nanoseconds pause) {
    random& r = here().rng();
    while (!bytes.empty()) {
        const std::size_t size = r.between(1, bytes.size());
        send(bytes.substr(0, size));
        bytes.remove_prefix(size);
        if (pause.count() != 0 && !bytes.empty())
            here().sleep(nanoseconds(r.below(static_cast<std::size_t>(pause.count()))));
    }
}

void peer::half_close() { simulation::here().net.set_out(*link_, link_->up); }

void peer::reset() {
    if (!link_->client_closed)
        simulation::here().net.reset_from_client(link_);
}

void peer::close() {
    if (link_ && !link_->client_closed)
        simulation::here().net.close_from_client(link_);
}

peer::event peer::wait(time_point until) {
    link& l = *link_;
    here().wait(
        "bytes from the server",
        [&l] { return !l.down.arrived.empty() || l.down.ended || l.reset_by_server; }, until);
    if (!l.down.arrived.empty())
        return event::bytes;
    if (l.reset_by_server)
        return event::reset;
    return l.down.ended ? event::end : event::late;
}

void peer::take_nothing(time_point until) {
    const link& l = *link_;
    here().wait(
        "the server to give it up", [&l] { return l.server_closed || l.reset_by_server; }, until);
}

std::string peer::read(std::size_t max) {
    std::string& arrived = link_->down.arrived;
    const std::size_t size = std::min(max, arrived.size());
    std::string bytes = arrived.substr(0, size);
    arrived.erase(0, size);
    return bytes;
}

peer::event peer::read_all(std::string& into, nanoseconds pause, time_point until) {
    random& r = here().rng();
    for (;;) {
        const event e = wait(until);
        if (e != event::bytes)
            return e;
        into += pause.count() == 0 ? read() : read(r.between(1, 50));
        if (pause.count() != 0)
            here().sleep(nanoseconds(r.below(static_cast<std::size_t>(pause.count()))));
    }
}

std::string draw_lines(random& r) {
    std::string lines;
    for (std::size_t count = r.between(1, 12); count != 0; --count) {
        const std::size_t size = r.chance(100) ? r.below(3000) : r.below(60);
        for (std::size_t i = 0; i < size; ++i)
            lines += static_cast<char>('a' + r.below(26));
        lines += '\n';
    }
    return lines;
}

} // namespace sim
