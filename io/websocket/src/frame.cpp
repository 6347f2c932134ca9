#include "frame.hpp"

#include <algorithm>
#include <cstring>

#include <rota/check.hpp>

namespace rota::http::ws {
namespace {

constexpr unsigned char final_bit = 0x80;
constexpr unsigned char compressed_bit = 0x40;
constexpr unsigned char reserved_bits = 0x30;
constexpr unsigned char masked_bit = 0x80;
constexpr std::uint64_t length_16 = 126; // two bytes with the length follow
constexpr std::uint64_t length_64 = 127; // eight do

unsigned char byte_of(char c) noexcept { return static_cast<unsigned char>(c); }

bool is_known(unsigned char op) noexcept { return op <= 2 || (op >= 8 && op <= 10); }

} // namespace

bool may_be_sent(std::uint16_t code) noexcept {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

void head_reader::begin() noexcept {
    taken_ = 0;
    size_ = 2;
    head_ = {};
    wrong_ = {};
}

std::size_t head_reader::take(std::string_view in) noexcept {
    std::size_t read = 0;
    while (taken_ < size_ && read < in.size() && wrong_.code == 0) {
        // The two bytes that say how long it is one by one, then all that there is.
        const std::size_t wanted = taken_ < 2 ? 1 : size_ - taken_;
        const std::size_t now = std::min(wanted, in.size() - read);
        std::memcpy(bytes_.data() + taken_, in.data() + read, now);
        taken_ = static_cast<std::uint8_t>(taken_ + now);
        read += now;
        look();
    }
    return read;
}

void head_reader::look() noexcept {
    if (taken_ == 1)
        return look_at_first(byte_of(bytes_[0]));
    if (taken_ == 2)
        return look_at_second(byte_of(bytes_[1]));
    const std::size_t mask_at = size_ - sizeof(mask_key);
    if (mask_at != 2)
        look_at_length(mask_at);
    if (taken_ == size_)
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(mask_at), sizeof(mask_key),
                    head_.mask.begin());
}

void head_reader::look_at_first(unsigned char byte) noexcept {
    const unsigned char op = byte & 0x0f;
    head_.op = static_cast<opcode>(op);
    head_.last = (byte & final_bit) != 0;
    head_.compressed = (byte & compressed_bit) != 0;
    if ((byte & reserved_bits) != 0)
        fail("a reserved bit is set");
    else if (!is_known(op))
        fail("a reserved opcode");
    else if (is_control(head_.op) && !head_.last)
        fail("a fragmented control frame");
    else if (head_.compressed && !compression_)
        fail("compressed, which was not agreed on");
    else if (head_.compressed && (is_control(head_.op) || head_.op == opcode::continuation))
        fail("only the first frame of a message says that it is compressed");
    else if (!is_control(head_.op))
        look_at_sequence();
}

void head_reader::look_at_sequence() noexcept {
    const bool continues = head_.op == opcode::continuation;
    if (continues != within_)
        fail(continues ? "a continuation of nothing" : "a message within another one");
    within_ = !head_.last;
}

void head_reader::look_at_second(unsigned char byte) noexcept {
    const std::uint64_t length = byte & 0x7f;
    if ((byte & masked_bit) == 0)
        return fail("a frame without a mask");
    if (is_control(head_.op) && length > control_bytes_max)
        return fail("a control frame of more than 125 bytes");
    if (head_.op == opcode::close && length == 1)
        return fail("a close frame with half a code");
    std::size_t more = sizeof(mask_key);
    if (length == length_16)
        more += 2;
    else if (length == length_64)
        more += 8;
    else
        head_.length = length;
    size_ = static_cast<std::uint8_t>(2 + more);
}

/// As far as its digits have come.
void head_reader::look_at_length(std::size_t mask_at) noexcept {
    const std::size_t come = std::min<std::size_t>(taken_, mask_at);
    std::uint64_t most = 0; // what it can become
    head_.length = 0;
    for (std::size_t i = 2; i < mask_at; ++i) {
        head_.length = head_.length << 8 | (i < come ? byte_of(bytes_[i]) : 0x00U);
        most = most << 8 | (i < come ? byte_of(bytes_[i]) : 0xffU);
    }
    const std::uint64_t least = mask_at == 4 ? length_16 : 65'536;
    if (most < least)
        fail("a length in more bytes than it needs");
    else if (head_.length >> 63 != 0)
        fail("a length of more than 63 bits");
}

written_head write_head(opcode op, bool compressed, std::uint64_t length, bool last) noexcept {
    written_head out;
    unsigned first = static_cast<unsigned>(op);
    if (last)
        first |= final_bit;
    if (compressed)
        first |= compressed_bit;
    out.bytes[0] = static_cast<char>(first);
    std::size_t digits = 0;
    if (length < length_16) {
        out.bytes[1] = static_cast<char>(length);
    } else {
        digits = length < 65'536 ? 2 : 8;
        out.bytes[1] = static_cast<char>(digits == 2 ? length_16 : length_64);
    }
    for (std::size_t i = 0; i < digits; ++i)
        out.bytes[2 + i] = static_cast<char>(length >> (8 * (digits - 1 - i)));
    out.size = static_cast<std::uint8_t>(2 + digits);
    return out;
}

std::uint16_t close_code_of(std::string_view payload) noexcept {
    if (payload.size() < 2)
        return 0;
    return static_cast<std::uint16_t>(byte_of(payload[0]) << 8 | byte_of(payload[1]));
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
    std::string out;
    if (code == 0)
        return out;
    ROTA_CHECK(reason.size() <= control_bytes_max - 2, "a reason fits into a control frame");
    out.push_back(static_cast<char>(code >> 8));
    out.push_back(static_cast<char>(code & 0xff));
    out.append(reason);
    return out;
}

} // namespace rota::http::ws
