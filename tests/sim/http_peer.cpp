#include "http_peer.hpp"

#include <charconv>

#include "scenario.hpp"

namespace sim {
namespace {

std::size_t number(std::string_view text, int base) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    here().require(error == std::errc{} && end == text.data() + text.size(),
                   "an answer has a number that is none");
    return value;
}

/// Takes the chunks off `rest`; false if the last one has not come.
bool read_chunks(std::string_view& rest, std::string& body) {
    for (;;) {
        const auto end = rest.find("\r\n");
        if (end == std::string_view::npos)
            return false;
        const std::size_t size = number(rest.substr(0, end), 16);
        if (rest.size() < end + 2 + size + 2)
            return false;
        body += rest.substr(end + 2, size);
        here().require(rest.substr(end + 2 + size, 2) == "\r\n", "a chunk has no end");
        rest.remove_prefix(end + 2 + size + 2);
        if (size == 0)
            return true;
    }
}

} // namespace

std::string_view answer::field(std::string_view name) const {
    const std::string start = fmt::format("\r\n{}: ", name);
    std::string_view rest = head;
    const auto at = rest.find(start);
    if (at == std::string_view::npos)
        return {};
    rest.remove_prefix(at + start.size());
    return rest.substr(0, rest.find("\r\n"));
}

std::string pattern(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; text.size() < size; ++i)
        text += fmt::format("{},", i);
    text.resize(size);
    return text;
}

std::optional<answer> answer_reader::next() {
    const std::string_view unread = std::string_view(unread_).substr(taken_);
    const auto end = unread.find("\r\n\r\n");
    if (end == std::string_view::npos)
        return std::nullopt;
    const std::string_view head = unread.substr(0, end);
    std::string_view rest = unread.substr(end + 4);
    here().require(head.starts_with("HTTP/1.1 ") && head.size() >= 12, "an answer is none");
    answer a;
    a.head = head;
    a.status = static_cast<int>(number(head.substr(9, 3), 10));
    a.closes = a.field("Connection") == "close";
    if (!a.field("Transfer-Encoding").empty()) {
        if (!read_chunks(rest, a.body))
            return std::nullopt;
    } else if (a.status >= 200) {
        const std::size_t size = number(a.field("Content-Length"), 10);
        if (rest.size() < size)
            return std::nullopt;
        a.body = rest.substr(0, size);
        rest.remove_prefix(size);
    }
    taken_ = unread_.size() - rest.size();
    return a;
}

std::optional<std::string> answer_reader::head() {
    const auto end = unread_.find("\r\n\r\n", taken_);
    if (end == std::string::npos)
        return std::nullopt;
    std::string text = unread_.substr(taken_, end + 4 - taken_);
    taken_ = end + 4;
    return text;
}

std::string answer_reader::rest() { return unread_.substr(std::exchange(taken_, unread_.size())); }

std::string request_text(std::string_view method, std::string_view target, std::string_view content,
                         bool chunked, std::string_view fields) {
    std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: sim\r\n{}", method, target, fields);
    if (!chunked) {
        if (method != "GET")
            text += fmt::format("Content-Length: {}\r\n", content.size());
        return text.append("\r\n").append(content);
    }
    text += "Transfer-Encoding: chunked\r\n\r\n";
    while (!content.empty()) {
        const std::size_t size = here().rng().between(1, content.size());
        text += fmt::format("{:x}\r\n{}\r\n", size, content.substr(0, size));
        content.remove_prefix(size);
    }
    return text + "0\r\n\r\n";
}

rota::http::server_options patient_options(std::size_t connections_max) {
    rota::http::server_options o;
    o.listen = {rota::io::endpoint::parse(address)};
    o.max_connections = connections_max;
    o.drain_timeout = std::chrono::seconds(10);
    o.limits.header_timeout = std::chrono::hours(9);
    o.limits.idle_timeout = std::chrono::hours(9);
    o.limits.body_timeout = std::chrono::hours(9);
    o.limits.send_timeout = std::chrono::hours(9);
    o.limits.linger_timeout = std::chrono::hours(9);
    o.limits.body_rate_min_bytes_per_s = 0;
    o.limits.output_batch_bytes = here().rng().between(1, 3000);
    o.hooks.on_error = scenario::note_error;
    return o;
}

std::optional<answer> next_answer(peer& p, answer_reader& reader, nanoseconds pause,
                                  time_point until) {
    for (;;) {
        if (auto a = reader.next())
            return a;
        if (p.wait(until) != peer::event::bytes)
            return std::nullopt;
        reader.feed(pause.count() == 0 ? p.read() : p.read(here().rng().between(1, 100)));
        if (pause.count() != 0)
            here().sleep(nanoseconds(here().rng().below(static_cast<std::size_t>(pause.count()))));
    }
}

} // namespace sim
