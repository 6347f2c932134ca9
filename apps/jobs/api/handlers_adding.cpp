#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/routine.hpp>
#include <rota/worker.hpp>
#include <rota/yield.hpp>

#include "bulk.hpp"
#include "handlers.hpp"
#include "requests.hpp"
#include "words.hpp"
#include <rota/json/writer.hpp>

namespace jobs {
namespace {

using rota::http::body_writer;

/// So much of the input is read before others of the worker may have their turn: 150 jobs, say.
constexpr std::size_t slice_bytes = 2'048;

task<response> post_job(service* s, request* req) {
    const std::string text = co_await read_json_text(s, req);
    const rota::json::document doc = parse(text);
    std::vector<new_job> jobs(1, read_new_job(doc.root(), s->options()));
    std::string queue = queue_name(*req);
    std::optional<idempotency> token;
    if (const auto field = req->header("Idempotency-Key"))
        token = read_token(*field, jobs.front());
    const std::string key = jobs.front().key;
    const std::vector<add_result> results =
        co_await s->backing().add(std::move(queue), std::move(jobs), std::move(token), s->now());
    const add_result& result = results.front();
    const bool replayed = result.outcome == add_outcome::replayed;
    if (result.outcome != add_outcome::added && !replayed)
        throw refusal(result);
    std::string body;
    rota::json::writer w(body);
    w.begin_object().member("id", id_text(result.id)).member("key", key);
    w.member("state", to_string(result.state)).end_object();
    response answer = json_response(std::move(body)).status(201);
    if (replayed)
        answer.header("Idempotency-Replayed", "true");
    co_return std::move(answer);
}

/// That the store is out of reach is found out at the end of a step's time: only once.
bool is_out_of_reach(const store_error& why) {
    return why.kind() == store_fault::unreachable || why.kind() == store_fault::unknown;
}

/// Adds what has been read, and tells what became of it. `out_of_reach`: why the step before has
/// failed, if the store need not be asked as long as it is down.
task<void> add_read(service* s, const std::string* queue, bulk_add* from,
                    std::optional<std::string>* out_of_reach, std::string* outcomes) {
    std::vector<new_job> jobs = from->take_jobs();
    std::vector<add_result> results;
    std::optional<std::string> failure;
    std::string_view code = code_of(store_fault::unreachable);
    if (s->backing().health().is_up())
        out_of_reach->reset();
    if (*out_of_reach) {
        failure = *out_of_reach;
    } else if (!jobs.empty()) {
        try {
            results = co_await s->backing().add(*queue, std::move(jobs), std::nullopt, s->now());
        } catch (const store_error& e) {
            failure = e.what();
            code = code_of(e.kind());
            if (is_out_of_reach(e))
                *out_of_reach = failure;
            if (e.kind() == store_fault::unknown) // what follows is not asked for
                *out_of_reach = "the job store's server does not answer";
        }
    }
    if (failure) {
        from->report_failure(code, *failure, *outcomes);
    } else {
        from->report(results, *outcomes);
    }
}

/// Reads on only when the outcomes so far have been taken: a client that does not read is not read.
task<void> add_many_from(service* s, std::string queue, rota::http::body_reader* body,
                         std::string first, body_writer* to) {
    rota::routine& self = co_await rota::current_routine;
    rota::worker& home = self.home();
    const std::size_t step_bytes = s->backing().add_bytes();
    bulk_add lines(s->options(), body);
    std::optional<std::string> out_of_reach;
    std::string outcomes;
    std::string_view piece = first;
    while (!piece.empty()) {
        std::size_t read = 0;
        while (!piece.empty()) {
            const std::string_view slice = piece.substr(0, slice_bytes);
            piece.remove_prefix(slice.size());
            lines.feed(slice);
            read += slice.size();
            if (read >= step_bytes || piece.empty()) {
                co_await add_read(s, &queue, &lines, &out_of_reach, &outcomes);
                co_await to->write(outcomes);
                outcomes.clear();
                read = 0;
            }
            if (home.spend(home.now()))
                co_await rota::yield();
        }
        std::string().swap(first); // it stays as long as the client sends
        piece = co_await body->read();
    }
    lines.end();
    co_await add_read(s, &queue, &lines, &out_of_reach, &outcomes);
    lines.summarise(outcomes);
    co_await to->write(outcomes);
}

task<response> post_jobs(service* s, request* req) {
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
    return has_lines(*req) ? post_jobs(s, req) : post_job(s, req);
}

} // namespace jobs
