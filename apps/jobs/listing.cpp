#include "listing.hpp"

#include <charconv>
#include <chrono>

#include "problem.hpp"
#include "words.hpp"
#include "json/writer.hpp"

namespace jobs {
namespace {

constexpr std::size_t limit_default = 100;
constexpr std::size_t limit_max = 1'000;
/// The queue is locked meanwhile.
constexpr std::size_t looked_at_max = 20'000;
constexpr std::size_t bytes_max = 4'194'304;

void write_counts(json::writer& w, const rota::job_counts& counts) {
    w.key("counts").begin_object();
    w.member("queued", counts.queued).member("in_progress", counts.in_progress);
    w.member("added", counts.added).member("completed", counts.completed);
    w.member("put_back", counts.failures).member("duplicates", counts.collisions);
    w.end_object();
}

auto in_ms(std::chrono::nanoseconds length) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(length).count();
}

void write_job(json::writer& w, const job_queue::job& job, const rota::job_status& status) {
    w.begin_object().member("id", id_text(status.id)).member("key", job.key());
    w.key("payload").raw(job.payload()).member("state", state_of(status));
    w.member("attempts", status.attempts).member("duplicates", status.collisions);
    w.member("queued_ms", in_ms(status.queued_for));
    w.member("in_progress_ms", in_ms(status.in_progress_for)).end_object();
}

/// A list that is being written.
struct list {
    std::string text{};
    json::writer out{text};
    std::size_t count = 0;
};

} // namespace

std::size_t read_limit(const std::optional<std::string>& given) {
    if (!given)
        return limit_default;
    std::size_t limit = 0;
    const char* const end = given->data() + given->size();
    const auto [stop, error] = std::from_chars(given->data(), end, limit);
    if (error != std::errc() || stop != end || limit < 1 || limit > limit_max) {
        throw problem(400, "invalid_request",
                      "limit has to be an integer from 1 to " + std::to_string(limit_max));
    }
    return limit;
}

std::string describe_queue(std::string_view name, const job_queue* queue, std::size_t limit) {
    list queued;
    list in_progress;
    rota::job_counts counts;
    if (queue != nullptr) {
        counts = queue->counts();
        std::size_t looked_at = 0;
        queue->visit([&](const job_queue::job& job, const rota::job_status& status) {
            list& into = status.in_progress ? in_progress : queued;
            if (into.count < limit) {
                write_job(into.out, job, status);
                ++into.count;
            }
            const bool wanted = queued.count < limit || in_progress.count < limit;
            return wanted && ++looked_at < looked_at_max &&
                   queued.text.size() + in_progress.text.size() < bytes_max;
        });
    }
    std::string body;
    json::writer w(body);
    w.begin_object().member("queue", name);
    write_counts(w, counts);
    w.key("queued").begin_array().raw(queued.text).end_array();
    w.key("in_progress").begin_array().raw(in_progress.text).end_array();
    w.member("truncated", queued.count < counts.queued || in_progress.count < counts.in_progress);
    w.end_object();
    return body;
}

std::string describe_queues(const std::vector<queue_summary>& queues) {
    std::string body;
    json::writer w(body);
    w.begin_object().key("queues").begin_array();
    for (const queue_summary& each : queues) {
        w.begin_object().member("queue", each.name);
        write_counts(w, each.counts);
        w.end_object();
    }
    w.end_array().end_object();
    return body;
}

} // namespace jobs
