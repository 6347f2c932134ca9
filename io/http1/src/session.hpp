#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include <rota/http/detail/exchange.hpp>
#include <rota/http/detail/responder.hpp>
#include <rota/http/detail/wire.hpp>
#include <rota/http/response.hpp>
#include <rota/http/serve_connection.hpp>
#include <rota/io/resting.hpp>
#include <rota/worker.hpp>

#include "drain_watch.hpp"
#include "request_body.hpp"
#include "request_parser.hpp"
#include "response_writer.hpp"
#include "serializer.hpp"

namespace rota::http {

/// One client of HTTP/1.1, from its first byte to the last: one exchange after another. Lives in
/// the frame of serve_connection(), on one worker.
class session final : private exchange, private answer_policy {
public:
    session(io::stream& client, const router& routes, const server_limits& limits,
            const session_control& control, worker& home, const std::stop_token& stop,
            worker_counters& counters)
        : limits_(limits), control_(control), home_(home), stop_(stop), counters_(counters),
          wire_(client, limits, counters), parser_(limits.parser),
          body_(wire_, parser_, limits, home, control.content_memory),
          watch_(stop, control.draining),
          responder_(*this, {routes, control.hooks, home, stop, counters}),
          since_(home.turn_time()) {
        if (control.rest != nullptr && std::exchange(control.rest->wanted, false)) {
            go_on_from(*control.rest);
            return;
        }
        counters_.connections.add(1);
        counters_.connections_open.add(1);
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() {
        responder_.account_unanswered(stop_.stop_requested());
        const bool rests = control_.rest != nullptr && control_.rest->wanted;
        if (!rests && !client_rests_ && !counted_off_)
            counters_.connections_open.subtract(1);
    }

    /// Until the client is gone, or another protocol's: then serve_taker() is next.
    task<void> serve();
    [[nodiscard]] bool is_taken_over() const noexcept { return taken_over_ != nullptr; }
    /// Whether serve_taker() goes on without the session.
    [[nodiscard]] bool is_left_behind() const noexcept {
        return request_forgotten_ && control_.next != nullptr && control_.metrics != nullptr;
    }
    /// Lets the taker have the connection, and counts it off in the end.
    [[nodiscard]] task<void> serve_taker();

private:
    using time_point = std::chrono::steady_clock::time_point;
    enum class progress : std::uint8_t {
        go_on, // the next request
        close, // everything is said: close, and let the client read it
        gone,  // nobody listens, nothing must follow, or it goes on otherwise
    };

    // -- reading a head
    [[nodiscard]] parse_event next_head();
    /// How a wait for more of a head, or for the next one, has ended.
    enum class wait_end : std::uint8_t { arrived, peer_ended, late, drained };
    class head_wait;
    struct gone_watch;
    class leave_gone_watch;
    class swap_wait;
    [[nodiscard]] progress end_idling();
    [[nodiscard]] session_rest rest_from_here() const noexcept;
    void go_on_from(const session_rest& rest) noexcept;
    void go_on_with(const io::resting_client& other) noexcept;
    [[nodiscard]] task<progress> end_without_head(wait_end how, bool idle);
    [[nodiscard]] time_point head_deadline();
    [[nodiscard]] bool becomes_http2(parse_event event) noexcept;
    [[nodiscard]] bool may_rest() const noexcept;

    // -- the exchange
    [[nodiscard]] std::string_view peer() const noexcept override;
    [[nodiscard]] const io::tls::stream* tls() const noexcept override { return control_.tls; }
    [[nodiscard]] const server_metrics* metrics() const noexcept override {
        return control_.metrics;
    }
    [[nodiscard]] memory_budget* content_memory() const noexcept override {
        return control_.content_memory;
    }
    void keep_head() override;
    [[nodiscard]] task<bool> client_gone() override;
    [[nodiscard]] bool broken() const noexcept override { return wire_.broken(); }
    [[nodiscard]] bool try_send(response& answer) override;
    [[nodiscard]] task<delivery> send(const response* answer) override;
    [[nodiscard]] task<delivery> stream(response* answer) override;
    [[nodiscard]] task<exchange_end> hand_over(response* answer) override;
    [[nodiscard]] bool sends_files() const noexcept override { return true; }

    // -- answering
    [[nodiscard]] const request_head& head() const noexcept { return parser_.head(); }
    [[nodiscard]] bool answer_at_once();
    [[nodiscard]] task<bool> refuses_takeover(const response* answer);
    void refuse_takeover(const response& answer);
    void answer_unread(parse_event event);
    void answer_unread(const http_error& why);
    void drop_arrived();
    [[nodiscard]] bool refuses() const noexcept {
        return control_.refusing != nullptr && control_.refusing->load(std::memory_order_relaxed);
    }
    [[nodiscard]] bool is_of_gateway() const;
    /// RFC 9110 section 7.4.
    [[nodiscard]] bool is_misdirected() const {
        return (head().of_https && control_.tls == nullptr && !is_of_gateway()) ||
               (control_.misdirected && control_.misdirected(head().text(head().host)));
    }
    void append_small(const response& answer);
    [[nodiscard]] bool will_drop_rest(const response& answer);
    [[nodiscard]] bool is_last_of_drain() noexcept;
    [[nodiscard]] answer_terms begin_answer(const response& answer,
                                            content_framing framing) override;
    void consume_head() noexcept { wire_.consume(std::exchange(head_bytes_, 0)); }

    // -- ending
    [[nodiscard]] static progress after(exchange_end how) noexcept;
    [[nodiscard]] task<progress> drop_body();
    [[nodiscard]] progress end_request() noexcept;
    [[nodiscard]] task<void> say_goodbye();

    const server_limits& limits_;
    const session_control& control_;
    worker& home_;
    const std::stop_token& stop_;
    worker_counters& counters_;
    wire wire_;
    request_parser parser_;
    request_body body_;
    drain_watch watch_;
    responder responder_;

    // -- the request at work
    answer_terms with_;
    bool answer_begun_ = false;  // known only where checks are on
    std::size_t head_bytes_ = 0; // in the stream, still to be consumed
    bool unpaid_ = false; // answered without having waited since: to be counted before the next
    bool spent_ = false;  // others have their turn before the next
    connection_taker taken_over_;    // by this taker; or empty
    bool request_forgotten_ = false; // by it
    bool counted_off_ = false;       // by what serves the client next

    // -- the connection
    bool client_rests_ = false;               // so there is none
    mutable std::optional<std::string> peer_; // once it has been asked for
    std::uint64_t requests_ = 0;
    std::uint64_t sent_earlier_ = 0;       // before it rested
    time_point since_;                     // the accept, or when the client became idle
    std::optional<time_point> head_since_; // the first byte of the head that is being read
    // While the server drains: how many bytes of the client's are served in all.
    std::optional<std::uint64_t> last_served_;
    // It wants no more answers, so it sends no more (RFC 9112 section 9.6), and what of it has been
    // received has been read.
    bool client_is_done_ = false;
    std::shared_ptr<gone_watch> gone_watch_; // while client_gone() waits
};

} // namespace rota::http
