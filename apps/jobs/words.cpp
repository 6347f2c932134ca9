#include "words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace jobs {
namespace {

constexpr std::array<std::string_view, 4> states{"queued", "delayed", "in_progress", "dead"};
constexpr std::array<std::string_view, 15> kinds{
    "added",    "taken",   "completed", "retried", "expired", "abandoned", "died",      "due",
    "extended", "deleted", "revived",   "purged",  "paused",  "resumed",   "configured"};

void append_padded(std::string& out, std::int64_t number, std::size_t width) {
    const std::string digits = std::to_string(number);
    out.append(width - std::min(width, digits.size()), '0').append(digits);
}

} // namespace

std::optional<std::uint64_t> read_id(std::string_view text) noexcept {
    std::uint64_t id = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, id);
    if (error != std::errc() || stop != end || id == 0 || text.front() == '0')
        return std::nullopt;
    return id;
}

bool is_queue_name(std::string_view name) noexcept {
    constexpr std::size_t size_max = 128;
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

} // namespace jobs
