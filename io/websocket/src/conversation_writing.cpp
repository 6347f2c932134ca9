// How a conversation writes.
#include <cerrno>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <rota/blocking.hpp>
#include <rota/check.hpp>
#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/with_timeout.hpp>

#include "conversation.hpp"
#include "outbox_stream.hpp"
#include "utf8_check.hpp"

namespace rota::http::ws {
namespace {

constexpr std::size_t copied_bytes = 2'048; // by way of the stack
constexpr std::size_t whole_bytes = 65'536; // of a message: it is copied, to be sent whole
constexpr std::size_t head_room = 10;

std::string frame_of(const written_head& head, std::string_view data) {
    std::string frame;
    frame.reserve(head.size + data.size());
    frame.append(head.view());
    frame.append(data);
    return frame;
}

std::string frame_of(opcode op, std::string_view data) {
    return frame_of(write_head(op, false, data.size()), data);
}

} // namespace

/// Between its pieces control frames may go out, other messages not (RFC 6455 section 5.4).
struct conversation::open_message {
    opcode op = opcode::text;
    utf8_check text; // what of it was sent
    event over;
};

void conversation::refuse_if_closing() const {
    if (is_closing())
        throw std::system_error(EPIPE, std::system_category(), "websocket: it is closing");
}

/// Queues a small frame if there is room. Called with the turn, or while nobody writes.
bool conversation::put_frame(opcode op, std::string_view data) {
    std::array<char, head_room + copied_bytes> frame; // NOLINT(*-member-init): written first
    const written_head head = write_head(op, false, data.size());
    std::memcpy(frame.data(), head.bytes.data(), head.bytes.size());
    if (!data.empty())
        std::memcpy(frame.data() + head.size, data.data(), data.size());
    return stream_.try_write({frame.data(), head.size + data.size()});
}

/// The same where nobody writes.
bool conversation::try_frame(opcode op, std::string_view data) {
    return writers_ == 0 && !over_ && data.size() <= copied_bytes && settle() &&
           put_frame(op, data);
}

// --- Turns, and what is owed ---

/// As put_frame(), of what is owed: true if nothing is left of it.
bool conversation::settle() {
    if (!owes())
        return true;
    if (pong_ && !put_frame(opcode::pong, *pong_))
        return false;
    pong_.reset();
    if (ping_owed_ && !put_frame(opcode::ping, {}))
        return false;
    pinged();
    return true;
}

void conversation::pinged() noexcept {
    if (!std::exchange(ping_owed_, false))
        return;
    ping_out_ = true;
    answer_by_ = home_.now() + options_.gone_after;
}

/// Waits until what is owed can be written, and writes it. What is given up stays owed.
task<void> conversation::pay(io::deadline until) {
    const turn mine(*this);
    const mutex::guard held = co_await mine.comes(until);
    // With a deadline nothing is queued before there is room, so never by a wait that is given up.
    const io::deadline limit = until.value_or(time_point::max());
    try {
        if (owes() && pong_) {
            std::string frame = frame_of(opcode::pong, *pong_);
            co_await write_frame(std::move(frame), {}, limit);
            pong_.reset();
        }
        if (owes()) {
            std::string frame = frame_of(opcode::ping, {});
            co_await write_frame(std::move(frame), {}, limit);
            pinged();
        }
    } catch (const std::system_error&) {
        if (!over_) // it is the caller's time that is up
            throw;
    }
}

task<mutex::guard> conversation::turn::comes(io::deadline until) const {
    const auto waits = [this] { return of_.writing_->lock(); };
    if (until && of_.writers_ > 1) {
        mutex::guard held = co_await with_deadline(*until, waits());
        static_cast<void>(of_.settle());
        co_return held;
    }
    mutex::guard held = co_await waits();
    static_cast<void>(of_.settle());
    co_return held;
}

task<mutex::guard> conversation::turn::comes_to_message(io::deadline until) const {
    for (;;) {
        mutex::guard held = co_await comes(until);
        const std::shared_ptr<open_message> before = of_.open_;
        if (!before)
            co_return held;
        held.unlock();
        const auto waits = [&before] { return before->over.wait(); };
        if (until)
            co_await with_deadline(*until, waits());
        else
            co_await waits();
    }
}

// --- Frames ---

task<void> conversation::send(opcode op, std::string_view data, io::deadline until) {
    refuse_if_closing();
    if (terms_.deflate && data.size() >= options_.deflate->bytes_min)
        co_await send_compressed(op, data, until);
    else if (open_ || !try_frame(op, data))
        co_await send_in_turn(op, data, until);
}

/// Pieces are not compressed.
task<void> conversation::send_piece(websocket_message piece, io::deadline until) {
    const opcode op = piece.text ? opcode::text : opcode::binary;
    std::shared_ptr<open_message> message = open_;
    const bool first = message == nullptr;
    if (first) {
        message = std::make_shared<open_message>();
        message->op = op;
    }
    if (message->op != op)
        throw std::invalid_argument("websocket: a piece is of its message's kind");
    utf8_check text = message->text;
    if (piece.text && (!text.take(piece.data) || (piece.last && !text.complete())))
        throw std::invalid_argument("websocket: text is UTF-8");
    refuse_if_closing();
    const turn mine(*this);
    task<mutex::guard> turn_comes = first ? mine.comes_to_message(until) : mine.comes(until);
    const mutex::guard held = co_await std::move(turn_comes);
    refuse_if_closing();
    const opcode shown = first ? op : opcode::continuation;
    const written_head head = write_head(shown, false, piece.data.size(), piece.last);
    co_await write_message(head, piece.data, until);
    message->text = text;
    open_ = std::move(message);
    if (piece.last || is_closing())
        end_message();
}

/// The next one may begin, or fail, since nothing can be sent any more.
void conversation::end_message() noexcept {
    if (const auto message = std::exchange(open_, nullptr))
        message->over.set();
}

task<void> conversation::send_in_turn(opcode op, std::string_view data, io::deadline until) {
    const turn mine(*this);
    const mutex::guard held = co_await mine.comes_to_message(until);
    refuse_if_closing();
    co_await write_message(write_head(op, false, data.size()), data, until);
}

/// The holder of `writing_`.
task<void> conversation::write_message(written_head head, std::string_view data,
                                       io::deadline until) {
    if (data.size() <= whole_bytes) {
        std::string frame = frame_of(head, data);
        co_await write_frame(std::move(frame), {}, until);
    } else {
        std::string begin(head.view());
        co_await write_frame(std::move(begin), data, until);
    }
}

task<void> conversation::send_compressed(opcode op, std::string_view data, io::deadline until) {
    const turn mine(*this);
    const mutex::guard held = co_await mine.comes_to_message(until);
    refuse_if_closing();
    bool queued = false;
    // Nothing may refer to what the client has not got.
    struct forgetting {
        deflater& of;
        const bool& unless;
        ~forgetting() {
            if (!unless)
                of.forget();
        }
    } const at_end{compressor(), queued};
    std::string frame(head_room, '\0');
    co_await compress(data, &frame);
    const written_head head = write_head(op, true, frame.size() - head_room);
    const std::size_t begin = head_room - head.size;
    std::memcpy(frame.data() + begin, head.bytes.data(), head.size);
    if (!stream_.try_write(std::string_view(frame).substr(begin))) {
        frame.erase(0, begin);
        co_await write_frame(std::move(frame), {}, until);
    }
    queued = true;
}

deflater& conversation::compressor() {
    if (!deflater_) {
        coding::encoder_options how;
        how.to = coding::format::deflate;
        how.level = options_.deflate->level;
        how.window_bits = terms_.server_window_bits;
        deflater_ = std::make_unique<deflater>(how, terms_.server_keeps_context);
    }
    return *deflater_;
}

task<void> conversation::compress(std::string_view data, std::string* to) {
    if (data.size() < options_.deflate->blocking_bytes) {
        deflater_->put(data, *to);
        co_return;
    }
    auto work = [this, data, to] { deflater_->put(data, *to); };
    co_await blocking(std::ref(work));
}

/// The holder of `writing_`: queues `frame` and `rest` behind it. If there is a rest, and it is
/// given up, the peer may have a part of the frame, and is reset.
task<void> conversation::write_frame(std::string frame, std::string_view rest, io::deadline until) {
    bool cut = false;
    struct aborting {
        conversation& of;
        const bool& if_set;
        ~aborting() {
            if (if_set)
                of.abort();
        }
    } const at_end{*this, cut};
    if (rest.empty()) {
        co_await noted(stream_.write_owned(std::move(frame), until), until);
        co_return;
    }
    // A deadline is a wait before it is queued, so this one is whole or not begun.
    const time_point limit = until.value_or(time_point::max());
    co_await noted(stream_.write_owned(std::move(frame), limit), until);
    cut = true;
    co_await noted(stream_.write(rest, until), until);
    cut = false;
}

/// Does `writing`, which is given `until`, and sees by how it fails whether the client is gone.
task<void> conversation::noted(task<void> writing, io::deadline until) {
    try {
        co_await std::move(writing);
    } catch (const timed_out&) { // by the caller's limit, or by the server's: then it is reset
        if (!until || home_.now() < *until)
            gone();
        throw;
    } catch (const std::system_error&) {
        gone();
        throw;
    }
}

task<void> conversation::write_encoded(std::string_view frame, io::deadline until) {
    if (writers_ == 0 && !open_ && !is_closing() && settle() && stream_.try_write(frame))
        co_return;
    const turn mine(*this);
    const mutex::guard held = co_await mine.comes_to_message(until);
    if (is_closing())
        co_return;
    co_await write_frame(std::string(frame), {}, until);
}

/// Of it no part is copied where the stream can share it.
task<void> conversation::write_encoded(io::shared_bytes frame, io::deadline until) {
    if (writers_ == 0 && !open_ && !is_closing() && settle() &&
        (stream_.try_write_shared({}, frame) || stream_.try_write(frame.view())))
        co_return;
    const turn mine(*this);
    const mutex::guard held = co_await mine.comes_to_message(until);
    if (is_closing())
        co_return;
    co_await noted(stream_.write_shared(std::move(frame), until), until);
}

/// A control frame of ours; that the client is gone shows elsewhere.
task<void> conversation::control(opcode op, std::string payload) {
    if (try_frame(op, payload))
        co_return;
    const turn mine(*this);
    const mutex::guard held = co_await mine.comes();
    if (is_closing())
        co_return;
    std::string frame = frame_of(op, payload);
    try {
        co_await write_frame(std::move(frame), {}, {});
    } catch (const std::system_error&) { // noted
    }
}

task<void> conversation::ping(std::string data) {
    if (data.size() > control_bytes_max)
        throw std::invalid_argument("websocket: a ping has at most 125 bytes");
    refuse_if_closing();
    co_await control(opcode::ping, std::move(data));
}

task<void> conversation::close(std::uint16_t code, std::string reason) {
    utf8_check text;
    if ((code != 0 && !may_be_sent(code)) || (code == 0 && !reason.empty()) ||
        reason.size() > control_bytes_max - 2 || !text.take(reason) || !text.complete()) {
        throw std::invalid_argument("websocket: a code that must not be sent, or a reason that is "
                                    "not UTF-8 of at most 123 bytes");
    }
    if (!over_)
        co_await say_close(code, std::move(reason));
}

/// Sends the close frame, once; behind it nothing is written. Throws timed_out; what is given up
/// has not been said.
task<void> conversation::say_close(std::uint16_t code, std::string reason, io::deadline until) {
    if (close_sent_)
        co_return;
    const turn mine(*this);
    const mutex::guard held = co_await mine.comes(until);
    if (is_closing())
        co_return;
    std::string frame = frame_of(opcode::close, close_payload(code, reason));
    try {
        co_await write_frame(std::move(frame), {}, until.value_or(time_point::max()));
    } catch (const std::system_error&) {
        if (!over_) // it is the caller's time that is up
            throw;
    }
    close_sent_ = true;
    end_message();
    answer_by_ = home_.now() + options_.close_within;
    if (reading_) // it waits for another time
        either_.request_stop();
    if (close_code_ == 0) {
        close_code_ = code != 0 ? code : close_code::none;
        close_reason_ = reason;
    }
}

task<void> conversation::serve(io::outbox* from, task<void> body) {
    outbox_stream to(*this);
    co_await from->serve(to, std::move(body));
}

} // namespace rota::http::ws
