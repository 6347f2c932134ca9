#include "listing.hpp"

#include <algorithm>
#include <charconv>

#include "problem.hpp"
#include "words.hpp"
#include <rota/http/event_stream.hpp>
#include <rota/json/writer.hpp>

namespace jobs {
namespace {

constexpr std::size_t limit_default = 100;
constexpr std::size_t limit_max = 1'000;

template <class Number>
bool read_number(std::string_view text, Number& into) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, into);
    return error == std::errc() && stop == end;
}

void write_counts(rota::json::writer& w, const queue_counts& c) {
    w.key("counts").begin_object();
    w.member("queued", c.queued).member("delayed", c.delayed);
    w.member("in_progress", c.in_progress).member("dead", c.dead);
    w.member("added", c.added).member("completed", c.completed);
    w.member("failures", c.failures).member("expired", c.expired);
    w.member("duplicates", c.duplicates);
    w.member("queued_ms", c.queued_ms).member("in_progress_ms", c.in_progress_ms);
    w.end_object();
}

void write_oldest(rota::json::writer& w, const queue_info& queue, time_ms now) {
    w.key("oldest_age_ms");
    if (queue.oldest) {
        w.value(std::max<std::int64_t>(now - *queue.oldest, 0));
    } else {
        w.null();
    }
}

/// 0 stands for what is usual.
template <class Number>
void write_setting(rota::json::writer& w, std::string_view name, Number value) {
    w.key(name);
    if (value == 0) {
        w.null();
    } else {
        w.value(value);
    }
}

template <class Number>
void write_if_said(rota::json::writer& w, std::string_view name,
                   const std::optional<Number>& value) {
    w.key(name);
    if (value) {
        w.value(*value);
    } else {
        w.null();
    }
}

/// 1500 is 1.5, 2000 is 2.
std::string thousandths(std::uint32_t number) {
    std::string text = std::to_string(number / 1'000);
    const std::string rest = std::to_string(1'000 + number % 1'000);
    text.append(".").append(rest.substr(1));
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.'))
        text.pop_back();
    return text;
}

void write_backoff(rota::json::writer& w, const backoff_settings& b) {
    w.key("backoff").begin_object();
    write_if_said(w, "after", b.after);
    write_if_said(w, "initial_ms", b.initial_ms);
    w.key("factor");
    if (b.factor_milli) {
        w.raw(thousandths(*b.factor_milli));
    } else {
        w.null();
    }
    write_if_said(w, "max_ms", b.max_ms);
    w.end_object();
}

void write_job(rota::json::writer& w, const job_info& job) {
    w.begin_object().member("id", id_text(job.id)).member("key", job.key);
    w.key("payload").raw(job.payload).member("state", to_string(job.state));
    w.member("priority", job.priority).member("attempts", job.attempts);
    w.member("duplicates", job.duplicates).member("added_at", time_text(job.added_at));
    if (job.state == job_state::in_progress)
        w.member("lease_expires_at", time_text(job.due_at));
    const bool has_failed = job.cause != job_cause::none;
    if (job.state == job_state::delayed)
        w.member("due_at", time_text(job.due_at));
    if (job.state == job_state::delayed && has_failed)
        w.member("retry_at", time_text(job.due_at));
    if (job.state == job_state::dead || (job.state == job_state::delayed && has_failed))
        w.member("failed_at", time_text(job.since));
    if (has_failed)
        w.member("cause", to_string(job.cause));
    w.member("queued_ms", job.queued_ms).member("in_progress_ms", job.in_progress_ms);
    if (!job.error.empty())
        w.member("error", job.error);
    w.end_object();
}

std::size_t read_limit_up_to(const std::string& text, std::size_t most) {
    std::size_t limit = 0;
    if (!read_number(text, limit) || limit < 1 || limit > most) {
        throw problem(400, "invalid_request",
                      "limit has to be an integer from 1 to " + std::to_string(most));
    }
    return limit;
}

} // namespace

std::size_t read_limit(const std::optional<std::string>& given) {
    return given ? read_limit_up_to(*given, limit_max) : limit_default;
}

std::string cursor_text(const job_info& last) {
    return std::to_string(priority_max - last.priority) + '-' + id_text(last.id);
}

