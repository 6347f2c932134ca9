#include <rota/io/detail/log.hpp>

#include <exception>
#include <string>
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
    std::string line;
    spdlog::string_view_t text(format.data(), format.size());
    try {
        line = detail::one_line(fmt::vformat(format, with));
        text = {line.data(), line.size()};
    } catch (const std::exception&) {
        // There is no memory for it: the level and the words are better than nothing.
    }
    to->log(named(of), text);
}

} // namespace rota::log
