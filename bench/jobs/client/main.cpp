// rota-jobload: clients that add a job, take one and acknowledge it, again and again, as fast as
// answers come; from one thread.
//
//   cycle.cpp   what a client says to Rota's job queue, to Redis lists, to Redis streams
//   resp.cpp    the words of Redis
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "address.hpp"
#include "clock.hpp"
#include "cycle.hpp"
#include "histogram.hpp"

namespace {

using jobload::progress;
using pace::nanoseconds;

constexpr nanoseconds patience = 60 * pace::second; // for cycles to end after the last has begun

struct settings {
    std::string host = "127.0.0.1";
    std::string port;
    jobload::dialect dialect = jobload::dialect::http;
    std::string queue = "bench";
    unsigned clients = 1;
    std::size_t payload_bytes = 100;
    double seconds = 3;
    double warmup = 0.3;
};

struct client {
    int fd = -1;
    std::unique_ptr<jobload::cycle> work;
    std::string arrived;
    nanoseconds begun = 0;
    bool idle = false;
};

class load {
public:
    explicit load(const settings& asked)
        : epoll_(::epoll_create1(EPOLL_CLOEXEC)), clients_(asked.clients) {
        if (epoll_ < 0)
            throw std::system_error(errno, std::system_category(), "epoll_create1");
        const pace::address server(asked.host, asked.port);
        const std::string run = fmt::format("{:x}", std::random_device{}());
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            clients_[i].work = make_cycle(asked.dialect, asked.queue, fmt::format("{}-{}", run, i),
                                          asked.payload_bytes);
            clients_[i].fd = server.connect();
            epoll_event event{.events = EPOLLIN, .data = {.ptr = &clients_[i]}};
            if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, clients_[i].fd, &event) != 0)
                throw std::system_error(errno, std::system_category(), "epoll_ctl");
        }
    }
    load(const load&) = delete;
    load& operator=(const load&) = delete;
    ~load() {
        for (const client& each : clients_)
            ::close(each.fd);
        ::close(epoll_);
    }

    /// Runs it, and prints one line of JSON.
    void run(const settings& asked) {
        measured_ = pace::now() + to_ns(asked.warmup);
        end_ = measured_ + to_ns(asked.seconds);
        for (client& each : clients_) {
            each.begun = pace::now();
            send(each);
        }
        while (idle_ < clients_.size())
            wait();
        fmt::print(R"({{"cycles": {}, "seconds": {}, "rate": {:.1f}, "p50_us": {:.1f}, )"
                   R"("p99_us": {:.1f}, "max_us": {:.1f}, "all": {}}})"
                   "\n",
                   within_, asked.seconds, static_cast<double>(within_) / asked.seconds,
                   in_us(latency_.percentile(50)), in_us(latency_.percentile(99)),
                   in_us(latency_.max()), all_);
    }

private:
    static nanoseconds to_ns(double seconds) {
        return std::llround(seconds * static_cast<double>(pace::second));
    }
    static double in_us(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

    void wait() {
        if (pace::now() > end_ + patience)
            throw std::runtime_error("cycles do not end");
        const int count =
            ::epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), 1000);
        if (count < 0 && errno != EINTR)
            throw std::system_error(errno, std::system_category(), "epoll_wait");
        for (int i = 0; i < count; ++i)
            read(*static_cast<client*>(events_[static_cast<std::size_t>(i)].data.ptr));
    }

    void read(client& from) {
        const ssize_t got = ::recv(from.fd, buffer_.data(), buffer_.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0)
            throw std::runtime_error("the server has ended a connection");
        const std::string_view piece(buffer_.data(), static_cast<std::size_t>(got));
        if (from.idle)
            throw std::runtime_error("an answer to nothing: " + std::string(piece.substr(0, 80)));
        // Nearly always it is whole.
        progress how{};
        if (from.arrived.empty()) {
            how = from.work->answer(piece);
            if (how == progress::more)
                from.arrived = piece;
        } else {
            from.arrived += piece;
            how = from.work->answer(from.arrived);
        }
        if (how == progress::more)
            return;
        from.arrived.clear();
        if (how == progress::whole && !begin_again(from))
            return;
        send(from);
    }

    /// Counts a cycle; whether there is time for another.
    bool begin_again(client& of) {
        const nanoseconds now = pace::now();
        ++all_;
        if (now >= measured_ && now < end_) {
            ++within_;
            latency_.add(static_cast<std::uint64_t>(now - of.begun));
        }
        of.begun = now;
        of.idle = now >= end_;
        idle_ += of.idle ? 1 : 0;
        return !of.idle;
    }

    static void send(client& to) {
        const std::string_view text = to.work->request();
        const ssize_t sent = ::send(to.fd, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent < 0)
            throw std::system_error(errno, std::system_category(), "send");
        if (static_cast<std::size_t>(sent) != text.size())
            throw std::runtime_error("the socket does not take a whole request");
    }

    int epoll_;
    std::vector<client> clients_;
    std::array<epoll_event, 64> events_{};
    std::array<char, std::size_t{64} << 10> buffer_{};
    nanoseconds measured_ = 0;
    nanoseconds end_ = 0;
    pace::histogram latency_; // of cycles
    std::uint64_t within_ = 0;
    std::uint64_t all_ = 0;
    std::size_t idle_ = 0;
};

} // namespace

int main(int argc, char** argv) {
    settings asked;
    CLI::App app("Adds, takes and acknowledges jobs, as fast as answers come. Prints JSON.",
                 "rota-jobload");
    const std::map<std::string, jobload::dialect> dialects{{"http", jobload::dialect::http},
                                                           {"list", jobload::dialect::list},
                                                           {"stream", jobload::dialect::stream}};
    std::string dialect = "http";
    app.add_option("--host", asked.host, "Where the server is")->capture_default_str();
    app.add_option("--port", asked.port, "Its port")->required();
    app.add_option("--dialect", dialect, "What is spoken")->check(CLI::IsMember(&dialects));
    app.add_option("--queue", asked.queue, "The queue's name")->capture_default_str();
    app.add_option("--clients", asked.clients, "Connections, each with one job at a time")
        ->check(CLI::Range(1, 10'000));
    app.add_option("--payload", asked.payload_bytes, "Bytes of a payload")
        ->check(CLI::Range(1, 20'000));
    app.add_option("--seconds", asked.seconds, "How long to measure")
        ->check(CLI::Range(0.1, 3600.0));
    app.add_option("--warmup", asked.warmup, "How long before that")->check(CLI::Range(0.0, 600.0));
    CLI11_PARSE(app, argc, argv);
    try {
        asked.dialect = dialects.at(dialect);
        load(asked).run(asked);
    } catch (const std::exception& error) {
        fmt::print(stderr, "rota-jobload: {}\n", error.what());
        return 1;
    }
    return 0;
}
