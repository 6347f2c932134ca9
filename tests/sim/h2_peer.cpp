#include "h2_peer.hpp"

#include <array>
#include <charconv>
#include <map>

#include "world.hpp"

namespace sim {
namespace {

constexpr std::size_t head_bytes = 9;
constexpr std::size_t payload_bytes_max = 16'384; // unless the client says otherwise

// --- Huffman's codes (RFC 7541 appendix B), of what can be printed ---

constexpr unsigned first_printed = 32;
/// How many bits each has. Codes of one length are numbered in the order of their characters, and
/// begin behind those that are shorter.
constexpr std::array<std::uint8_t, 95> code_bits{
    6, 10, 10, 12, 13, 6, 8,  11, 10, 10, 8, 11, 8,  6,  6,  6, 5,  5, 5, 6,  6,  6,  6, 6,
    6, 6,  7,  8,  15, 6, 12, 10, 13, 6,  7, 7,  7,  7,  7,  7, 7,  7, 7, 7,  7,  7,  7, 7,
    7, 7,  7,  7,  7,  7, 7,  7,  8,  7,  8, 13, 19, 13, 14, 6, 15, 5, 6, 5,  6,  5,  6, 6,
    6, 5,  7,  7,  6,  6, 6,  5,  6,  7,  6, 5,  5,  6,  7,  7, 7,  7, 7, 15, 11, 14, 13};
constexpr unsigned bits_max = 15; // but for the backslash, which is not expected

using code = std::pair<unsigned, unsigned>; // how many bits, and which

std::map<code, char> make_characters() {
    std::map<code, char> all;
    unsigned next = 0;
    for (unsigned bits = 5; bits <= bits_max; ++bits) {
        next <<= 1U;
        if (bits == 13)
            all[{bits, next++}] = '\0'; // which is the only other one that is so short
        for (unsigned i = 0; i < code_bits.size(); ++i) {
            if (code_bits[i] == bits)
                all[{bits, next++}] = static_cast<char>(first_printed + i);
        }
    }
    return all;
}

std::string read_huffman(std::string_view coded) {
    static const std::map<code, char> characters = make_characters();
    std::string text;
    code read{0, 0};
    for (const char c : coded) {
        for (int bit = 7; bit >= 0; --bit) {
            ++read.first;
            read.second = read.second << 1U | (static_cast<unsigned char>(c) >> bit & 1U);
            here().require(read.first <= bits_max, "a field has a character that is not expected");
            if (const auto found = characters.find(read); found != characters.end()) {
                text += found->second;
                read = {0, 0};
            }
        }
    }
    here().require(read.first < 8 && read.second + 1 == 1U << read.first,
                   "a field has a wrong end");
    return text;
}

// --- The rest of HPACK ---

class hpack_reader {
public:
    explicit hpack_reader(std::string_view block) : rest_(block) {}
    [[nodiscard]] bool done() const noexcept { return rest_.empty(); }
    [[nodiscard]] unsigned peek() const { return static_cast<unsigned char>(rest_.front()); }

    /// A number whose first byte has so many bits of it.
    std::size_t number(unsigned prefix) {
        const std::size_t most = (1U << prefix) - 1;
        std::size_t value = byte() & most;
        if (value < most)
            return value;
        for (unsigned shift = 0;; shift += 7) {
            const unsigned next = byte();
            value += std::size_t{next & 127U} << shift;
            if (next < 128)
                return value;
            here().require(shift < 21, "a number of HPACK is too long");
        }
    }
    std::string text() {
        here().require(!done(), "a field is cut off");
        const bool huffman = peek() >= 128;
        const std::size_t size = number(7);
        here().require(size <= rest_.size(), "a field is cut off");
        const std::string_view raw = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return huffman ? read_huffman(raw) : std::string(raw);
    }

private:
    unsigned byte() {
        here().require(!done(), "a field is cut off");
        const unsigned first = peek();
        rest_.remove_prefix(1);
        return first;
    }
    std::string_view rest_;
};

std::size_t decimal(std::string_view text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    here().require(error == std::errc{} && end == text.data() + text.size(),
                   "a field has a number that is none");
    return value;
}

} // namespace

std::uint32_t h2_frame::number(std::size_t at) const {
    here().require(payload.size() >= at + 4, "a frame is too short");
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i)
        value = value << 8U | static_cast<unsigned char>(payload[i]);
    return value;
}

std::string h2_number(std::uint32_t value, std::size_t bytes) {
    std::string text;
    for (; bytes != 0; --bytes)
        text += static_cast<char>(value >> (8 * (bytes - 1)));
    return text;
}

std::string h2_bytes(const h2_frame& f) {
    return h2_number(static_cast<std::uint32_t>(f.payload.size()), 3) + static_cast<char>(f.what) +
           static_cast<char>(f.flags) + h2_number(f.stream) + f.payload;
}

std::optional<h2_frame> h2_reader::next() {
    const std::string_view unread = std::string_view(unread_).substr(taken_);
    if (unread.size() < head_bytes)
        return std::nullopt;
    const auto byte = [unread](std::size_t i) { return static_cast<unsigned char>(unread[i]); };
    const std::size_t size = std::size_t{byte(0)} << 16U | std::size_t{byte(1)} << 8U | byte(2);
    here().require(size <= payload_bytes_max, "a frame is too long");
    if (unread.size() < head_bytes + size)
        return std::nullopt;
    h2_frame f{byte(3), byte(4), 0, std::string(unread.substr(5, 4))};
    f.stream = f.number();
    f.payload = unread.substr(head_bytes, size);
    taken_ += head_bytes + size;
    return f;
}

std::string hpack_field(std::string_view name, std::string_view value) {
    std::string field(1, '\0');
    for (const std::string_view part : {name, value}) {
        if (part.size() < 127) {
            field += static_cast<char>(part.size());
        } else {
            here().require(part.size() < 255, "a field is short enough");
            field.append(1, '\x7f').append(1, static_cast<char>(part.size() - 127));
        }
        field += part;
    }
    return field;
}

hpack_head read_hpack(std::string_view block) {
    constexpr std::array<int, 7> statuses{200, 204, 206, 304, 400, 404, 500}; // of the static table
    constexpr std::size_t first_status = 8;
    constexpr std::size_t content_length = 28;
    constexpr std::size_t static_entries = 61;
    hpack_reader r(block);
    hpack_head head;
    while (!r.done()) {
        const unsigned first = r.peek();
        if (first >= 128) {
            const std::size_t index = r.number(7);
            here().require(index >= first_status && index < first_status + statuses.size(),
                           "a field is not where it is said to be");
            head.status = statuses[index - first_status];
            continue;
        }
        if (first >= 32 && first < 64) {
            here().require(r.number(5) == 0, "a table is larger than it may be");
            continue;
        }
        const std::size_t index = r.number(first >= 64 ? 6 : 4);
        here().require(index <= static_entries, "a field refers to what has been forgotten");
        const std::string name = index == 0 ? r.text() : std::string();
        const std::string value = r.text();
        if (index >= first_status && index < first_status + statuses.size())
            head.status = static_cast<int>(decimal(value));
        else if (index == content_length || name == "content-length")
            head.length = decimal(value);
        else if (name == "x-request-id")
            head.id = value;
    }
    return head;
}

} // namespace sim
