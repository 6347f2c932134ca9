#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/task.hpp>

#include "jobs/service.hpp"
#include "problem.hpp"

namespace jobs {

// The handlers behind routes(). The service and the request outlive what they return; they throw
// problem, store_error and http_error.

using rota::task;
using rota::http::request;
using rota::http::response;

// Adding: handlers_adding.cpp.
[[nodiscard]] task<response> add_jobs(service* s, request* req);

// Taking, and what becomes of what was taken: handlers_taking.cpp.
[[nodiscard]] task<response> take_jobs(service* s, request* req);
[[nodiscard]] task<response> acknowledge_jobs(service* s, request* req);
[[nodiscard]] task<response> extend_leases(service* s, request* req);

// What has become of the dead: handlers_dead.cpp.
[[nodiscard]] task<response> list_dead(service* s, request* req);
[[nodiscard]] task<response> retry_dead_job(service* s, request* req);
[[nodiscard]] task<response> retry_dead_jobs(service* s, request* req);
[[nodiscard]] task<response> delete_dead_jobs(service* s, request* req);

// Looking, and what concerns a queue as a whole: handlers_looking.cpp.
[[nodiscard]] task<response> show_queues(service* s, request* req);
[[nodiscard]] task<response> show_queue(service* s, request* req);
[[nodiscard]] task<response> configure_queue(service* s, request* req);
[[nodiscard]] task<response> pause_queue(service* s, request* req);
[[nodiscard]] task<response> resume_queue(service* s, request* req);
[[nodiscard]] task<response> remove_queue(service* s, request* req);
[[nodiscard]] task<response> purge_queue(service* s, request* req);
[[nodiscard]] task<response> list_jobs(service* s, request* req);
[[nodiscard]] task<response> show_job(service* s, request* req);
[[nodiscard]] task<response> delete_job(service* s, request* req);
[[nodiscard]] task<response> show_events(service* s, request* req);

// What they share: handlers.cpp.

/// The id of the job that the request is for. Throws problem.
[[nodiscard]] std::uint64_t job_id(const request& req);
[[nodiscard]] problem no_such_job();
/// A page of the jobs of one state, as the request's parameters have it.
[[nodiscard]] task<response> list_state(service* s, request* req, job_state state);
/// A parameter that is empty says nothing: a first page is often asked for with an empty cursor.
[[nodiscard]] std::optional<std::string> query(const request& req, std::string_view name);

/// Throws problem if the queue that the request is for can have no such name. What follows takes
/// this, or check_job(), as done.
void check_queue(const request& req);
/// As check_queue(), and then for the id of a job.
void check_job(const request& req);
/// The name of the queue that the request is for.
[[nodiscard]] std::string queue_name(const request& req);
/// A parameter that is misspelt must not be ignored in silence. Throws problem for one that is not
/// `known`, or that is there twice.
void check_query(const request& req, std::span<const std::string_view> known);
/// Of two fields of which a request has one, clients and what is in between might not mean the
/// same. Throws problem if one is there twice.
void check_fields(const request& req);
/// As service::open(). Throws problem.
[[nodiscard]] watched_ptr open_queue(service& s, std::string_view name);
[[nodiscard]] bool has_lines(const request& req);
/// Content is read as it comes. Throws problem if it would have to be decoded first.
void refuse_encoded(const request& req);
/// The content of a request whose content is one JSON value, whatever type it is said to have:
/// curl and others name a form's unless they are told.
[[nodiscard]] task<std::string> read_json_text(const service* s, request* req);
[[nodiscard]] response json_response(std::string body);
/// Why a job was not added.
[[nodiscard]] problem refusal(const add_result& result);

} // namespace jobs
