#include "words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace jobs {
namespace {

constexpr std::array<std::string_view, 4> states{"queued", "delayed", "in_progress", "dead"};
constexpr std::array<std::string_view, 4> causes{"", "failed", "lease_ended", "abandoned"};
constexpr std::array<std::string_view, 16> kinds{
    "added",    "taken",   "completed", "retried", "expired", "abandoned", "died",       "due",
    "extended", "deleted", "revived",   "purged",  "paused",  "resumed",   "configured", "removed"};

void append_padded(std::string& out, std::int64_t number, std::size_t width) {
    const std::string digits = std::to_string(number);
    out.append(width - std::min(width, digits.size()), '0').append(digits);
}

/// Takes a number of so many digits from the front; -1 if it is not there.
int take_digits(std::string_view& text, std::size_t count) noexcept {
    int number = 0;
    const std::string_view digits = text.substr(0, count);
    const bool good = digits.size() == count &&
                      std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    if (!good || std::from_chars(digits.data(), digits.data() + count, number).ec != std::errc())
        return -1;
    text.remove_prefix(count);
    return number;
}

/// Takes one of these characters from the front.
bool take_any_of(std::string_view& text, std::string_view characters) noexcept {
    if (text.empty() || characters.find(text.front()) == std::string_view::npos)
        return false;
    text.remove_prefix(1);
    return true;
}

/// "Z", "+01:30", "-08:00" at the end of a time: how much it is ahead of UTC.
std::optional<std::chrono::minutes> read_offset(std::string_view text) noexcept {
    if (text == "Z" || text == "z")
        return std::chrono::minutes(0);
    const bool behind = text.starts_with('-');
    if (!take_any_of(text, "+-"))
        return std::nullopt;
    const int hours = take_digits(text, 2);
    const bool colon = take_any_of(text, ":");
    const int minutes = take_digits(text, 2);
    if (hours < 0 || hours > 23 || !colon || minutes < 0 || minutes > 59 || !text.empty())
        return std::nullopt;
    const std::chrono::minutes ahead = std::chrono::hours(hours) + std::chrono::minutes(minutes);
    return behind ? -ahead : ahead;
}

} // namespace

std::optional<std::uint64_t> read_id(std::string_view text) noexcept {
    constexpr std::size_t digits_max = 13; // no queue has more than 2^40
    std::uint64_t id = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, id);
    if (error != std::errc() || stop != end || id == 0 || text.front() == '0' ||
        text.size() > digits_max)
        return std::nullopt;
    return id;
}

bool is_queue_name(std::string_view name) noexcept {
    constexpr std::size_t size_max = 128;
    if (name == "." || name == "..") // clients and proxies take these out of a path
        return false;
    return !name.empty() && name.size() <= size_max && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    });
}

std::string_view to_string(job_state state) noexcept {
    return states[static_cast<std::size_t>(state)];
}

std::optional<job_state> read_state(std::string_view text) noexcept {
    const auto found = std::ranges::find(states, text);
    if (found == states.end())
        return std::nullopt;
    return static_cast<job_state>(found - states.begin());
}

std::string_view to_string(change_kind kind) noexcept {
    return kinds[static_cast<std::size_t>(kind)];
}

std::string_view to_string(job_cause cause) noexcept {
    return causes[static_cast<std::size_t>(cause)];
}

std::optional<job_cause> read_cause(std::string_view text) noexcept {
    const auto found = std::ranges::find(causes, text);
    if (text.empty() || found == causes.end())
        return std::nullopt;
    return static_cast<job_cause>(found - causes.begin());
}

refusal_words words_of(add_outcome outcome) noexcept {
    switch (outcome) {
    case add_outcome::duplicate:
        return {409, "duplicate", "a job with this key is there already"};
    case add_outcome::full:
        return {429, "queue_full", "the queue takes no more jobs for now"};
    case add_outcome::too_large:
        return {413, "payload_too_large", "the payload is larger than this queue takes"};
    case add_outcome::too_many_queues:
        return {429, "too_many_queues", "there are too many queues that hold jobs"};
    case add_outcome::mismatched:
        return {422, "idempotency_key_reused", "this Idempotency-Key came with another job before"};
    case add_outcome::out_of_ids:
        return {503, "out_of_ids", "this queue has given out all of its ids: use another queue"};
    case add_outcome::added:
    case add_outcome::replayed:
        break;
    }
    return {500, "internal", "the job was added"};
}

std::string_view code_of(store_fault why) noexcept {
    return why == store_fault::unknown ? "outcome_unknown" : "store_unavailable";
}

std::string time_text(time_ms when) {
    using namespace std::chrono;
    const sys_time<milliseconds> time{milliseconds(when)};
    const sys_days day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock(time - day);
    std::string text;
    text.reserve(24);
    append_padded(text, int{date.year()}, 4);
    append_padded(text += '-', unsigned{date.month()}, 2);
    append_padded(text += '-', unsigned{date.day()}, 2);
    append_padded(text += 'T', clock.hours().count(), 2);
    append_padded(text += ':', clock.minutes().count(), 2);
    append_padded(text += ':', clock.seconds().count(), 2);
    append_padded(text += '.', clock.subseconds().count(), 3);
    text += 'Z';
    return text;
}

std::optional<time_ms> read_time(std::string_view text) noexcept {
    using namespace std::chrono;
    std::array<int, 6> parts{}; // year, month, day, hours, minutes, seconds
    constexpr std::array<std::string_view, 6> behind{"-", "-", "Tt ", ":", ":", ""};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i] = take_digits(text, i == 0 ? 4 : 2);
        if (parts[i] < 0 || (!behind[i].empty() && !take_any_of(text, behind[i])))
            return std::nullopt;
    }
    const year_month_day date{year{parts[0]}, month{static_cast<unsigned>(parts[1])},
                              day{static_cast<unsigned>(parts[2])}};
    if (!date.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 60)
        return std::nullopt;
    time_ms fraction = 0;
    if (take_any_of(text, ".")) {
        time_ms worth = 100;
        bool more = false;
        const std::string_view before = text;
        for (int digit = take_digits(text, 1); digit >= 0; digit = take_digits(text, 1)) {
            fraction += digit * worth;
            more |= worth == 0 && digit != 0;
            worth /= 10;
        }
        fraction += more ? 1 : 0;
        if (text.size() == before.size())
            return std::nullopt;
    }
    const std::optional<minutes> ahead = read_offset(text);
    if (!ahead)
        return std::nullopt;
    const auto minute = sys_days(date) + hours(parts[3]) + minutes(parts[4]) - *ahead;
    if (parts[5] == 60 && floor<days>(minute + minutes(1)) != minute + minutes(1))
        return std::nullopt; // a leap second is the last of a day
    const auto when = minute + seconds(parts[5]);
    return duration_cast<milliseconds>(when.time_since_epoch()).count() + fraction;
}

} // namespace jobs
