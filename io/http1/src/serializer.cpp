#include "serializer.hpp"

#include <charconv>
#include <limits>
#include <vector>

#include <rota/http/date.hpp>
#include <rota/http/status.hpp>

namespace rota::http {
namespace {

constexpr int first_status = 200;
constexpr int last_status = 599;

/// The status lines of every status that a response can have.
std::vector<std::string> make_status_lines() {
    std::vector<std::string> lines;
    lines.reserve(last_status - first_status + 1);
    for (int status = first_status; status <= last_status; ++status) {
        std::string line = "HTTP/1.1 " + std::to_string(status) + ' ';
        line.append(reason_phrase(status)).append("\r\n");
        lines.push_back(std::move(line));
    }
    return lines;
}

[[gnu::always_inline]] inline std::string_view status_line(int status) {
    if (status == 200) [[likely]] // nearly every answer: no look at the table, nor at its making
        return "HTTP/1.1 200 OK\r\n";
    static const std::vector<std::string> lines = make_status_lines();
    return lines[static_cast<std::size_t>(status - first_status)];
}

/// More than the fields of framing and connection take, and the empty line.
constexpr std::size_t framing_bytes_max = 128;

/// Writes pieces one behind the other where there is room enough.
class pen {
public:
    explicit pen(char* at) noexcept : at_(at) {}
    void put(std::string_view piece) noexcept {
        std::char_traits<char>::copy(at_, piece.data(), piece.size()); // an empty one may be null
        at_ += piece.size();
    }
    void put_decimal(std::uint64_t value) noexcept {
        at_ = std::to_chars(at_, at_ + std::numeric_limits<std::uint64_t>::digits10 + 1, value).ptr;
    }
    [[nodiscard]] char* position() const noexcept { return at_; }

private:
    char* at_;
};

/// 205 has no content either, but says so with a length (RFC 9110 section 15.3.6).
std::uint64_t length_to_announce(const response& answer) noexcept {
    return answer.status() == 205 ? 0 : answer.length().value_or(0);
}

} // namespace

content_framing choose_framing(const response& answer, const answer_terms& with) noexcept {
    if (status_has_no_content(answer.status()))
        return content_framing::none;
    if (answer.is_whole() || answer.length() || answer.status() == 205)
        return content_framing::sized;
    return with.minor >= 1 ? content_framing::chunked : content_framing::until_close;
}

bool sends_content(const response& answer, const answer_terms& with,
                   content_framing framing) noexcept {
    return !with.head_only && framing != content_framing::none && answer.status() != 205;
}

void append_head(std::string& out, const response& answer, const answer_terms& with,
                 content_framing framing, std::string_view content) {
    const std::string_view status = status_line(answer.status());
    const std::string_view date = answer.headers().has_date() ? std::string_view{} : date_line();
    const std::string_view fields = answer.headers().wire();
    const bool goes_on = with.keep_alive && framing != content_framing::until_close;
    const std::size_t before = out.size();
    const std::size_t most =
        before + status.size() + date.size() + fields.size() + framing_bytes_max + content.size();
    out.resize_and_overwrite(most, [&](char* text, std::size_t) {
        pen at(text + before);
        at.put(status);
        at.put(date);
        at.put(fields);
        if (framing == content_framing::sized) {
            at.put("Content-Length: ");
            at.put_decimal(content.empty() ? length_to_announce(answer) : content.size());
            at.put("\r\n");
        } else if (framing == content_framing::chunked) {
            at.put("Transfer-Encoding: chunked\r\n");
        }
        if (!goes_on) {
            at.put("Connection: close\r\n");
        } else if (with.minor == 0) {
            at.put("Connection: keep-alive\r\n");
        }
        if (answer.headers().has_upgrade()) [[unlikely]]
            at.put("Connection: Upgrade\r\n");
        at.put("\r\n");
        at.put(content);
        return static_cast<std::size_t>(at.position() - text);
    });
}

void append_takeover_head(std::string& out, const response& answer) {
    if (answer.is_tunnel()) {
        out.append(status_line(200));
    } else {
        out.append("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n");
    }
    if (!answer.headers().has_date())
        out.append(date_line());
    out.append(answer.headers().wire()).append("\r\n");
}

} // namespace rota::http
