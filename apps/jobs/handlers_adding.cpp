#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bulk.hpp"
#include "handlers.hpp"
#include "requests.hpp"
#include "words.hpp"
#include "json/writer.hpp"

namespace jobs {
namespace {

using rota::http::body_writer;

/// So much of the input is added as one step of the store, if it has come in one piece.
constexpr std::size_t step_bytes = 65'536;

task<response> add_one(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    const json::document doc = parse(text);
    std::vector<new_job> jobs(1, read_new_job(doc.root(), s->options()));
    std::string queue = queue_name(*req);
    std::optional<idempotency> token;
    if (const auto field = req->header("Idempotency-Key"))
        token = read_token(*field, jobs.front());
    const std::string key = jobs.front().key;
    task<std::vector<add_result>> adding =
        s->backing().add(std::move(queue), std::move(jobs), std::move(token), s->now());
    const std::vector<add_result> results = co_await std::move(adding);
    const add_result& result = results.front();
    const bool replayed = result.outcome == add_outcome::replayed;
    if (result.outcome != add_outcome::added && !replayed)
        throw refusal(result);
    std::string body;
    json::writer w(body);
    w.begin_object().member("id", id_text(result.id)).member("key", key);
    w.member("state", to_string(result.state)).end_object();
    response answer = json_response(std::move(body)).status(201);
    if (replayed)
        answer.header("Idempotency-Replayed", "true");
    co_return std::move(answer);
}

/// Adds what has been read, and tells what became of it.
task<void> add_read(service* s, const std::string* queue, bulk_add* from, std::string* outcomes) {
    std::vector<new_job> jobs = from->take_jobs();
    std::vector<add_result> results;
    std::optional<std::string> failure;
    if (!jobs.empty()) {
        try {
            task<std::vector<add_result>> adding =
                s->backing().add(*queue, std::move(jobs), std::nullopt, s->now());
            results = co_await std::move(adding);
        } catch (const store_error& e) {
            failure = e.what();
        }
    }
    if (failure) {
        from->report_failure("store_unavailable", *failure, *outcomes);
    } else {
        from->report(results, *outcomes);
    }
}

/// Reads on only when the outcomes so far have been taken: a client that does not read is not read.
task<void> add_many_from(service* s, std::string queue, rota::http::body_reader* body,
                         std::string first, body_writer* to) {
    bulk_add lines(s->options());
    std::string outcomes;
    std::string_view piece = first;
    while (!piece.empty()) {
        // In slices, so that what one piece brings about stays in bounds.
        while (!piece.empty()) {
            const std::string_view slice = piece.substr(0, step_bytes);
            piece.remove_prefix(slice.size());
            lines.feed(slice);
            co_await add_read(s, &queue, &lines, &outcomes);
            co_await to->write(outcomes);
            outcomes.clear();
        }
        piece = co_await body->read();
    }
    lines.end();
    co_await add_read(s, &queue, &lines, &outcomes);
    lines.summarise(outcomes);
    co_await to->write(outcomes);
}

task<response> add_many(service* s, request* req) {
    std::string queue = queue_name(*req);
    refuse_encoded(*req);
    if (req->header("Idempotency-Key"))
        throw problem(400, "invalid_request", "an Idempotency-Key is for one job, not for lines");
    rota::http::body_reader* const body = &req->body();
    // The first piece is awaited before the answer begins: content that is bad from its start still
    // gets an error answer, and a client that expects 100-continue its go-ahead.
    const std::string_view piece = co_await body->read();
    std::string first(piece);
    auto producer = [s, queue = std::move(queue), body,
                     first = std::move(first)](body_writer& to) mutable -> task<void> {
        return add_many_from(s, std::move(queue), body, std::move(first), &to);
    };
    co_return response::stream(std::move(producer), "application/x-ndjson");
}

} // namespace

task<response> add_jobs(service* s, request* req) {
    return has_lines(*req) ? add_many(s, req) : add_one(s, req);
}

} // namespace jobs
