#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <rota/detail/frame_pool.hpp>
#include <rota/http/detail/exchange.hpp>
#include <rota/http/error.hpp>
#include <rota/http/hooks.hpp>
#include <rota/http/metrics.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/http/router.hpp>
#include <rota/worker.hpp>

namespace rota::http {

/// What surrounds answers. All of it outlives the responder.
struct responder_place {
    const router& routes;
    const session_hooks* hooks; // or null
    worker& home;
    const std::stop_token& stop; // cancels everything
    worker_counters& counters;
};

/// Answers requests by the routes: the part that is the same whatever writes them. It finds the
/// handler, runs it, and makes answers of what it throws. Belongs to a wire, which has it answer
/// one exchange after another, on one worker.
class responder {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// `on` outlives it.
    responder(exchange& on, const responder_place& place) noexcept : on_(on), place_(place) {}
    ~responder() { end(); }
    responder(const responder&) = delete;
    responder& operator=(const responder&) = delete;

    /// Takes up the request that the exchange has now, and finds its route. `content` is null if
    /// there is none to read. Both are there until end(). `repeated`: the head is that of the
    /// request before, byte by byte, and so is the way.
    void begin(const request_head& head, body_reader* content, bool repeated = false);
    /// Does the same for what could not be read as a request, or is not to be: error_answer() and
    /// account() are for it then.
    void begin_unread(const request_head& head) noexcept;
    /// Answers the request if that takes neither waiting nor much room, without a coroutine, and
    /// mostly with the head where it lies. False if it has to be answer().
    [[nodiscard]] bool try_answer();
    /// Answers it in the general way. Throws what ends the wire: operation_cancelled if that was
    /// asked for, and failures of a client that is gone.
    [[nodiscard]] task<exchange_end> answer();
    /// Releases a request that has been answered, or given up.
    void end() noexcept {
        going_.drop();
        request_.reset();
        ready_.reset();
        kept_ = false;
    }

    // For what a wire answers by itself.

    /// Returns what the error page of the route that was found, or of the path, makes of a failure.
    [[nodiscard]] response error_answer(const http_error& what);
    /// Returns what to report of what was thrown: see http::failure_of().
    [[nodiscard]] http_error failure_of(const std::exception_ptr& error);
    /// Returns the answer in place of a response that takes over and must not: its status has been
    /// changed, or it is of the other kind than what was asked for. Nothing if it may.
    [[nodiscard]] std::optional<response> refusal_of(const response& takes_over);
    /// Counts an answer that has been sent, and calls the hook with it. `bytes` of its content were
    /// sent, if that is known; else all.
    void account(const response& answer, std::optional<std::uint64_t> bytes = {});
    /// Does the same for the answer that the wire has kept (exchange::try_keep()).
    void account_kept(std::uint64_t bytes);
    /// Returns whether there is one.
    [[nodiscard]] bool has_kept() const noexcept { return kept_; }
    /// Does so for a request that was begun and has had no answer: 503 if `all_ends`, as its client
    /// would have been told, 499 if that is gone. Does nothing if account() was called.
    void account_unanswered(bool all_ends) noexcept;
    [[nodiscard]] const request& asked() const noexcept { return *request_; }
    /// Returns its method and path, for report_failure().
    [[nodiscard]] std::string asked_name() const;
    /// Returns when account() was called.
    [[nodiscard]] time_point answered_at() const noexcept { return answered_; }

private:
    [[nodiscard]] bool is_unrouted() const noexcept;
    [[nodiscard]] response answer_unrouted();
    [[nodiscard]] response call(const handler::plain* function);
    void keep_head();
    [[nodiscard]] response* call_all();
    [[nodiscard]] bool send_at_once(response& answer);
    void add_promised(response& answer) const;
    void begin_account(const request_head& head) noexcept;
    void log(const response& answer, std::optional<std::uint64_t> bytes, time_point::duration took);
    [[nodiscard]] bool logs() const noexcept {
        return place_.hooks != nullptr && place_.hooks->on_access;
    }

    exchange& on_;
    const responder_place place_;
    const request_head* head_ = nullptr;
    std::optional<request> request_;
    route_match match_;
    task<response> going_; // begun by try_answer(), but it has to wait
    /// An answer that waits without a coroutine. From the pool of frames, since it comes and goes
    /// as often as the frame that would have held it.
    struct pooled_response : frame_pool::pooled {
        explicit pooled_response(response&& made) : answer(std::move(made)) {}
        response answer;
    };

    /// Made by try_answer(), but too much for it to send; or with the wire, see kept_.
    std::unique_ptr<pooled_response> ready_;
    time_point arrived_;
    time_point answered_;
    bool accounted_ = true; // what was begun; there is nothing at first
    bool routed_ = false;   // match_ is this request's
    bool stays_ = false;    // the head is where it can
    bool kept_ = false;     // ready_ is with the wire
};

/// Does what responder::failure_of() does once its request is gone: `asked` is its name.
void report_failure(const std::exception_ptr& error, std::string_view asked,
                    const std::stop_token& stop, bool client_gone, const session_hooks* hooks);

} // namespace rota::http
