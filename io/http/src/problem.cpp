#include <rota/http/problem.hpp>

#include <rota/http/status.hpp>
#include <rota/json/writer.hpp>

namespace rota::http {
namespace {

constexpr const char* problem_type = "application/problem+json";

} // namespace

problem::problem(int status, std::string detail) : status_(status), detail_(std::move(detail)) {}

problem& problem::type(std::string uri) & {
    type_ = std::move(uri);
    return *this;
}

problem& problem::title(std::string text) & {
    title_ = std::move(text);
    return *this;
}

problem& problem::instance(std::string uri) & {
    instance_ = std::move(uri);
    return *this;
}

problem& problem::member_json(std::string_view name, std::string_view json) & {
    members_ += ',';
    json::append_quoted(members_, name);
    members_.append(":").append(json);
    return *this;
}

problem& problem::member(std::string_view name, std::string_view text) & {
    std::string quoted;
    json::append_quoted(quoted, text);
    return member_json(name, quoted);
}

problem& problem::member(std::string_view name, std::int64_t number) & {
    return member_json(name, std::to_string(number));
}

std::string problem::text() const {
    std::string body;
    json::writer out(body);
    out.begin_object();
    if (!type_.empty())
        out.member("type", type_);
    out.member("title", title_.empty() ? reason_phrase(status_) : std::string_view(title_));
    out.member("status", status_);
    if (!detail_.empty())
        out.member("detail", detail_);
    if (!instance_.empty())
        out.member("instance", instance_);
    body += members_;
    out.end_object();
    body += '\n';
    return body;
}

response problem::answer() const {
    return response::with_body(text(), problem_type).status(status_);
}

http_error problem::error() const { return {status_, text(), problem_type}; }

response problem_page(int status, std::string_view reason) {
    const bool phrase_only = reason == reason_phrase(status);
    return problem(status, phrase_only ? std::string() : std::string(reason)).answer();
}

} // namespace rota::http
