#include <rota/io/connection.hpp>

#include <cerrno>
#include <stop_token>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/routine.hpp>

#include "connection_core.hpp"

namespace rota::io {
namespace {

/// Much of this size is queued without asking the system for memory each time.
constexpr std::size_t slice_bytes = 65'536;

[[noreturn]] void throw_failure(const output& out) {
    const int error = out.error();
    throw std::system_error(error != 0 ? error : EPIPE, std::system_category(), "write");
}

} // namespace

connection::connection(connection&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}

connection& connection::operator=(connection&& other) noexcept {
    if (this != &other) {
        if (core_ != nullptr)
            core_->close();
        core_ = std::exchange(other.core_, nullptr);
    }
    return *this;
}

connection::~connection() {
    if (core_ != nullptr)
        core_->close();
}

std::string_view connection::buffered() const noexcept { return core_->buffered(); }

void connection::consume(std::size_t bytes) noexcept { core_->consume(bytes); }

task<bool> connection::fill(deadline until) {
    return core_->fill(until, std::source_location::current());
}

task<bool> connection::fill_more(deadline until) {
    return core_->fill_more(until, std::source_location::current());
}

bool connection::peer_closed() const noexcept { return core_->peer_closed(); }

task<void> connection::write(std::string_view bytes) {
    const std::stop_token stop = co_await current_stop_token;
    if (stop.stop_requested())
        throw operation_cancelled();
    output& out = core_->out();
    // In slices, so that what is queued stays in bounds however much there is to write.
    do {
        const std::string_view slice = bytes.substr(0, slice_bytes);
        bytes.remove_prefix(slice.size());
        if (!out.queue(slice, true))
            throw_failure(out);
        co_await out.below_high_water(std::source_location::current());
        if (out.error() != 0)
            throw_failure(out);
    } while (!bytes.empty());
}

task<void> connection::write_owned(std::string bytes) {
    const std::stop_token stop = co_await current_stop_token;
    if (stop.stop_requested())
        throw operation_cancelled();
    output& out = core_->out();
    if (!out.queue_owned(std::move(bytes)))
        throw_failure(out);
    co_await out.below_high_water(std::source_location::current());
    if (out.error() != 0)
        throw_failure(out);
}

bool connection::try_write(std::string_view bytes) { return core_->out().queue(bytes, false); }

task<void> connection::flush() {
    output& out = core_->out();
    co_await out.empty(std::source_location::current());
    if (out.error() != 0)
        throw_failure(out);
}

void connection::shutdown_write() noexcept { core_->out().shutdown(); }

void connection::abort() noexcept { core_->abort(); }

endpoint connection::peer() const {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (::getpeername(core_->fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        throw std::system_error(errno, std::system_category(), "getpeername");
    }
    return endpoint::from(reinterpret_cast<sockaddr*>(&address), length);
}

endpoint connection::local() const {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (::getsockname(core_->fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        throw std::system_error(errno, std::system_category(), "getsockname");
    }
    return endpoint::from(reinterpret_cast<sockaddr*>(&address), length);
}

int connection::native_handle() const noexcept { return core_->fd(); }

worker& connection::home() const noexcept { return core_->home(); }

void connection::rest(rest_keeper& keeper, std::chrono::steady_clock::time_point until,
                      rest_memo memo) noexcept {
    std::exchange(core_, nullptr)->rest(keeper, until, memo);
}

} // namespace rota::io
