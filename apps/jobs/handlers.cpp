#include "handlers.hpp"

#include <algorithm>

#include "requests.hpp"
#include "words.hpp"
#include "json/writer.hpp"

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

} // namespace

std::string queue_name(const request& req) {
    const std::string_view name = req.param("queue");
    check_queue_name(name);
    return std::string(name);
}

watched_ptr open_queue(service& s, std::string_view name) {
    watched_ptr queue = s.open(name);
    if (!queue)
        throw problem(429, "too_many_queues", "there are too many queues in use");
    return queue;
}

bool has_lines(const request& req) {
    const std::string type = media_type(req);
    return type == "application/x-ndjson" || type == "application/ndjson" ||
           type == "application/jsonl" || type == "application/x-jsonlines";
}

void refuse_encoded(const request& req) {
    const std::string_view encoding = req.header("Content-Encoding").value_or("identity");
    if (encoding != "identity" && !encoding.empty())
        throw problem(415, "unsupported_media_type",
                      "the content must not be encoded or compressed");
}

task<std::string> read_json_text(const service* s, request* req) {
    if (has_lines(*req))
        throw problem(415, "unsupported_media_type", "the content has to be one JSON value");
    refuse_encoded(*req);
    std::string text = co_await req->text(s->options().request_bytes_max);
    co_return std::move(text);
}

response json_response(std::string body) {
    body += '\n';
    return response::with_body(std::move(body), "application/json");
}

problem refusal(const add_result& result) {
    const refusal_words words = words_of(result.outcome);
    problem refused(words.status, words.code, std::string(words.detail));
    if (result.outcome == add_outcome::duplicate) {
        json::writer w(refused.members);
        w.member("existing_id", id_text(result.id)).member("state", to_string(result.state));
    }
    return refused;
}

} // namespace jobs
