#include <rota/http/date.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>

namespace rota::http {
namespace {

constexpr std::string_view days = "SunMonTueWedThuFriSat";
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";

void put_digits(char* out, unsigned value, int places) noexcept {
    for (int i = places - 1; i >= 0; --i) {
        out[i] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
}

/// The number that a text of digits is, a space at its front counting for a zero if `padded`; -1 if
/// it is none.
int number_of(std::string_view text, bool padded = false) noexcept {
    int value = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = padded && i == 0 && text[i] == ' ' ? '0' : text[i];
        if (c < '0' || c > '9')
            return -1;
        value = value * 10 + (c - '0');
    }
    return value;
}

/// Where in a row of names of three letters a name is; -1 if it is none of them.
int place_of(std::string_view name, std::string_view names) noexcept {
    for (std::size_t i = 0; i < names.size(); i += 3) {
        if (names.substr(i, 3) == name)
            return static_cast<int>(i / 3);
    }
    return -1;
}

/// "08:49:37" of a day; nothing for what is no time.
std::optional<std::chrono::seconds> time_of_day(std::string_view text) noexcept {
    if (text[2] != ':' || text[5] != ':')
        return std::nullopt;
    const int hour = number_of(text.substr(0, 2));
    const int minute = number_of(text.substr(3, 2));
    const int second = number_of(text.substr(6, 2));
    const bool valid = hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 &&
                       second <= 60; // a leap second
    if (!valid)
        return std::nullopt;
    return std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second);
}

std::optional<std::chrono::sys_seconds> assemble(int year, std::string_view month, int day,
                                                 std::string_view time) noexcept {
    const int index = place_of(month, months);
    const auto of_day = time_of_day(time);
    if (year < 0 || index < 0 || day < 1 || !of_day)
        return std::nullopt;
    const std::chrono::year_month_day date(std::chrono::year(year),
                                           std::chrono::month(static_cast<unsigned>(index) + 1),
                                           std::chrono::day(static_cast<unsigned>(day)));
    if (!date.ok())
        return std::nullopt;
    return std::chrono::sys_days(date) + *of_day;
}

/// "06-Nov-94 08:49:37 GMT" (RFC 850), behind the name of the day.
std::optional<std::chrono::sys_seconds>
parse_old(std::string_view text, std::chrono::system_clock::time_point now) noexcept {
    if (text.size() != 22 || text[2] != '-' || text[6] != '-' || text[9] != ' ' ||
        !text.ends_with(" GMT")) {
        return std::nullopt;
    }
    const int two_digits = number_of(text.substr(7, 2));
    if (two_digits < 0)
        return std::nullopt;
    // The latest that is no more than 50 years ahead (RFC 9110 section 5.6.7).
    const auto today = std::chrono::floor<std::chrono::days>(now);
    const auto ahead = std::chrono::year_month_day(today) + std::chrono::years(50);
    const auto latest = std::chrono::sys_days(ahead) + (now - today);
    const int last_year = static_cast<int>(ahead.year());
    const int year = last_year - (last_year % 100 - two_digits + 100) % 100;
    for (const int each : {year, year - 100}) {
        const auto found =
            assemble(each, text.substr(3, 3), number_of(text.substr(0, 2)), text.substr(10, 8));
        if (found && *found <= latest)
            return found;
    }
    return std::nullopt;
}

struct cached_line {
    static constexpr std::string_view prefix = "Date: ";
    std::int64_t second = -1;
    std::array<char, prefix.size() + http_date_size + 2> text{};
};

} // namespace

void format_http_date(std::int64_t seconds, char* out) noexcept {
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

std::string http_date(std::chrono::sys_seconds time) {
    std::string text(http_date_size, ' ');
    format_http_date(time.time_since_epoch().count(), text.data());
    return text;
}

std::optional<std::chrono::sys_seconds>
parse_http_date(std::string_view text, std::chrono::system_clock::time_point now) noexcept {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) { // "Sun Nov  6 08:49:37 1994", as asctime() has it
        if (text.size() != 24 || place_of(text.substr(0, 3), days) < 0 || text[3] != ' ' ||
            text[7] != ' ' || text[10] != ' ' || text[19] != ' ') {
            return std::nullopt;
        }
        return assemble(number_of(text.substr(20, 4)), text.substr(4, 3),
                        number_of(text.substr(8, 2), true), text.substr(11, 8));
    }
    if (comma > 3) {
        static constexpr std::array<std::string_view, 7> names{
            "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
        const bool known =
            std::find(names.begin(), names.end(), text.substr(0, comma)) != names.end();
        if (!known || text.size() < comma + 2 || text[comma + 1] != ' ')
            return std::nullopt;
        return parse_old(text.substr(comma + 2), now);
    }
    if (text.size() != http_date_size || place_of(text.substr(0, comma), days) < 0 ||
        text[4] != ' ' || text[7] != ' ' || text[11] != ' ' || text[16] != ' ' ||
        !text.ends_with(" GMT")) {
        return std::nullopt;
    }
    return assemble(number_of(text.substr(12, 4)), text.substr(8, 3), number_of(text.substr(5, 2)),
                    text.substr(17, 8));
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
