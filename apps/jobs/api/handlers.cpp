#include "handlers.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "encoded.hpp"
#include "listing.hpp"
#include "requests.hpp"
#include "words.hpp"
#include <rota/http/fields.hpp>

namespace jobs {
namespace {

/// The media type of the content, without parameters, in lower case; empty if it is not said.
std::string media_type(const request& req) {
    std::string_view type = req.header("Content-Type").value_or("");
    type = type.substr(0, type.find(';'));
    while (type.ends_with(' ') || type.ends_with('\t'))
        type.remove_suffix(1);
    std::string lower(type);
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return lower;
}

/// As much of a name as is worth telling.
std::string shortened(std::string_view name) {
    constexpr std::size_t told_max = 50;
    return '"' + std::string(name.substr(0, told_max)) + '"';
}

} // namespace

void check_queue(const request& req) { check_queue_name(req.param("queue")); }

void check_job(const request& req) {
    check_queue(req);
    (void)job_id(req);
}

std::string queue_name(const request& req) { return std::string(req.param("queue")); }

void check_query(const request& req, std::span<const std::string_view> known) {
    if (req.query_string().empty())
        return;
    std::vector<std::string> seen;
    for (auto& [name, value] : req.query_parameters()) {
        if (std::ranges::find(known, name) == known.end()) {
            std::string detail = "there is no query parameter " + shortened(name);
            detail += known.empty() ? "; there is none at this path" : "; there are ";
            for (const std::string_view each : known)
                detail.append(each == known.front() ? "" : ", ").append(shortened(each));
            throw problem(400, "invalid_request", std::move(detail));
        }
        if (std::ranges::find(seen, name) != seen.end()) {
            throw problem(400, "invalid_request",
                          "the query parameter " + shortened(name) + " is there twice");
        }
        seen.push_back(std::move(name));
    }
}

void check_fields(const request& req) {
    for (const std::string_view name : {"Content-Type", "Idempotency-Key", "Last-Event-ID"}) {
        const auto is_named = [name](const rota::http::header_field& field) {
            return rota::http::fields::iequals(field.name, name);
        };
        if (std::ranges::count_if(req.headers(), is_named) > 1)
            throw problem(400, "invalid_request", std::string(name) + " is there twice");
    }
}

watched_ptr open_queue(service& s, std::string_view name) {
    watched_ptr queue = s.open(name);
    if (!queue)
        throw problem(429, "too_many_queues", "there are too many queues in use");
    return queue;
}

problem no_such_job() { return {404, "unknown_job", "the queue has no such job"}; }

std::uint64_t job_id(const request& req) {
    const std::optional<std::uint64_t> id = read_id(req.param("id"));
    if (!id)
        throw no_such_job();
    return *id;
}

std::optional<std::string> query(const request& req, std::string_view name) {
    std::optional<std::string> value = req.query(name);
    if (value && value->empty())
        value.reset();
    return value;
}

task<response> list_state(service* s, request* req, job_state state) {
    list_request what;
    what.state = state;
    what.after = read_cursor(query(*req, "cursor"));
    what.limit = read_limit(query(*req, "limit"));
    const job_list jobs = co_await s->backing().list(queue_name(*req), what, s->now());
    co_return json_response(describe_jobs(jobs));
}

bool has_lines(const request& req) {
    const std::string type = media_type(req);
    return type == "application/x-ndjson" || type == "application/ndjson" ||
           type == "application/jsonl" || type == "application/x-jsonlines";
}

void refuse_encoded(const request& req) {
    if (!is_encoded(req))
        return;
    problem refused(415, "unsupported_media_type", std::string(encoded_refusal));
    refused.coded = true;
    throw refused;
}

task<std::string> read_json_text(const service* s, request* req) {
    if (has_lines(*req))
        throw problem(415, "unsupported_media_type", "the content has to be one JSON value");
    refuse_encoded(*req);
    co_return co_await req->text(s->options().request_bytes_max);
}

response json_response(std::string body) {
    body += '\n';
    return response::with_body(std::move(body), "application/json");
}

problem refusal(const add_result& result) {
    const refusal_words words = words_of(result.outcome);
    problem refused(words.status, words.code, std::string(words.detail));
    if (result.outcome == add_outcome::duplicate) {
        refused.members.emplace_back("existing_id", id_text(result.id));
        refused.members.emplace_back("state", to_string(result.state));
    }
    return refused;
}

} // namespace jobs
