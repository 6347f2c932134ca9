#include "network.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>

namespace sim {

weather weather::draw(random& r) {
    using std::chrono::microseconds;
    constexpr microseconds delays[] = {microseconds(0), microseconds(200), microseconds(5'000),
                                       microseconds(80'000)};
    constexpr std::size_t pieces[] = {1, 7, 100, 4096, 65536};
    constexpr std::size_t buffers[] = {1, 64, 2048, 65536};
    constexpr unsigned failures[] = {0, 0, 20, 150};
    weather w;
    w.delay_max = r.one_of(delays);
    w.piece_max = r.one_of(pieces);
    w.send_buffer = r.one_of(buffers);
    w.descriptors_max = r.chance(300) ? r.between(3, 8) : 1000;
    w.accept_failures = r.one_of(failures);
    w.receive_failures = r.one_of(failures);
    w.send_failures = r.one_of(failures);
    return w;
}

network::network(const weather& w) : weather_(w) { here().add(*this); }
network::~network() { here().remove(*this); }

nanoseconds network::delay() {
    random& r = here().rng();
    if (weather_.delay_max.count() == 0 || r.chance(300))
        return nanoseconds(0);
    return nanoseconds(r.below(static_cast<std::size_t>(weather_.delay_max.count())));
}

// --- Descriptors ---

/// As the kernel does: numbers are used again at once, so what holds on to one too long meets
/// another connection.
int network::lowest_free() const noexcept {
    int fd = first_descriptor;
    for (const auto& [taken, what] : open_) {
        if (taken != fd)
            break;
        ++fd;
    }
    return fd;
}

descriptor* network::find(int fd, const char* call) {
    const auto found = open_.find(fd);
    if (found == open_.end())
        here().fail(fmt::format("{} of descriptor {}, which is not open", call, fd));
    return &found->second;
}

std::size_t network::accepted() const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(
        open_, [](const auto& each) { return each.second.connected != nullptr; }));
}

int network::open_socket(bool datagrams) {
    const int fd = lowest_free();
    open_[fd].datagrams = datagrams;
    return fd;
}

int network::bind(int fd, std::uint16_t port) {
    descriptor* const d = find(fd, "bind");
    const auto in_the_way = [d](const descriptor* other) { return !d->shares || !other->shares; };
    if (d->datagrams && std::ranges::any_of(datagram_sockets(port), in_the_way))
        return -EADDRINUSE;
    d->port = port;
    return 0;
}

std::vector<descriptor*> network::datagram_sockets(std::uint16_t port) {
    std::vector<descriptor*> all;
    for (auto& [fd, d] : open_) {
        if (d.datagrams && d.port == port)
            all.push_back(&d);
    }
    return all;
}

int network::listen(int fd) {
    find(fd, "listen")->listening = true;
    here().note("listen {}", fd);
    return 0;
}

int network::accept(int fd) {
    descriptor* const d = find(fd, "accept");
    if (d->shut)
        return -EINVAL;
    if (d->backlog.empty())
        return -EAGAIN;
    if (open_.size() >= weather_.descriptors_max)
        return -EMFILE;
    random& r = here().rng();
    if (r.chance(weather_.accept_failures)) {
        constexpr int errors[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM, ECONNABORTED, EPROTO};
        return -r.one_of(errors); // the last two are about another client, which has gone already
    }
    const int client = lowest_free();
    open_[client].connected = d->backlog.front();
    d->backlog.front()->accepted = true;
    d->backlog.pop_front();
    return client;
}

int network::shutdown(int fd, int how) {
    descriptor* const d = find(fd, "shutdown");
    here().note("shutdown {} {}", fd, how);
    if (d->listening) {
        d->shut = true;
        for (const auto& waiting : d->backlog)
            waiting->reset_by_server = true;
        d->backlog.clear();
        return 0;
    }
    link& l = *d->connected;
    if (l.aborted || l.reset_by_client)
        return -ENOTCONN;
    if (how != SHUT_RD)
        set_out(l, l.down);
    if (how != SHUT_WR)
        l.receiving_shut = true;
    return 0;
}

int network::dissolve(int fd) {
    link& l = *find(fd, "connect")->connected;
    here().note("reset {}", fd);
    l.aborted = true;
    l.down.under_way.clear();
    l.reset_by_server = true;
    return 0;
}

int network::close(int fd) {
    descriptor* const d = find(fd, "close");
    here().note("close {}", fd);
    if (d->armed != 0)
        here().fail(fmt::format("descriptor {} is closed under an operation", fd));
    if (d->connected) {
        link& l = *d->connected;
        l.server_closed = true;
        // A socket that is closed with bytes that nobody has read resets (RFC 2525, 2.17).
        if (!l.up.arrived.empty() || !l.up.under_way.empty()) {
            l.reset_by_server = true;
        } else {
            set_out(l, l.down);
        }
    }
    for (const auto& waiting : d->backlog)
        waiting->reset_by_server = true;
    open_.erase(fd);
    return 0;
}

bool network::can_send(const link& l, std::size_t buffer) noexcept {
    return l.aborted || l.reset_by_client || l.client_closed || l.down.under_way.size() < buffer;
}

int network::send(int fd, std::string_view bytes) {
    link& l = *find(fd, "send")->connected;
    random& r = here().rng();
    if (l.reset_by_client)
        return -ECONNRESET;
    if (l.aborted || l.down.ends)
        return -EPIPE;
    if (r.chance(weather_.send_failures)) {
        constexpr int errors[] = {ENOBUFS, ENOMEM, EAGAIN, EINTR};
        return -r.one_of(errors);
    }
    if (!can_send(l, weather_.send_buffer))
        return -EAGAIN;
    std::size_t room =
        weather_.send_buffer - std::min(weather_.send_buffer, l.down.under_way.size());
    if (room > 1 && r.chance(300))
        room = r.between(1, room);
    const std::string_view taken = bytes.substr(0, room);
    if (l.client_closed) { // nobody is there: the answer to it is a reset
        l.reset_by_client = true;
        return static_cast<int>(taken.size());
    }
    if (l.down.under_way.empty())
        l.down.due = here().now() + delay();
    l.down.under_way.append(taken);
    return static_cast<int>(taken.size());
}

// --- Clients ---

bool network::listens(std::uint16_t port) const noexcept {
    return std::ranges::any_of(open_, [port](const auto& each) {
        const descriptor& d = each.second;
        return (d.listening || d.datagrams) && !d.shut && d.port == port;
    });
}

bool network::has_backlog() const noexcept {
    return std::ranges::any_of(open_,
                               [](const auto& each) { return !each.second.backlog.empty(); });
}

std::shared_ptr<link> network::connect(std::uint16_t port) {
    for (auto& [fd, d] : open_) {
        if (!d.listening || d.shut || d.port != port)
            continue;
        auto fresh = std::make_shared<link>();
        fresh->client_port = next_client_port_++;
        d.backlog.push_back(fresh);
        links_.push_back(fresh);
        return fresh;
    }
    return nullptr;
}

/// The end of a stream goes on its way, behind what is.
void network::set_out(link& l, link::pipe& p) {
    if (p.ends)
        return;
    p.ends = true;
    if (!moves(l, p) || p.under_way.empty())
        p.due = here().now() + delay();
}

void network::reset_from_client(const std::shared_ptr<link>& l) {
    l->reset_by_client = true;
    l->client_closed = true;
    l->up.under_way.clear();
}

void network::close_from_client(const std::shared_ptr<link>& l) {
    if (!l->down.arrived.empty()) {
        reset_from_client(l);
        return;
    }
    l->client_closed = true;
    set_out(*l, l->up);
}

// --- On the way ---

bool network::moves(const link& l, const link::pipe& p) noexcept {
    if (p.ended)
        return false;
    const bool down = &p == &l.down;
    if (down && !p.under_way.empty() && p.arrived.size() >= l.client_room && !l.client_closed)
        return false;
    return !p.under_way.empty() || p.ends;
}

time_point network::due() {
    time_point next = never;
    std::erase_if(links_, [](const auto& l) {
        return (l->server_closed || l->reset_by_server) && l->client_closed;
    });
    for (const auto& l : links_) {
        for (const link::pipe* const p : {&l->up, &l->down}) {
            if (moves(*l, *p))
                next = std::min(next, p->due);
        }
    }
    return next;
}

void network::step() {
    std::vector<std::pair<link*, link::pipe*>> ready;
    for (const auto& l : links_) {
        for (link::pipe* const p : {&l->up, &l->down}) {
            if (moves(*l, *p) && p->due <= here().now())
                ready.emplace_back(l.get(), p);
        }
    }
    if (ready.empty())
        return;
    const auto [l, p] = ready[here().rng().below(ready.size())];
    deliver(*l, *p);
}

void network::deliver(link& l, link::pipe& p) {
    const bool up = &p == &l.up;
    p.due = here().now() + delay();
    if (p.under_way.empty()) {
        p.ended = true;
        here().note("client {} {}: the end", l.client_port, up ? "->" : "<-");
        return;
    }
    std::size_t size = std::min(p.under_way.size(), weather_.piece_max);
    if (!up && !l.client_closed)
        size = std::min(size, l.client_room - p.arrived.size());
    size = here().rng().between(1, size);
    here().note("client {} {}: {} bytes", l.client_port, up ? "->" : "<-", size);
    if (up && l.server_closed) {
        l.reset_by_server = true; // nobody is there
        p.under_way.clear();
        return;
    }
    if (!up && l.client_closed) {
        l.reset_by_client = true;
        p.under_way.clear();
        return;
    }
    p.arrived.append(p.under_way, 0, size);
    p.under_way.erase(0, size);
}

} // namespace sim
