#include <rota/io/log.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <rota/detail/one_line.hpp>

namespace rota::log {
namespace {

spdlog::level::level_enum named(level of) noexcept {
    switch (of) {
    case level::debug:
        return spdlog::level::debug;
    case level::info:
        return spdlog::level::info;
    case level::warn:
        return spdlog::level::warn;
    case level::error:
        return spdlog::level::err;
    case level::critical:
        break;
    }
    return spdlog::level::critical;
}

/// Null if there is none, nor memory for one.
spdlog::logger* logger() noexcept {
    try {
        return spdlog::default_logger_raw();
    } catch (const std::exception&) {
        return nullptr;
    }
}

} // namespace

bool takes(level of) noexcept {
    const spdlog::logger* const to = logger();
    return to != nullptr && (to->should_log(named(of)) || to->should_backtrace());
}

void write(level of, fmt::string_view format, fmt::format_args with) noexcept {
    spdlog::logger* const to = logger();
    if (to == nullptr)
        return;
    fmt::memory_buffer line; // short ones need no memory
    std::string escaped;
    spdlog::string_view_t text(format.data(), format.size());
    try {
        fmt::vformat_to(fmt::appender(line), format, with);
        const std::string_view formatted(line.data(), line.size());
        if (!detail::is_one_line(formatted))
            escaped = detail::one_line(std::string(formatted));
        text = escaped.empty() ? spdlog::string_view_t(formatted.data(), formatted.size())
                               : spdlog::string_view_t(escaped);
    } catch (const std::exception&) {
        // There is no memory for it: the level and the words are better than nothing.
    }
    to->log(named(of), text);
}

} // namespace rota::log
