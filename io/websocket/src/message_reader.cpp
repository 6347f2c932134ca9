#include "message_reader.hpp"

#include <algorithm>

#include <rota/check.hpp>
#include <rota/http/detail/summable.hpp>

#include "append_room.hpp"

namespace rota::http::ws {
namespace {

constexpr std::size_t compressed_piece = 2'048; // unmasked at a time
constexpr std::size_t busy_bytes = 131'072;     // of content, by one call: then others have a turn

/// Whether a frame that begins with it is one (RFC 6455 section 5.5).
bool begins_control(char first) noexcept { return (static_cast<unsigned char>(first) & 8U) != 0; }

/// How long a message of `bytes` may become by being compressed: empty blocks say nothing at any
/// length.
std::uint64_t longest_coded(std::uint64_t bytes) noexcept { return bytes + bytes / 8 + 65'536; }

} // namespace

message_reader::message_reader(std::size_t bytes_max, std::optional<inflate_terms> compression,
                               memory_budget* memory)
    : bytes_max_(summable(bytes_max)), head_(compression.has_value()), kept_(memory) {
    if (compression)
        inflater_.emplace(compression->window_bits, compression->keeps_context);
}

message_reader::step message_reader::take(std::string_view in) {
    ROTA_CHECK(!ended_, "a message is taken out before the next one begins");
    step now;
    const std::size_t before = content_.size();
    while (wrong_.code == 0) {
        const std::string_view rest = in.substr(now.taken);
        if (!in_payload_) {
            // What has come of a message is shown before what stands between its frames.
            if (now.taken != 0 && !rest.empty() && !content_.empty() && begins_control(rest[0])) {
                now.what = found::piece;
                return now;
            }
            now.taken += head_.take(rest);
            if (head_.fault().code != 0) {
                wrong_ = head_.fault();
                break;
            }
            if (!has_room()) {
                fail(close_code::too_big, "the message is too big");
                break;
            }
            if (!head_.complete())
                return now;
            begin_frame();
            continue;
        }
        if (left_ != 0) {
            if (rest.empty())
                return now;
            now.taken += is_control(head_.head().op) ? take_control(rest) : take_content(rest);
            if (wrong_.code != 0)
                break;
            if (now.taken < in.size() && content_.size() - before >= busy_bytes) {
                now.what = found::busy;
                return now;
            }
            continue;
        }
        now.what = end_frame();
        if (now.what != found::more)
            return now;
    }
    now.what = found::failed;
    return now;
}

/// Whether the frame whose head comes may be as long as is known of it.
bool message_reader::has_room() const noexcept {
    const frame_head& head = head_.head();
    if (is_control(head.op))
        return true;
    const bool goes_on = head.op == opcode::continuation;
    if (goes_on ? compressed_ : head.compressed)
        return head.length <= longest_coded(bytes_max_) - (goes_on ? came_ : 0);
    return head.length <= content_max() - content_.size();
}

void message_reader::begin_frame() noexcept {
    const frame_head& head = head_.head();
    left_ = head.length;
    done_ = 0;
    in_payload_ = true;
    if (is_control(head.op)) {
        control_op_ = head.op;
        control_size_ = 0;
    } else {
        if (head.op != opcode::continuation)
            begin_message(head);
        came_ += head.length;
    }
}

void message_reader::begin_message(const frame_head& head) noexcept {
    open_ = true;
    text_ = head.op == opcode::text;
    compressed_ = head.compressed;
    came_ = 0;
    utf8_.reset();
}

std::size_t message_reader::take_control(std::string_view in) noexcept {
    const std::size_t size = std::min<std::uint64_t>(in.size(), left_);
    apply_mask(in.substr(0, size), control_.data() + control_size_, head_.head().mask, done_);
    control_size_ = static_cast<std::uint8_t>(control_size_ + size);
    done_ += size;
    left_ -= size;
    if (control_op_ == opcode::close)
        check_close();
    return size;
}

/// Behind more of one (RFC 6455 section 5.5.1).
void message_reader::check_close() noexcept {
    if (control_size_ < 2)
        return;
    utf8_check words;
    if (!may_be_sent(close_code_of(control())))
        fail(close_code::protocol_error, "a close frame with a code that is none");
    else if (!words.take(control().substr(2)) || (left_ == 0 && !words.complete()))
        fail(close_code::invalid_data, "a close frame with words that are not UTF-8");
}

std::size_t message_reader::take_content(std::string_view in) {
    const std::string_view masked = in.substr(0, std::min<std::uint64_t>(in.size(), left_));
    std::size_t size = masked.size();
    if (compressed_)
        size = append_compressed(masked);
    else
        append_plain(masked);
    done_ += size;
    left_ -= size;
    account();
    return size;
}

/// Behind new content.
void message_reader::account() {
    if (wrong_.code != 0 || kept_.reach_in_steps(content_.size()))
        return;
    fail(close_code::try_later, "the memory for messages is used up at the moment");
    give_up_content();
}

void message_reader::give_up_content() noexcept {
    std::string().swap(content_); // an assignment would keep the memory
    kept_.give_back();
}

void message_reader::append_plain(std::string_view masked) {
    const std::size_t before = content_.size();
    append_room(content_, masked.size(), [&](char* at) {
        apply_mask(masked, at, head_.head().mask, done_);
        return masked.size();
    });
    check_text(before);
}

/// How many of the bytes it has taken.
std::size_t message_reader::append_compressed(std::string_view masked) {
    std::array<char, compressed_piece> piece; // NOLINT(*-member-init): written before it is read
    const std::size_t size = std::min(masked.size(), piece.size());
    apply_mask(masked.substr(0, size), piece.data(), head_.head().mask, done_);
    std::string_view rest(piece.data(), size);
    const std::size_t before = content_.size();
    const auto how = inflater_->put(rest, content_, content_max());
    check_text(before); // what came before a fault may have had one of its own
    note(how);
    return size - rest.size();
}

void message_reader::note(inflater::result how) noexcept {
    if (wrong_.code != 0)
        return;
    if (how == inflater::result::corrupt)
        fail(close_code::protocol_error, "this is not deflate");
    else if (how == inflater::result::too_big)
        fail(close_code::too_big, "the message is too big");
}

/// Behind new content.
void message_reader::check_text(std::size_t from) noexcept {
    if (text_ && wrong_.code == 0 && !utf8_.take(content().substr(from)))
        fail(close_code::invalid_data, "text that is not UTF-8");
}

message_reader::found message_reader::end_frame() {
    const frame_head head = head_.head();
    head_.begin();
    in_payload_ = false;
    if (is_control(head.op))
        return found::control;
    if (!head.last)
        return found::more;
    end_message();
    return wrong_.code == 0 ? found::message : found::failed;
}

void message_reader::end_message() {
    if (compressed_) {
        const std::size_t before = content_.size();
        const auto how = inflater_->end(content_, content_max());
        check_text(before);
        note(how);
        account();
    }
    if (text_ && wrong_.code == 0 && !utf8_.complete())
        fail(close_code::invalid_data, "text that ends within a character");
    open_ = false;
    ended_ = true;
}

void message_reader::forget_content() noexcept {
    dropped_ = ended_ ? 0 : dropped_ + content_.size();
    ended_ = false;
    // What a large message has taken is kept for another such one.
    if (content_.capacity() > memory_budget::step && content_.size() < content_.capacity() / 4)
        give_up_content();
    content_.clear();
}

bool message_reader::rest() {
    if (inflater_ && !open_)
        inflater_->rest();
    if (content_.empty())
        give_up_content();
    return !open_ && !ended_ && !in_payload_ && !head_.begun() && wrong_.code == 0 &&
           (!inflater_ || inflater_->is_new());
}

void message_reader::release() noexcept {
    inflater_.reset();
    give_up_content();
}

std::size_t message_reader::memory() const noexcept {
    return content_.capacity() + (inflater_ ? inflater_->memory() : 0);
}

} // namespace rota::http::ws
