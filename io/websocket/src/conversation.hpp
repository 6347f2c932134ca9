#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <rota/http/detail/content_pace.hpp>
#include <rota/http/websocket.hpp>
#include <rota/io/outbox.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/io/stream.hpp>
#include <rota/linked_stop.hpp>
#include <rota/mutex.hpp>
#include <rota/task.hpp>
#include <rota/worker.hpp>

#include "deflater.hpp"
#include "frame.hpp"
#include "message_reader.hpp"

namespace rota::http::ws {

/// A WebSocket at work: what a client sends, by way of a message_reader, and what it gets.
///
/// What a message needs to be read or written exists while the client says something, and until it
/// has been silent for a while. Reading answers control frames and keeps the times: nothing runs
/// beside it. Frames are written one at a time and whole: without waiting where nobody writes and
/// the stream has room, else in turn. Reading goes on while a pong or a ping waits for that: one of
/// each at most is owed, and is written before the frame that has the next turn. The closing
/// handshake (RFC 6455 section 7.1): behind a close frame nothing is written, and what comes is
/// dropped until the peer's, its end, or close_within.
/// `over` is where nothing more is read: then read() has nothing to give. Belongs to its worker.
class conversation {
public:
    /// All of them outlive it. `stop` is of the routine that serves it. `memory`, if not null, is
    /// for messages that are put together.
    conversation(io::stream& over, const websocket_terms& terms, const websocket_options& options,
                 const std::stop_token& stop, const std::stop_token& draining, worker& home,
                 memory_budget* memory);
    conversation(const conversation&) = delete;
    conversation& operator=(const conversation&) = delete;

    // -- see websocket; `whole`: not in pieces
    task<std::optional<websocket_message>> read(bool whole, io::deadline until);
    task<void> send(opcode op, std::string_view data, io::deadline until);
    task<void> send_piece(websocket_message piece, io::deadline until);
    [[nodiscard]] bool is_within_message() const noexcept { return open_ != nullptr; }
    task<void> ping(std::string data);
    task<void> close(std::uint16_t code, std::string reason);
    task<void> serve(io::outbox* from, task<void> body);
    /// Behind the user's function: brings the conversation to its end.
    task<void> finish(std::uint16_t code);

    /// A frame for one that writes by itself: whole, in turn; dropped once it is closing.
    task<void> write_encoded(std::string_view frame, io::deadline until);
    task<void> write_encoded(io::shared_bytes frame, io::deadline until);
    void abort() noexcept;

    [[nodiscard]] const websocket_terms& terms() const noexcept { return terms_; }
    [[nodiscard]] bool is_closing() const noexcept { return close_sent_ || over_; }
    /// Whether both sides have said goodbye: the peer has been told all.
    [[nodiscard]] bool is_told() const noexcept { return told_; }
    [[nodiscard]] std::uint16_t close_code() const noexcept { return close_code_; }
    [[nodiscard]] const std::string& close_reason() const noexcept { return close_reason_; }
    [[nodiscard]] std::size_t memory() const noexcept;
    [[nodiscard]] io::stream& stream() noexcept { return stream_; }

private:
    using time_point = std::chrono::steady_clock::time_point;
    enum class woke : std::uint8_t { data, ended, time, drain, gone };

    // -- reading
    class arrival;
    class message_wait;
    [[nodiscard]] time_point next_time() const noexcept;
    [[nodiscard]] bool is_pressed() const noexcept;
    [[nodiscard]] task<woke> arrive_or_pay(time_point limit);
    [[nodiscard]] task<woke> arrive(time_point limit);
    void time_is_up(time_point due);
    [[nodiscard]] task<void> due_already(io::deadline until);
    [[nodiscard]] task<void> behind_bytes(message_reader::found what, io::deadline until);
    void behind_wait(woke by, time_point due);
    [[nodiscard]] task<void> answer_control(io::deadline until);
    task<void> answer_close(io::deadline until);
    task<void> fail(ws::close_reason why, io::deadline until);
    [[nodiscard]] message_reader& reader();
    [[nodiscard]] message_reader::found take();
    [[nodiscard]] bool has_piece() const noexcept;
    [[nodiscard]] websocket_message show(bool last) noexcept;
    void look(io::deadline until);
    void heard() noexcept;
    void rest();

