#include "job_book.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace sim {
namespace {

/// What follows `name` in `text`, up to the next quote or comma; `text` goes on behind it.
std::string_view take_value(std::string_view& text, std::string_view name) {
    const auto at = text.find(name);
    here().require(at != std::string_view::npos, "a delivery lacks a member");
    text.remove_prefix(at + name.size());
    const std::string_view value = text.substr(0, text.find_first_of("\","));
    text.remove_prefix(value.size());
    return value;
}

} // namespace

std::vector<taken_job> read_jobs(std::string_view body, time_point asked) {
    std::vector<taken_job> jobs;
    while (body.find("\"id\":\"") != std::string_view::npos) {
        taken_job j{.asked = asked};
        j.id = take_value(body, "\"id\":\"");
        j.key = take_value(body, "\"key\":\"");
        const std::string_view attempt = take_value(body, "\"attempt\":");
        std::from_chars(attempt.data(), attempt.data() + attempt.size(), j.attempt);
        j.lease_id = take_value(body, "\"lease_id\":\"");
        jobs.push_back(std::move(j));
    }
    return jobs;
}

void job_book::added(std::string_view body) { jobs_[std::string(take_value(body, "\"id\":\""))]; }

/// As a queue has it that is not set to anything: 100 ms after the third failure in a row, then
/// twice as long each time, up to 10 minutes, and half of it at least. The attempt before the one
/// that is delivered has to be known: of others it is not told when they failed.
void job_book::check_wait(const job& known, const taken_job& next) const {
    constexpr std::uint64_t at_once = 2;
    if (known.attempt <= at_once || next.attempt != known.attempt + 1)
        return;
    const std::uint64_t doubled = std::min<std::uint64_t>(known.attempt - at_once - 1, 13);
    const std::chrono::milliseconds longest(std::min<std::uint64_t>(100U << doubled, 600'000));
    here().require(here().now() >= known.failed + longest / 2,
                   "a job that fails again and again does not wait");
}

void job_book::delivered(const taken_job& j) {
    here().require(keys_.contains(j.key), "a job is delivered that nobody added");
    job& known = jobs_[j.id];
    here().note("job {}, {}: attempt {}", j.id, j.key, j.attempt);
    here().require(j.attempt != known.attempt, "a job is delivered twice at once");
    if (j.attempt < known.attempt)
        return; // it was so long on its way that another has had it since
    here().require(!known.done, "a job that is done is delivered again");
    here().require(!known.held || here().now() >= known.asked + lease_,
                   "a job is delivered while another holds it");
    check_wait(known, j);
    known.held = true;
    known.attempt = j.attempt;
    known.asked = j.asked;
    known.failed = j.asked + lease_;
}

void job_book::released(const taken_job& j) {
    job& known = jobs_.at(j.id);
    if (known.attempt != j.attempt)
        return;
    known.held = false;
    known.failed = std::min(known.failed, here().now());
}

void job_book::finished(const taken_job& j) {
    job& known = jobs_.at(j.id);
    here().require(!known.done, "a job is done twice");
    here().require(known.attempt == j.attempt, "a job is done whose lease another has");
    known.done = true;
    known.held = false;
}

void job_book::lost_lease(const taken_job& j) {
    jobs_.at(j.id).finishing = false;
    here().require(here().now() >= j.asked + lease_, "a lease is lost before its time");
}

void job_book::swept(const taken_job& j) {
    delivered(j);
    jobs_.at(j.id).seen_at_the_end = true;
}

void job_book::check_swept() const {
    for (const auto& [id, j] : jobs_) {
        here().require(j.done || j.finishing || j.seen_at_the_end, "a job is lost");
    }
}

} // namespace sim
