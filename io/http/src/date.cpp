#include "date.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <ctime>

namespace rota::http {
namespace {

void put_digits(char* out, unsigned value, int digits) noexcept {
    for (int i = digits - 1; i >= 0; --i) {
        out[i] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
}

struct cached_line {
    static constexpr std::string_view prefix = "Date: ";
    std::int64_t second = -1;
    std::array<char, prefix.size() + http_date_size + 2> text{};
};

} // namespace

void format_http_date(std::int64_t seconds, char* out) noexcept {
    static constexpr std::string_view days = "SunMonTueWedThuFriSat";
    static constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const auto of_day = static_cast<unsigned>((time - day).count());
    std::memcpy(out, "Xxx, 00 Xxx 0000 00:00:00 GMT", http_date_size);
    std::memcpy(out, days.data() + std::size_t{3} * std::chrono::weekday(day).c_encoding(), 3);
    put_digits(out + 5, static_cast<unsigned>(date.day()), 2);
    std::memcpy(out + 8, months.data() + std::size_t{3} * (static_cast<unsigned>(date.month()) - 1),
                3);
    put_digits(out + 12, static_cast<unsigned>(static_cast<int>(date.year())), 4);
    put_digits(out + 17, of_day / 3600, 2);
    put_digits(out + 20, of_day / 60 % 60, 2);
    put_digits(out + 23, of_day % 60, 2);
}

std::string_view date_line() noexcept {
    thread_local cached_line line;
    const std::int64_t now = std::time(nullptr);
    if (now != line.second) {
        line.second = now;
        char* out = line.text.data();
        std::memcpy(out, cached_line::prefix.data(), cached_line::prefix.size());
        format_http_date(now, out + cached_line::prefix.size());
        std::memcpy(out + cached_line::prefix.size() + http_date_size, "\r\n", 2);
    }
    return {line.text.data(), line.text.size()};
}

} // namespace rota::http
