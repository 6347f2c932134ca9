#include "run.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace pace {
namespace {

constexpr nanoseconds lead = second / 100;   // from the last connection to the first request
constexpr nanoseconds patience = 2 * second; // for answers, after the last request
constexpr nanoseconds awake_before = 50'000; // see wait()
constexpr std::size_t events_at_once = 16;   // so that what is due waits for few answers

class epoll_set {
public:
    epoll_set() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
        if (fd_ < 0)
            throw std::system_error(errno, std::system_category(), "epoll_create1");
    }
    ~epoll_set() { ::close(fd_); }
    epoll_set(const epoll_set&) = delete;
    epoll_set& operator=(const epoll_set&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_; }

    /// What is ready, once something is or `left` is nearly over. A sleeping core takes tens of
    /// microseconds to wake up, so the last of the time is not slept but looked away.
    std::span<const epoll_event> wait(nanoseconds left) {
        left = std::max(nanoseconds{0}, left - awake_before);
        const timespec timeout{.tv_sec = left / second, .tv_nsec = left % second};
        const int count = ::epoll_pwait2(fd_, events_.data(), static_cast<int>(events_.size()),
                                         &timeout, nullptr);
        if (count < 0 && errno != EINTR)
            throw std::system_error(errno, std::system_category(), "epoll_pwait2");
        return std::span(events_).first(static_cast<std::size_t>(std::max(count, 0)));
    }

private:
    int fd_;
    std::array<epoll_event, events_at_once> events_{};
};

nanoseconds to_ns(double seconds) { return std::llround(seconds * static_cast<double>(second)); }

} // namespace

measurement run(const settings& asked) {
    ::prctl(PR_SET_TIMERSLACK, 1UL); // by default the kernel may wake up 50 us late
    const address server(asked.host, asked.port);
    const std::string host = asked.host.find(':') == std::string::npos
                                 ? asked.host + ':' + asked.port
                                 : '[' + asked.host + "]:" + asked.port;
    epoll_set epoll;
    std::vector<std::unique_ptr<traffic>> streams;
    streams.push_back(std::make_unique<traffic>(server, host, asked.light, epoll.fd()));
    if (asked.heavy)
        streams.push_back(std::make_unique<traffic>(server, host, *asked.heavy, epoll.fd()));

    period when{.begin = now() + lead};
    when.measured = when.begin + to_ns(asked.warmup);
    when.end = when.measured + to_ns(asked.seconds);
    for (const auto& stream : streams)
        stream->begin(when);

    measurement taken;
    const nanoseconds begun = now();
    const nanoseconds deadline = when.end + patience;
    nanoseconds waited = 0;
    for (;;) {
        nanoseconds next = deadline;
        bool finished = true;
        for (const auto& stream : streams) {
            stream->give_out(taken.lateness);
            next = std::min(next, stream->next_due());
            finished = finished && stream->finished();
        }
        const nanoseconds before = now();
        if (finished || before >= deadline)
            break;
        const std::span<const epoll_event> events = epoll.wait(next - before);
        waited += now() - before;
        for (const epoll_event& event : events) {
            auto* const ready = static_cast<connection*>(event.data.ptr);
            ready->owner->read(*ready);
        }
    }
    taken.busy = 1 - static_cast<double>(waited) / static_cast<double>(now() - begun);
    for (const auto& stream : streams)
        stream->give_up();
    taken.light = streams.front()->result();
    if (asked.heavy)
        taken.heavy = streams.back()->result();
    return taken;
}

} // namespace pace
