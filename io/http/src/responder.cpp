#include <rota/http/detail/responder.hpp>

#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/detail/router_access.hpp>
#include <rota/http/status.hpp>

#include "answer_fields.hpp"
#include "answers.hpp"

namespace rota::http {
namespace {

/// Of what its client has not waited for, in logs and metrics: the field's number for it.
constexpr int client_gone_status = 499;

/// Of what answers CONNECT a success is a tunnel (RFC 9110 section 9.3.6).
bool asks_tunnel(const request_head& head) noexcept { return head.form == target_form::authority; }

/// Whether it is that a file has changed since its facts were read: its head is wrong, and there
/// may be another one at once. That is for the client to find, which is cut as any that has a part.
bool is_of_stale_file(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::system_error& e) {
        return e.code() == std::error_code(ESTALE, std::system_category());
    } catch (...) {
        return false;
    }
}

} // namespace

[[gnu::always_inline]] inline void responder::begin_account(const request_head& head) noexcept {
    head_ = &head;
    accounted_ = stays_ = false;
    arrived_ = place_.home.turn_time();
    if (logs())
        (void)on_.peer(); // while it can be asked
}

void responder::begin(const request_head& head, body_reader* content, bool repeated) {
    begin_account(head);
    request_.emplace(head, content, &on_);
    if (repeated && routed_ && head.form == target_form::origin && !head.path_escaped)
        router_access::note(*request_, match_);
    else
        router_access::resolve(place_.routes, *request_, match_);
    routed_ = true;
}

void responder::begin_unread(const request_head& head) noexcept {
    begin_account(head);
    routed_ = false;
}

/// Whether the router answers by itself, without middleware around it.
bool responder::is_unrouted() const noexcept {
    return match_.target == nullptr && router_access::plain_fallback(match_);
}

/// What it answers then: in plain text where its page throws.
response responder::answer_unrouted() {
    try {
        return router_access::fallback(*request_, match_);
    } catch (...) {
        report_thrown("error page", std::current_exception(), place_.hooks);
    }
    route_match without_page = match_;
    without_page.page = nullptr;
    return router_access::fallback(*request_, without_page);
}

/// What `function`, or the router for want of one, answers.
[[gnu::always_inline]] inline response responder::call(const handler::plain* function) {
    try {
        return function != nullptr ? (*function)(*request_) : answer_unrouted();
    } catch (...) {
        return error_answer(failure_of(std::current_exception()));
    }
}

/// False if it is too much for that: answer() goes on with it.
[[gnu::always_inline]] inline bool responder::send_at_once(response& answer) {
    if (on_.try_send(answer)) {
        account(answer);
        return true;
    }
    ready_.reset(new pooled_response(std::move(answer))); // what may throw comes first
    kept_ = on_.try_keep(ready_->answer);
    return kept_;
}

void responder::keep_head() {
    if (!std::exchange(stays_, true))
        on_.keep_head();
}

/// What handlers and middleware answer, which is in going_; null if that is still to come.
response* responder::call_all() {
    keep_head(); // they may have to wait
    try {
        going_ = router_access::dispatch(*request_, match_);
    } catch (...) {
        going_ = ready_task(error_answer(failure_of(std::current_exception())));
    }
    return going_.ready();
}

bool responder::try_answer() {
    if (asks_tunnel(*head_)) // an answer() may have to stand in for the handler's
        return false;
    const handler::plain* function = router_access::direct(match_);
    if (function != nullptr || is_unrouted()) {
        response answer = call(function);
        return send_at_once(answer);
    }
    response* const answer = call_all();
    if (answer == nullptr)
        return false;
    add_promised(*answer);
    const bool sent = send_at_once(*answer);
    going_.drop();
    return sent;
}

task<exchange_end> responder::answer() {
    keep_head();
    std::optional<response> answer;
    if (const auto ready = std::exchange(ready_, nullptr)) {
        answer.emplace(std::move(ready->answer));
    } else if (is_unrouted()) { // CONNECT
        answer.emplace(call(nullptr));
    } else {
        std::exception_ptr error;
        try {
            const worker_counters::held counted(place_.counters.requests_in_flight);
            if (!going_.valid())
                going_ = router_access::dispatch(*request_, match_);
            response made = co_await std::move(going_);
            answer.emplace(std::move(made));
        } catch (...) {
            error = std::current_exception();
        }
        going_.drop(); // before the answer is sent
        if (error)
            answer.emplace(error_answer(failure_of(error)));
    }
    if (on_.broken()) // meanwhile: there is nobody to answer
        throw std::system_error(std::make_error_code(std::errc::connection_reset));
    const bool for_takeover = asks_tunnel(*head_) || on_.is_for_takeover();
    if (for_takeover && !answer->takes_over() && answer->status() / 100 == 2)
        answer.emplace(error_answer(http_error(501, "no other protocol is spoken here")));
    add_promised(*answer);
    if (answer->takes_over())
        co_return co_await on_.hand_over(&*answer);
    if (answer->is_file() && !on_.sends_files())
        answer->stream_file();
    if (answer->streamed()) {
        exchange::delivery done;
        {
            const worker_counters::held counted(place_.counters.requests_in_flight);
            done = co_await on_.stream(&*answer);
        }
        const bool changed = done.error && is_of_stale_file(done.error);
        const bool ends = !done.error || done.begun || changed;
        if (ends)
            account(*answer, done.bytes);
        if (!done.error)
            co_return exchange_end::answered;
        if (changed && !on_.broken()) {
            report_changed_file(*request_, place_.hooks);
            co_return exchange_end::cut;
        }
        const http_error what = failure_of(done.error);
        if (ends)
            co_return exchange_end::cut;
        answer.emplace(error_answer(what)); // which is whole
    }
    if (on_.try_send(*answer)) {
        account(*answer);
        co_return exchange_end::answered;
    }
    ready_.reset(new pooled_response(*std::move(answer)));
    kept_ = on_.try_keep(ready_->answer);
    if (kept_)
        co_return exchange_end::answered;
    ready_->answer.share_owned(); // so that it can be sent from where it is
    const exchange::delivery done = co_await on_.send(&ready_->answer);
    account(ready_->answer, done.bytes);
    if (done.error)
        std::rethrow_exception(done.error);
    co_return exchange_end::answered;
}

