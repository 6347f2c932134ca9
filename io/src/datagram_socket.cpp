#include <rota/io/datagram_socket.hpp>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <rota/errors.hpp>
#include <rota/routine.hpp>

#include "access.hpp"
#include "datagram_core.hpp"

namespace rota::io {
namespace {

/// First in a call by a routine: the socket is alive, and at home, and the routine is not to stop.
task<void> enter(const datagram_core* c) {
    c->check_alive();
    routine& self = co_await current_routine;
    if (&self.home() != &c->home())
        throw std::logic_error("rota: waiting for io on a worker that is not its own");
    const std::stop_token stop = co_await current_stop_token;
    if (stop.stop_requested())
        throw operation_cancelled();
}

task<void> send_one(datagram_core* c, const endpoint* to, std::string_view bytes, deadline until,
                    std::source_location where) {
    co_await enter(c);
    co_await c->send_all(until, where);
    const send_report before = c->sender.take_report();
    static_cast<void>(c->sender.add(*to, bytes)); // the queue is empty
    try {
        co_await c->send_all(until, where);
    } catch (...) {
        if (!c->sender.empty())
            c->sender.take_back();
        c->sender.put_report_back(before);
        throw;
    }
    const send_report mine = c->sender.take_report();
    c->sender.put_report_back(before);
    if (mine.failed != 0) {
        const std::string whom = to->length() != 0 ? to->to_string() : "the peer";
        throw std::system_error(mine.error, fmt::format("cannot send a datagram of {} bytes to {}",
                                                        bytes.size(), whom));
    }
}

} // namespace

datagram_socket::datagram_socket(context& ctx, worker& home, const endpoint& address,
                                 datagram_options options)
    : core_(new datagram_core(context_access::io_of(ctx, home), open_datagrams(address, options),
                              options, assignment(home))) {}

datagram_socket& datagram_socket::operator=(datagram_socket&& other) noexcept {
    if (this != &other) {
        if (core_ != nullptr)
            core_->let_go();
        core_ = std::exchange(other.core_, nullptr);
    }
    return *this;
}

datagram_socket::~datagram_socket() {
    if (core_ != nullptr)
        core_->let_go();
}

task<datagram_socket> datagram_socket::bind(context& ctx, endpoint address,
                                            datagram_options options) {
    routine& self = co_await current_routine;
    co_return datagram_socket(ctx, self.home(), address, options);
}

task<datagram_socket> datagram_socket::connect(context& ctx, endpoint peer,
                                               datagram_options options) {
    routine& self = co_await current_routine;
    accepted_socket s = open_datagrams(peer, options, true);
    co_return datagram_socket(new datagram_core(context_access::io_of(ctx, self.home()),
                                                std::move(s), options, assignment(self.home())));
}

task<std::optional<datagram_batch>> datagram_socket::receive(deadline until,
                                                             std::source_location where) {
    datagram_core& c = *core_;
    for (;;) {
        co_await enter(&c);
        if (c.take())
            co_return c.receiver.batch();
        if (c.draining())
            co_return std::nullopt;
        bool late = false;
        try {
            co_await c.in.until_ready("datagram_socket::receive", until, where);
        } catch (const timed_out&) {
            late = true;
        }
        if (late && !c.take()) // what was there in time counts
            throw timed_out();
        if (late)
            co_return c.receiver.batch();
    }
}

std::optional<datagram_batch> datagram_socket::try_receive() {
    core_->check_alive();
    if (!core_->take())
        return std::nullopt;
    return core_->receiver.batch();
}

task<bool> datagram_socket::ready(deadline until, std::source_location where) {
    co_await enter(core_);
    if (!core_->draining())
        co_await core_->in.until_ready("datagram_socket::receive", until, where);
    co_return !core_->drained();
}

bool datagram_socket::queue(const endpoint& to, std::string_view bytes) {
    datagram_core& c = *core_;
    if (c.dead())
        return false;
    if (c.sender.add(to, bytes))
        return true;
    static_cast<void>(c.sender.push(c.fd())); // some of it, at least
    return c.sender.add(to, bytes);
}

bool datagram_socket::queue(std::string_view bytes) { return queue(endpoint(), bytes); }

task<send_report> datagram_socket::flush(deadline until, std::source_location where) {
    co_await enter(core_);
    co_await core_->send_all(until, where);
    co_return core_->sender.take_report();
}

task<void> datagram_socket::send(endpoint to, std::string_view bytes, deadline until,
                                 std::source_location where) {
    co_await send_one(core_, &to, bytes, until, where);
}

task<void> datagram_socket::send(std::string_view bytes, deadline until,
                                 std::source_location where) {
    const endpoint peer;
    co_await send_one(core_, &peer, bytes, until, where);
}

void datagram_socket::drain() noexcept {
    if (!core_->dead())
        core_->drain();
}

void datagram_socket::drain_on(std::stop_token token) {
    if (!core_->dead())
        core_->drain_on(std::move(token));
}

endpoint datagram_socket::local() const {
    core_->check_alive();
    return local_of(core_->fd());
}

datagram_counts datagram_socket::counts() const noexcept {
    const datagram_receiver& in = core_->receiver;
    const datagram_sender& out = core_->sender;
    datagram_counts all{.received = in.received(),
                        .truncated = in.truncated(),
                        .sent = out.sent(),
                        .failed = out.failed(),
                        .refused = in.refused() + out.refused()};
    std::uint32_t memory[SK_MEMINFO_VARS] = {};
    socklen_t length = sizeof memory;
    if (::getsockopt(core_->fd(), SOL_SOCKET, SO_MEMINFO, memory, &length) == 0)
        all.missed = memory[SK_MEMINFO_DROPS];
    return all;
}

int datagram_socket::native_handle() const noexcept { return core_->fd(); }

worker& datagram_socket::home() const {
    core_->check_alive();
    return core_->home();
}

} // namespace rota::io
