#include "logging.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <memory>
#include <string>

#include <poll.h>
#include <unistd.h>

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/spdlog.h>

namespace rota_http {
namespace {

constexpr std::size_t queued_lines = 8'192;
/// How long a reader may take, once.
constexpr int patience_ms = 100;

} // namespace

/// A pipe that is writable takes PIPE_BUF bytes without blocking (man 7 pipe).
bool patient_sink::writable() {
    pollfd waiting{.fd = fd_, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&waiting, 1, stuck_ ? 0 : patience_ms);
    stuck_ = ready == 0;
    return ready > 0;
}

bool patient_sink::write_line(const char* data, std::size_t size) {
    while (size > 0) {
        if (!writable())
            return false;
        const ssize_t written = ::write(fd_, data, std::min<std::size_t>(size, PIPE_BUF));
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (written > 0) {
            data += written;
            size -= static_cast<std::size_t>(written);
        }
    }
    return true;
}

void patient_sink::sink_it_(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (lost_ > 0) {
        const std::string note = std::to_string(lost_) + " log lines were lost\n";
        if (!write_line(note.data(), note.size())) {
            ++lost_;
            return;
        }
        lost_ = 0;
    }
    if (!write_line(line.data(), line.size()))
        ++lost_;
}

logging::logging(spdlog::level::level_enum level) {
    // The thread takes no signals: it is born with all of them blocked.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    writer_ = std::make_shared<spdlog::details::thread_pool>(queued_lines, 1);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

    auto logger = std::make_shared<spdlog::async_logger>(
        "rota", std::make_shared<patient_sink>(STDERR_FILENO), writer_,
        spdlog::async_overflow_policy::overrun_oldest);
    logger->set_level(level);
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %-5l %v");
    spdlog::set_default_logger(std::move(logger));
}

logging::~logging() {
    writer_.reset(); // writes what is queued, and joins
    spdlog::shutdown();
}

} // namespace rota_http