/// The fields that middleware has promised for any answer, that of an error, too.
void responder::add_promised(response& answer) const {
    const request_facts* const facts = request_ ? request_access::known_facts(*request_) : nullptr;
    if (facts != nullptr && !facts->answer_fields.empty())
        add_missing_fields(answer.headers(), facts->answer_fields);
}

std::string responder::asked_name() const { return name_of(*request_); }

http_error responder::failure_of(const std::exception_ptr& error) {
    return http::failure_of(error, *request_, place_.stop, on_.broken(), place_.hooks);
}

std::optional<response> responder::refusal_of(const response& takes_over) {
    const bool tunnel = takes_over.is_tunnel();
    const char* wrong = nullptr;
    // What was to be refused must not be given away.
    if (takes_over.status() != (tunnel ? 200 : 101))
        wrong = "the status of a response that takes over is not to be changed";
    else if (tunnel != asks_tunnel(*head_))
        wrong = "response::tunnel() is for CONNECT, response::upgrade() for all other requests";
    if (wrong == nullptr)
        return std::nullopt;
    return error_answer(failure_of(std::make_exception_ptr(std::logic_error(wrong))));
}

response responder::error_answer(const http_error& what) {
    std::optional<response> answer;
    try {
        const error_page* const page =
            router_access::error_page_for(place_.routes, *head_, routed_ ? &match_ : nullptr);
        answer.emplace(http::error_answer(page, what));
    } catch (...) { // the client is to have an answer
        report_thrown("error page", std::current_exception(), place_.hooks);
        const bool own = !what.content_type().empty(); // what is wrong with it, perhaps
        answer.emplace(http::error_answer(nullptr, own ? http_error(what.status(), "") : what));
    }
    if (what.status() == 503 && !answer->headers().find("Retry-After"))
        answer->header("Retry-After", "1");
    add_promised(*answer);
    return std::move(*answer);
}

void responder::account(const response& answer, std::optional<std::uint64_t> bytes) {
    accounted_ = true;
    answered_ = place_.home.now();
    const auto took = answered_ - arrived_;
    const bool has_route = routed_ && match_.target != nullptr;
    place_.counters.count_response(answer.status(), took,
                                   has_route ? match_.target->number : worker_counters::no_route);
    if (head_->major == 2)
        place_.counters.requests_http2.add(1);
    if (logs())
        log(answer, bytes, took);
}

void responder::account_kept(std::uint64_t bytes) {
    kept_ = false;
    account(ready_->answer, bytes);
}

void responder::account_unanswered(bool all_ends) noexcept {
    if (accounted_ || kept_)
        return;
    const int if_not_ended = on_.broken() ? client_gone_status : 500;
    try {
        account(response(all_ends ? 503 : if_not_ended));
    } catch (...) { // there is no memory for it
    }
}

[[gnu::noinline, gnu::cold]] void responder::log(const response& answer,
                                                 std::optional<std::uint64_t> bytes,
                                                 time_point::duration took) {
    const std::string_view target = head_->base != nullptr ? head_->text(head_->target) : "";
    std::string_view name;
    if (!target.empty() && head_->unknown_method.size == 0)
        name = to_string(head_->method);
    else if (!target.empty())
        name = head_->text(head_->unknown_method);
    const request* const asked = routed_ && request_ ? &*request_ : nullptr;
    const std::string_view peer = asked != nullptr ? asked->peer() : on_.peer();
    const int status = answer.status();
    const bool sized = !answer.streamed() && head_->method != method::head &&
                       !status_has_no_content(status) && status != 205;
    const std::uint64_t all = sized ? answer.length().value_or(0) : 0;
    try { // the answer is on its way
        place_.hooks->on_access({peer, name, target, status, bytes.value_or(all),
                                 std::chrono::duration_cast<std::chrono::microseconds>(took),
                                 head_->protocol(), asked});
    } catch (...) {
        report_thrown("on_access", std::current_exception(), place_.hooks);
    }
}

} // namespace rota::http
