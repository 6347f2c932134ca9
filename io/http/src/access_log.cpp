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
#include <pthread.h>
#include <unistd.h>

#include <rota/thread_end.hpp>

#include "access_line.hpp"

namespace rota::http {
namespace {

/// Lines are gathered for so long, so that a busy server wakes the writer ten times a second.
constexpr std::chrono::milliseconds gathering{100};

/// Does not wait for the reader of a pipe: that is ENXIO (man 7 fifo). Writing may wait.
int open_log(const std::string& path) noexcept {
    const int fd = ::open(path.c_str(),
                          O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
    if (fd >= 0)
        ::fcntl(fd, F_SETFL, O_APPEND);
    return fd;
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
                return;
            if (reopening)
                open_again();
            const std::uint64_t written = write_all(batch);
            const std::uint64_t lost = lines_in(batch) - written;
            lock.lock();
            counts_.written += written;
            counts_.failed += lost;
            if (!ending_ && !reopening_)
                wake_.wait_for(lock, gathering, [this] { return ending_ || reopening_; });
        }
    }

    void open_again() {
        const int fd = open_log(options_.path);
        if (fd < 0) {
            report("cannot be opened again: ", errno);
            return;
        }
        ::close(std::exchange(fd_, fd));
        torn_ = false;
    }

    /// How many lines have been written. What could not be is lost.
    std::uint64_t write_all(const std::string& text) {
        std::string_view rest = text;
        if (torn_ && !rest.empty() && ::write(fd_, "\n", 1) == 1)
            torn_ = false;
        while (!rest.empty()) {
            const ssize_t size = ::write(fd_, rest.data(), rest.size());
            if (size < 0 && errno == EINTR)
                continue;
            if (size <= 0) {
                const std::string_view done =
                    std::string_view(text).substr(0, text.size() - rest.size());
                torn_ |= !done.empty() && done.back() != '\n';
                if (!std::exchange(failing_, true))
                    report("cannot be written: ", errno);
                return lines_in(done);
            }
            rest.remove_prefix(static_cast<std::size_t>(size));
        }
        if (!text.empty() && std::exchange(failing_, false))
            report("can be written again");
        return lines_in(text);
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
