#pragma once

#include <fmt/core.h>

/// Lines for spdlog's default logger, as spdlog's own functions write them; but what formats them
/// is compiled once, not again in each source. What is put into a line does not begin another one:
/// control characters are `\xNN`.
namespace rota::log {

enum class level : unsigned char { debug, info, warn, error, critical };

/// Returns whether the logger takes lines of this level.
[[nodiscard]] bool takes(level of) noexcept;
/// Writes a line. Without memory for it, `format` is written as it is.
void write(level of, fmt::string_view format, fmt::format_args with) noexcept;

#define ROTA_LOG(name)                                                                             \
    template <class... T>                                                                          \
    void name(fmt::format_string<T...> format, T&&... with) noexcept {                             \
        if (takes(level::name))                                                                    \
            write(level::name, format, fmt::make_format_args(with...));                            \
    }

ROTA_LOG(debug)
ROTA_LOG(info)
ROTA_LOG(warn)
ROTA_LOG(error)
ROTA_LOG(critical)

#undef ROTA_LOG

} // namespace rota::log