    // -- writing
    class turn;
    void refuse_if_closing() const;
    [[nodiscard]] deflater& compressor();
    [[nodiscard]] bool put_frame(opcode op, std::string_view data);
    [[nodiscard]] bool try_frame(opcode op, std::string_view data);
    [[nodiscard]] bool owes() const noexcept { return (pong_ || ping_owed_) && !is_closing(); }
    [[nodiscard]] bool settle();
    [[nodiscard]] task<void> pay(io::deadline until);
    void pinged() noexcept;
    task<void> write_message(written_head head, std::string_view data, io::deadline until);
    void end_message() noexcept;
    void be_over() noexcept;
    task<void> send_in_turn(opcode op, std::string_view data, io::deadline until);
    task<void> send_compressed(opcode op, std::string_view data, io::deadline until);
    task<void> compress(std::string_view data, std::string* to);
    task<void> write_frame(std::string frame, std::string_view rest, io::deadline until);
    task<void> noted(task<void> writing, io::deadline until);
    task<void> control(opcode op, std::string payload);
    task<void> say_close(std::uint16_t code, std::string reason, io::deadline until = {});
    void end(std::uint16_t code, std::string_view reason);
    void gone() noexcept;

    io::stream& stream_;
    worker& home_;
    const websocket_options& options_;
    const websocket_terms& terms_;
    const std::stop_token& stop_;
    const std::stop_token& draining_;
    memory_budget* const memory_;
    linked_stop<2> either_; // and what a close of another routine's wakes the reader by

    // -- reading
    std::unique_ptr<message_reader> reader_; // or none: nothing of a message has come
    content_pace pace_;                      // of the message at hand
    time_point heard_;                       // something
    time_point answer_by_;  // to a ping that is out, or to the close frame that was sent
    bool ping_out_ = false; // and nothing has come behind it
    bool asked_ = false;    // by a ping, when the last frame came
    bool rested_ = false;
    bool shown_ = false; // the reader's content, to the user
    bool reading_ = false;

    // -- writing
    std::unique_ptr<deflater> deflater_; // or none: it has nothing to refer to
    std::unique_ptr<mutex> writing_;     // while there are writers, and until it rests
    std::uint32_t writers_ = 0;          // that hold it or wait for it
    struct open_message;
    std::shared_ptr<open_message> open_; // that is sent in pieces, or none
    std::unique_ptr<std::string> pong_;  // that is owed, or none: to the newest ping
    bool ping_owed_ = false;             // and not out

    // -- the end
    bool close_sent_ = false;
    bool close_came_ = false; // and is what the reader has read last
    bool over_ = false;
    bool told_ = false;       // by a close frame of either side
    ws::close_reason failed_; // what the peer is told of it, or code 0
    std::uint16_t close_code_ = 0;
    std::string close_reason_;
};

/// For as long as it lives one more writes, or waits to.
class conversation::turn {
public:
    /// Throws std::bad_alloc.
    explicit turn(conversation& of) : of_(of) {
        if (!of.writing_)
            of.writing_ = std::make_unique<mutex>();
        ++of.writers_;
    }
    ~turn() { --of_.writers_; }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

    /// Waits for it; what is owed goes first, if there is room. Throws timed_out.
    [[nodiscard]] task<mutex::guard> comes(io::deadline until = {}) const;
    /// The same for a message: behind one that is sent in pieces.
    [[nodiscard]] task<mutex::guard> comes_to_message(io::deadline until) const;

private:
    conversation& of_;
};

} // namespace rota::http::ws
