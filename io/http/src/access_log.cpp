#include <rota/http/access_log.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <rota/thread_end.hpp>

#include "access_line.hpp"

namespace rota::http {
namespace {

/// Lines are gathered for so long, so that a busy server wakes the writer ten times a second.
constexpr std::chrono::milliseconds gathering{100};
/// For a pipe that is not read to take what is left at the end.
constexpr std::chrono::seconds ending_limit{1};

/// Does not wait for the reader of a pipe: that is ENXIO (man 7 fifo); nor does writing.
int open_log(const std::string& path) noexcept {
    return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                  0640);
}

std::string what_failed(int error) {
    return error == ENXIO ? "nothing reads this pipe" : std::system_category().message(error);
}

std::uint64_t lines_in(std::string_view text) noexcept {
    return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

} // namespace

/// The thread that writes. Workers add to `waiting_` under the lock, which is held for as long as
/// it takes to copy a line, and wake the thread only if it sleeps without an end: then it takes all
/// that there is, writes it with the lock open, and gathers more for a while.
class access_log::writer {
public:
    writer(const access_log_options& options, int fd)
        : options_(options), fd_(fd), thread_(start()) {}
    ~writer() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        wake_.notify_one();
        thread_.join();
        ::close(fd_);
    }
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;

    void add(std::string_view line) {
        bool wakes = false;
        {
            const std::lock_guard lock(mutex_);
            if (line.size() > options_.memory_bytes_max - waiting_.size()) {
                ++counts_.dropped;
                return;
            }
            waiting_.append(line);
            wakes = std::exchange(sleeps_, false);
        }
        if (wakes)
            wake_.notify_one();
    }

    void reopen() noexcept {
        {
            const std::lock_guard lock(mutex_);
            reopening_ = true;
            sleeps_ = false;
        }
        wake_.notify_one();
    }

