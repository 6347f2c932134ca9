#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "address.hpp"
#include "answer.hpp"
#include "clock.hpp"
#include "histogram.hpp"
#include "settings.hpp"

namespace pace {

/// When requests are due. What is due before `measured` warms up.
struct period {
    nanoseconds begin = 0;
    nanoseconds measured = 0;
    nanoseconds end = 0;
};

/// What became of the requests that were measured.
struct outcome {
    histogram latency;        // in ns; an unanswered request counts as long as it was waited for
    std::uint64_t warmup = 0; // answers to requests that only warmed up
    std::uint64_t within = 0; // answered before the end of the period
    std::uint64_t lost = 0;   // the connection ended instead
    std::uint64_t unanswered = 0;  // when waiting for it was given up
    std::uint64_t reconnected = 0; // connections that the server ended between two requests
};

class traffic;

/// One at a time is on its way; what is due meanwhile waits here.
struct connection {
    traffic* owner = nullptr;
    std::uint64_t slot = 0; // its number
    int fd = -1;
    std::uint64_t due = 0;  // requests that were given to it
    std::uint64_t done = 0; // of those, answered or lost
    bool busy = false;      // the next of them has been sent
    bool proven = false;    // it has answered since it was connected
    answer_reader answer;
};

/// One stream of requests: request number k is due at begin + k / rate, on connection
/// k modulo their number, whatever became of those before it. Used by one thread.
class traffic {
public:
    /// Connects. `epoll` gets the connections, each with its address as data. Throws
    /// std::system_error.
    traffic(const address& server, const std::string& host, const stream_settings& settings,
            int epoll);
    ~traffic();
    traffic(const traffic&) = delete;
    traffic& operator=(const traffic&) = delete;

    void begin(const period& when);
    /// Gives the requests that are due to their connections; notes in `lateness` how late it did.
    void give_out(histogram& lateness);
    /// When the next one is due; never if all were given out.
    [[nodiscard]] nanoseconds next_due() const;
    /// Reads what a connection has. Throws std::runtime_error for a wrong answer.
    void read(connection& from);
    /// Whether all requests were given out and answered.
    [[nodiscard]] bool finished() const;
    /// Counts what has no answer yet.
    void give_up();

    [[nodiscard]] const outcome& result() const noexcept { return outcome_; }

private:
    [[nodiscard]] nanoseconds due_at(std::uint64_t request) const;
    [[nodiscard]] nanoseconds due_at(const connection& of, std::uint64_t turn) const;
    [[nodiscard]] bool measured(nanoseconds due) const { return due >= period_.measured; }
    void connect(connection& which);
    void send_next(connection& to);
    void answered(connection& by);
    void ended(connection& which);
    [[noreturn]] void fail(const std::string& what) const;

    const address& server_;
    const std::string path_;
    const std::string request_;
    const double interval_; // ns
    const int epoll_;
    std::vector<connection> connections_;
    std::vector<char> buffer_;
    period period_;
    std::uint64_t total_ = 0;
    std::uint64_t given_ = 0;
    std::uint64_t done_ = 0;
    outcome outcome_;
};

} // namespace pace