position read_cursor(const std::optional<std::string>& given) {
    position result;
    if (!given)
        return result;
    const std::string_view text = *given;
    const std::size_t dash = text.find('-');
    const auto id = dash == std::string_view::npos ? std::nullopt : read_id(text.substr(dash + 1));
    if (dash != 1 || !id || *id >> 40 != 0 || !read_number(text.substr(0, dash), result.rank) ||
        result.rank > priority_max)
        throw problem(400, "invalid_request", "cursor is none that this list has given");
    result.id = *id;
    return result;
}

std::string describe_queue(std::string_view name, const std::optional<queue_info>& queue,
                           time_ms now) {
    const queue_info info = queue.value_or(queue_info{});
    const queue_settings& s = info.settings;
    std::string body;
    rota::json::writer w(body);
    w.begin_object().member("queue", name).member("paused", s.paused);
    w.key("settings").begin_object();
    write_setting(w, "max_jobs", s.max_jobs);
    write_setting(w, "max_attempts", s.max_attempts);
    write_setting(w, "lease_ms", s.lease_ms);
    write_setting(w, "payload_bytes_max", s.payload_bytes_max);
    w.member("paused", s.paused);
    write_backoff(w, s.backoff);
    w.end_object();
    write_counts(w, info.counts);
    write_oldest(w, info, now);
    w.end_object();
    return body;
}

queues_request read_queues_request(const std::optional<std::string>& limit,
                                   const std::optional<std::string>& cursor) {
    queues_request result;
    if (limit)
        result.limit = read_limit_up_to(*limit, queues_request{}.limit);
    if (cursor && !is_queue_name(*cursor))
        throw problem(400, "invalid_request", "cursor is none that this list has given");
    result.after = cursor.value_or("");
    return result;
}

std::string describe_queues(const queue_list& page, time_ms now) {
    std::string body;
    rota::json::writer w(body);
    w.begin_object().key("queues").begin_array();
    for (const queue_info& each : page.queues) {
        w.begin_object().member("queue", each.name).member("paused", each.settings.paused);
        write_counts(w, each.counts);
        write_oldest(w, each, now);
        w.end_object();
    }
    w.end_array();
    if (page.more)
        w.member("next_cursor", page.queues.back().name);
    w.end_object();
    return body;
}

std::string describe_job(const job_info& job) {
    std::string body;
    rota::json::writer w(body);
    write_job(w, job);
    return body;
}

std::string describe_jobs(const job_list& list) {
    std::string body;
    rota::json::writer w(body);
    w.begin_object().key("jobs").begin_array();
    for (const job_info& job : list.jobs)
        write_job(w, job);
    w.end_array();
    if (list.more)
        w.member("cursor", cursor_text(list.jobs.back()));
    w.end_object();
    return body;
}

std::string describe_taken(const std::vector<taken_job>& jobs) {
    constexpr std::size_t beside = 256; // about as long as what is beside a payload
    std::size_t length = beside;
    for (const taken_job& job : jobs)
        length += job.payload.size() + job.key.size() + beside;
    std::string body;
    body.reserve(length);
    rota::json::writer w(body);
    w.begin_object().key("jobs").begin_array();
    for (const taken_job& job : jobs) {
        w.begin_object().member("id", id_text(job.id)).member("key", job.key);
        w.key("payload").raw(job.payload).member("attempt", job.attempt);
        w.member("lease_id", job.lease_id);
        w.member("lease_expires_at", time_text(job.lease_expires_at)).end_object();
    }
    w.end_array().end_object();
    return body;
}

std::string describe_event(const event& what, time_ms epoch) {
    std::string data;
    rota::json::writer w(data);
    w.begin_object().member("type", to_string(what.kind));
    if (what.job != 0)
        w.member("id", id_text(what.job)).member("attempt", what.attempt);
    w.member("at", time_text(what.at)).end_object();
    rota::http::server_event made(std::move(data));
    made.id(std::to_string(epoch) + '-' + std::to_string(what.number));
    made.type(std::string(to_string(what.kind)));
    return made.text();
}

std::optional<std::uint64_t> read_event_id(std::string_view text, time_ms epoch) {
    const std::string prefix = std::to_string(epoch) + '-';
    std::uint64_t number = 0;
    if (!text.starts_with(prefix) || !read_number(text.substr(prefix.size()), number))
        return std::nullopt;
    return number;
}

} // namespace jobs
