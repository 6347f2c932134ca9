#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include <spdlog/common.h>
#include <spdlog/sinks/base_sink.h>

namespace spdlog::details {
class thread_pool;
}

namespace rota_http {

/// Writes to a descriptor, and gives up where that would take long: a reader that is slow (a pipe
/// that nothing empties) holds up nothing, not even the end of the program. Lines that were given
/// up are counted and told of when it goes on. Any thread.
class patient_sink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    /// `fd` stays the caller's.
    explicit patient_sink(int fd) : fd_(fd) {}

private:
    void sink_it_(const spdlog::details::log_msg& message) override;
    void flush_() override {}
    bool write_line(const char* data, std::size_t size);
    bool writable();

    const int fd_;
    bool stuck_ = false;
    std::uint64_t lost_ = 0;
};

/// While it lives spdlog's default logger writes to stderr, from a thread of its own: a log line
/// never blocks a worker, the oldest are lost if they come too fast. Made once, by main().
class logging {
public:
    explicit logging(spdlog::level::level_enum level);
    ~logging();
    logging(const logging&) = delete;
    logging& operator=(const logging&) = delete;

private:
    std::shared_ptr<spdlog::details::thread_pool> writer_;
};

} // namespace rota_http