    [[nodiscard]] counts counted() const noexcept {
        const std::lock_guard lock(mutex_);
        return counts_;
    }

private:
    /// Signals are for other threads: it is born with all of them blocked.
    std::jthread start() {
        sigset_t all;
        sigset_t before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        std::jthread started;
        try {
            started = std::jthread([this] { run(); });
        } catch (...) {
            ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
            ::close(fd_);
            throw;
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return started;
    }

    void run() {
        ::pthread_setname_np(::pthread_self(), "rota-access");
        std::string batch;
        std::unique_lock lock(mutex_);
        for (;;) {
            if (waiting_.empty() && !reopening_ && !ending_) {
                sleeps_ = true;
                wake_.wait(lock, [this] { return !sleeps_ || ending_; });
            }
            const bool reopening = std::exchange(reopening_, false);
            batch.clear();
            batch.swap(waiting_);
            const bool ended = ending_ && batch.empty() && !reopening;
            const std::uint64_t dropped = std::exchange(untold_, counts_.dropped);
            const std::uint64_t now_dropped = counts_.dropped;
            lock.unlock();
            if (now_dropped > dropped)
                report_drops(now_dropped - dropped);
            if (ended)
                return report_losses();
            if (reopening)
                open_again();
            const std::uint64_t lost = write_all(batch);
            lock.lock();
            counts_.written += lines_in(batch) - lost;
            counts_.failed += lost;
            if (!ending_ && !reopening_)
                wake_.wait_for(lock, gathering, [this] { return ending_ || reopening_; });
        }
    }

    bool open_again() {
        const int fd = open_log(options_.path);
        if (fd < 0) {
            report("cannot be opened again: ", errno);
            return false;
        }
        ::close(std::exchange(fd_, fd));
        torn_ = false;
        return true;
    }

    /// How many lines are lost, since they could not be written.
    std::uint64_t write_all(const std::string& text) {
        std::string_view rest = text;
        std::uint64_t lost = 0;
        const auto is_within_line = [&] {
            return rest.size() < text.size() && text[text.size() - rest.size() - 1] != '\n';
        };
        if (torn_ && !rest.empty() && ::write(fd_, "\n", 1) == 1)
            torn_ = false;
        while (!rest.empty()) {
            const ssize_t size = ::write(fd_, rest.data(), rest.size());
            if (size > 0) {
                rest.remove_prefix(static_cast<std::size_t>(size));
                continue;
            }
            const int error = errno;
            if (error == EINTR)
                continue;
            const after_wait next = error == EAGAIN ? wait_for_room() : after_wait::gives_up;
            if (next == after_wait::gives_up) {
                torn_ |= is_within_line();
                if (!std::exchange(failing_, true))
                    report("cannot be written: ", error);
                lost += lines_in(rest);
                lost_ += lost;
                return lost;
            }
            if (next == after_wait::in_another && is_within_line()) {
                rest.remove_prefix(rest.find('\n') + 1);
                ++lost;
            }
        }
        lost_ += lost;
        if (!text.empty() && std::exchange(failing_, false)) {
            report("can be written again");
            report_losses();
        }
        return lost;
    }

    enum class after_wait : std::uint8_t { goes_on, in_another, gives_up };

    /// Of a pipe. Looks now and then whether it is to be opened anew, or to end.
    after_wait wait_for_room() {
        bool reopening = false;
        {
            const std::lock_guard lock(mutex_);
            reopening = std::exchange(reopening_, false);
            const auto now = std::chrono::steady_clock::now();
            if (ending_ && end_by_ == end_by_.max())
                end_by_ = now + ending_limit;
            if (now >= end_by_)
                return after_wait::gives_up;
        }
        if (reopening && open_again())
            return after_wait::in_another;
        pollfd room{.fd = fd_, .events = POLLOUT, .revents = 0};
        (void)::poll(&room, 1, static_cast<int>(gathering.count()));
        return after_wait::goes_on;
    }

    void tell(const std::string& what) const {
        const std::string line = "access log " + options_.path + ": " + what;
        if (options_.report)
            options_.report(line);
        else
            std::fprintf(stderr, "%s\n", line.c_str());
    }

    // What cannot be told for want of memory, or because that throws, is not told.

    void report(const char* what, int error = 0) const noexcept {
        try {
            tell(error == 0 ? what : what + what_failed(error));
        } catch (...) { // NOLINT(bugprone-empty-catch)
        }
    }
    void report_losses() noexcept {
        try {
            if (lost_ != 0)
                tell(std::to_string(lost_) + " lines were lost");
            lost_ = 0;
        } catch (...) { // NOLINT(bugprone-empty-catch)
        }
    }
    void report_drops(std::uint64_t lines) const noexcept {
        try {
            tell(std::to_string(lines) + " lines were dropped: it is too slow");
        } catch (...) { // NOLINT(bugprone-empty-catch)
        }
    }

    const access_log_options& options_;

    // -- the thread's own
    int fd_;
    bool torn_ = false;    // the file ends within a line
    bool failing_ = false; // so it was told
    std::uint64_t untold_ = 0;
    std::uint64_t lost_ = 0; // that was not told either
    std::chrono::steady_clock::time_point end_by_ = std::chrono::steady_clock::time_point::max();

    mutable std::mutex mutex_; // guards what follows
    std::condition_variable wake_;
    std::string waiting_; // whole lines
    bool sleeps_ = false; // until there is a line
    bool reopening_ = false;
    bool ending_ = false;
    counts counts_;

    std::jthread thread_; // last: it uses all of them
};

access_log::access_log(access_log_options options)
    : options_(std::move(options)), writer_([this] {
          const int fd = open_log(options_.path);
          if (fd < 0) {
              throw std::system_error(errno, std::system_category(),
                                      "cannot open access log " + options_.path);
          }
          return std::make_unique<writer>(options_, fd);
      }()) {}

access_log::~access_log() = default;

void access_log::write(const access_entry& entry) {
    auto& line = kept_by_thread<std::string, access_log>();
    line.clear();
    append_access_line(line, entry, options_.format, std::chrono::system_clock::now(),
                       options_.field_bytes_max);
    writer_->add(line);
}

void access_log::reopen() noexcept { writer_->reopen(); }

access_log::counts access_log::counted() const noexcept { return writer_->counted(); }

std::function<void(const access_entry&)> access_log::hook(std::shared_ptr<access_log> self) {
    return [self = std::move(self)](const access_entry& entry) { self->write(entry); };
}

} // namespace rota::http
