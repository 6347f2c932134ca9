#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <rota/event.hpp>
#include <rota/http/body.hpp>
#include <rota/http/detail/exchange.hpp>
#include <rota/http/detail/responder.hpp>
#include <rota/http/response.hpp>
#include <rota/http/session_control.hpp>
#include <rota/io/send_patience.hpp>
#include <rota/io/shared_file.hpp>
#include <rota/linked_stop.hpp>
#include <rota/task.hpp>

#include "engine.hpp"
#include "request_fields.hpp"
#include "signal.hpp"
#include "stream_content.hpp"

namespace rota::http::h2 {

/// So much that is written may wait for a window; then a writer waits until no more than the
/// other is left.
inline constexpr std::size_t kept_bytes_max = 65'536;
inline constexpr std::size_t kept_bytes_low = 16'384;

/// What streams have of their connection.
class stream_home : public sender {
public:
    /// Waits until all that was written has been handed to the kernel. Throws std::system_error,
    /// and timed_out if `until` passes first.
    [[nodiscard]] virtual task<void> flush_wire(io::deadline until = {}) = 0;
    /// Whether so much of an answer would leave now, but for windows.
    [[nodiscard]] virtual bool takes(std::size_t bytes) noexcept = 0;
    /// The connection shall end behind the streams that have begun.
    virtual void end_soon() = 0;
    /// Nothing can be written any more.
    [[nodiscard]] virtual bool lost() const noexcept = 0;

protected:
    ~stream_home() = default;
};

/// What streams use, all of which outlives them.
struct stream_place {
    engine& by;
    stream_home& on;
    const router& routes;
    const server_limits& limits;
    const session_control& control;
    worker& home;
    worker_counters& counters;
    const std::stop_token& stop; // ends all
};

/// One request and its answer: a stream of a connection, which has it. Its handler may go on after
/// the stream is closed: then its waits end. It comes from the pool of frames: the memory of the
/// last one that has gone is the next one's, whatever connection it is of.
class request_stream final : public frame_pool::pooled,
                             public engine_stream,
                             private exchange,
                             private body_writer {
public:
    request_stream(const stream_place& place, std::int32_t id) noexcept;

    [[nodiscard]] std::int32_t id() const noexcept { return id_; }
    [[nodiscard]] request_fields& fields() noexcept { return fields_; }
    [[nodiscard]] stream_content& content() noexcept { return content_; }

    // -- answering

    /// The head has come: it is kept until let_go().
    void begin_work() noexcept { busy_ = true; }
    /// True if it is answered, or keeps_answer(); else answer() has to.
    [[nodiscard]] bool answer_at_once();
    /// Returns whether its answer leaves as the client has room for it, while no handler is at
    /// work.
    [[nodiscard]] bool keeps_answer() const noexcept { return responder_.has_kept(); }
    /// Accounts that answer, and lets the request go: all of it has left, or never will.
    void end_kept();
    [[nodiscard]] task<void> answer();
    /// Answers without a look at what the request is about.
    void answer_unread(const http_error& why);
    /// The handler has ended, or there was none.
    void let_go();
    [[nodiscard]] responder::time_point answered_at() const noexcept {
        return responder_.answered_at();
    }

    // -- what happens to it

    void sent(std::size_t bytes, bool last) noexcept;
    /// The engine knows it no more.
    void close() noexcept { closed_ = true; }
    /// Ends what waits for a stream that is gone before its answer was.
    void end_waits() noexcept;

    [[nodiscard]] bool closed() const noexcept { return closed_; }
    /// A handler is at work.
    [[nodiscard]] bool busy() const noexcept { return busy_; }
    /// All of its answer has left.
    [[nodiscard]] bool answered() const noexcept { return end_sent_; }
    /// Whether it waits for its client to open a window, for too long. Asked now and then; all
    /// streams of the connection together have sent so many bytes.
    [[nodiscard]] bool stalls(responder::time_point now, std::uint64_t sent_by_all) noexcept;
    /// What has not been sent of what there is.
    [[nodiscard]] std::size_t unsent() const noexcept {
        return external_.size() + kept_.size() - kept_from_ + (file_ ? file_->size : 0);
    }
    /// When the client's time to end a request that has been answered is up.
    std::optional<responder::time_point> drop_until{};

    // -- for the connection's lists
    request_stream* next_noted = nullptr;
    bool noted = false;
    std::size_t place_in_open = 0;

    // -- of the engine
    [[nodiscard]] engine_stream::content ready(std::size_t bytes_max) noexcept override;
    [[nodiscard]] engine_stream::slice take(std::size_t bytes) noexcept override;

private:
    friend class stream_takeover;

    // -- exchange
    [[nodiscard]] std::string_view peer() const noexcept override { return place_.control.peer; }
    [[nodiscard]] const io::tls::stream* tls() const noexcept override {
        return place_.control.tls;
    }
    [[nodiscard]] const server_metrics* metrics() const noexcept override {
        return place_.control.metrics;
    }
    [[nodiscard]] memory_budget* content_memory() const noexcept override {
        return place_.control.content_memory;
    }
    void keep_head() override {} // it stays where it is
    [[nodiscard]] task<bool> client_gone() override;
    [[nodiscard]] bool broken() const noexcept override { return closed_ || place_.on.lost(); }
    [[nodiscard]] bool is_for_takeover() const noexcept override {
        return fields_.extended_connect();
    }
    [[nodiscard]] bool try_send(response& answer) override;
    [[nodiscard]] bool try_keep(response& answer) override;
    [[nodiscard]] task<delivery> send(const response* answer) override;
    [[nodiscard]] task<delivery> stream(response* answer) override;
    [[nodiscard]] task<exchange_end> hand_over(response* answer) override;

    // -- body_writer
    task<void> write(std::string_view piece) override;
    task<void> write_owned(std::string piece) override;
    task<void> write_shared(io::shared_bytes piece) override;
    task<void> write_file(io::file_slice part) override;
    task<void> flush() override;
    void add_trailer(std::string_view name, std::string_view value) override;

    [[nodiscard]] bool head_only() const noexcept;
    [[nodiscard]] bool sends_content(const response& answer) const noexcept;
    void submit(const response& answer, bool content);
    void submit_whole(response& answer);
    void share(response& answer);
    void drop_external() noexcept;
    void begin_content(bool empty);
    [[nodiscard]] bool begin_piece(std::size_t size);
    void offer();
    void end_content();
    /// A piece of content that is being taken over: given up before it is whole, the stream is
    /// reset.
    struct begun_piece {
        request_stream& of;
        bool whole = false;
        ~begun_piece();
    };
    [[nodiscard]] bool over() const noexcept;
    void give_up(error_code why) noexcept;
    void check_open() const;
    [[nodiscard]] task<void> send_external(std::string_view bytes);
    [[nodiscard]] std::size_t read_file(std::size_t bytes_max) noexcept;
    [[nodiscard]] task<void> wait_sent(std::size_t left_max, io::deadline until = {});
    [[nodiscard]] task<bool> refuses_takeover(const response* answer);
    void refuse(response answer);
    [[nodiscard]] task<exchange_end> serve_taker();

    const stream_place place_;
    const std::int32_t id_;
    request_fields fields_;
    stream_content content_;
    std::stop_token stop_; // of the handler
    linked_stop<1>* stopper_ = nullptr;
    responder responder_;
    event gone_;

    // -- the answer
    signal room_;
    std::string kept_; // to be sent, but for the first kept_from_
    std::size_t kept_from_ = 0;
    std::string_view external_;        // the same, behind that: shared_, or of what waits for it
    io::shared_bytes shared_;          // or none
    io::file_slice* file_ = nullptr;   // the same; read when it can leave
    int file_error_ = 0;               // why that was not possible
    const response* answer_ = nullptr; // streamed, and not begun
    const response* begun_answer_ = nullptr;
    headers trailers_;
    std::optional<connection_taker> taken_over_; // by this taker
    std::uint64_t written_ = 0;
    std::uint64_t sent_ = 0;         // in frames, with their heads
    std::uint64_t content_sent_ = 0; // in frames
    std::optional<io::send_patience> patience_;
    // While it has that: what has gone on meanwhile, by what it knew when it was asked last.
    std::uint64_t taken_ = 0;
    std::uint64_t seen_ = 0;
    std::uint64_t seen_of_all_ = 0;
    bool last_ = false;        // nothing follows what there is
    bool has_content_ = false; // which windows may keep back, or its end
    bool end_sent_ = false;
    bool closed_ = false;
    bool busy_ = false;
    bool request_forgotten_ = false; // by taken_over_
};

} // namespace rota::http::h2
