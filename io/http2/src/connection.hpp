#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <rota/event.hpp>
#include <rota/http/detail/wire.hpp>
#include <rota/http/session_control.hpp>
#include <rota/linked_stop.hpp>
#include <rota/task.hpp>
#include <rota/task_group.hpp>

#include "engine.hpp"
#include "frame_watch.hpp"
#include "request_stream.hpp"

namespace rota::http::h2 {

/// One client of HTTP/2, from its preface to the end. Lives in the frame of serve_http2(), on one
/// worker.
///
/// One routine reads: it hands what arrives to the engine, and what became of that to streams. A
/// request that a plain function answers needs no other; each other has a routine of its own. What
/// there is to send is handed to the client's stream at once, by whatever made it; while that takes
/// no more, a further routine waits for it, and answers wait in their streams.
class connection final : private engine_events, private stream_home {
public:
    /// All of them outlive it. `counted`: it is counted as a connection already.
    connection(io::stream& client, const router& routes, const server_limits& limits,
               const session_control& control, worker& home, const std::stop_token& stop,
               worker_counters& counters, bool counted);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();

    /// `begun`: what has been read of the client's already.
    [[nodiscard]] task<void> serve(std::string_view begun);

private:
    using time_point = std::chrono::steady_clock::time_point;

    // -- reading
    [[nodiscard]] task<void> read_all(std::string_view begun);
    void take(std::string_view bytes);
    [[nodiscard]] task<void> answer_ready();
    [[nodiscard]] bool begin(request_stream& one);
    [[nodiscard]] bool answer_now(request_stream& one);
    [[nodiscard]] task<void> run(request_stream* one);
    [[nodiscard]] task<void> wait();
    void wake_reader() noexcept;

    // -- the engine's events
    [[nodiscard]] engine_stream* on_begin(std::int32_t id) override;
    void on_field(engine_stream* of, std::string_view name, std::string_view value,
                  bool trailer) override;
    void on_request(engine_stream* of, bool more) override;
    void on_content(engine_stream* of, std::string_view piece) override;
    void on_content_end(engine_stream* of) override;
    void on_trailers(engine_stream* of) override;
    void on_sent(engine_stream* of, std::size_t bytes, bool last, bool cut) noexcept override;
    void on_closed(engine_stream* of) override;
    [[nodiscard]] bool send_shared(std::string& before, const io::shared_bytes& content) override;
    bool on_provoked_reset() noexcept override;

    // -- streams
    void note(request_stream& one) noexcept;
    void settle();
    void settle(request_stream& one);
    void finish(request_stream& one);
    void release(request_stream& one);

    // -- writing
    void produce() override;
    [[nodiscard]] bool takes(std::size_t bytes) noexcept override;
    void flush() override;
    void make_frames();
    void give_up() noexcept;
    void start_writer();
    void end_writing(bool lost) noexcept;
    [[nodiscard]] task<void> write_all();
    [[nodiscard]] task<void> flush_wire(io::deadline until) override;
    void end_soon() override;
    [[nodiscard]] bool lost() const noexcept override { return lost_; }

    // -- times and ends
    [[nodiscard]] std::chrono::milliseconds idle_max() const noexcept;
    [[nodiscard]] time_point next_look() const noexcept;
    void look();
    void look_at_streams(time_point now);
    void begin_drain();
    void fail(error_code why);
    [[nodiscard]] task<void> say_goodbye();

    const server_limits& limits_;
    const session_control& control_;
    worker& home_;
    const std::stop_token& stop_;
    worker_counters& counters_;
    wire wire_;
    engine engine_;
    frame_watch watch_;
    const stream_place place_;
    const std::chrono::steady_clock::duration step_; // from look to look

    // -- streams
    std::vector<std::unique_ptr<request_stream>> open_;
    std::vector<request_stream*> ready_; // their requests have come
    request_stream* noted_ = nullptr;    // something has become of them
    std::optional<fault> fault_;         // what they add up to
    task_group* handlers_ = nullptr;

    // -- writing
    std::string out_;
    task_group* writers_ = nullptr;
    event written_{true}; // nothing is on its way to the client's stream
    bool writing_ = false;
    bool flush_wanted_ = false;
    bool lost_ = false; // the client's stream has failed

    // -- reading
    std::optional<linked_stop<2>> wake_;
    time_point since_;         // idle since, if it is
    time_point section_since_; // a header section
    std::uint64_t sections_ = 0;
    std::uint64_t requests_ = 0;
    std::uint64_t sent_ = 0;           // of answers
    time_point answered_;              // the last that was answered at once
    std::optional<time_point> end_at_; // of a drain: the last word
    bool draining_ = false;
    bool ending_ = false; // the last GOAWAY but for failures has been said
    bool reading_ = false;
    bool failed_ = false;
    bool at_fault_ = false; // the client, if failed_
    bool peer_ended_ = false;
};

} // namespace rota::http::h2
