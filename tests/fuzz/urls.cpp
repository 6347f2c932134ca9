// Request lines, their targets, and percent-encoding, which has an exact model.
#include <optional>

#include <rota/http/percent.hpp>
#include <rota/http/request_head.hpp>

#include "request_line.hpp"
#include "routed_path.hpp"
#include "target.hpp"

namespace {

using namespace rota::http;
using rota::fuzz::require;
using rota::fuzz::require_equal;

std::optional<unsigned> digit(char c) {
    constexpr std::string_view low = "0123456789abcdef";
    constexpr std::string_view high = "0123456789ABCDEF";
    const std::size_t at = std::min(low.find(c), high.find(c));
    if (at == std::string_view::npos)
        return std::nullopt;
    return static_cast<unsigned>(at);
}

/// The byte of the escape that `text` starts with.
std::optional<char> escape(std::string_view text) {
    if (text.size() < 3 || text[0] != '%' || !digit(text[1]) || !digit(text[2]))
        return std::nullopt;
    return static_cast<char>(*digit(text[1]) * 16 + *digit(text[2]));
}

void check_percent(std::string_view text) {
    bool valid = true;
    std::string path;
    std::string form;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::optional<char> byte = escape(text.substr(i));
        valid = valid && (text[i] != '%' || (byte && *byte != '\0'));
        path += byte ? (*byte == '/' ? encoded_slash : *byte) : text[i];
        form += byte ? *byte : text[i] == '+' ? ' ' : text[i];
        i += byte ? 2 : 0;
    }
    require(valid_escapes(text) == valid, "which escapes are valid", text);
    require_equal(decode_form(text), form, "decoding a form");
    require_equal(decode_form(encode_form(text)), std::string(text), "a form there and back");
    require_equal(percent_decoded(percent_encoded(text)).value_or("none"), std::string(text),
                  "escapes there and back");
    if (valid) {
        std::string decoded = "of before";
        decode_path(text, decoded);
        require_equal(decoded, path, "decoding a path");
    }
}

void check_request_line(const std::string& line) {
    request_head head;
    head.base = line.data();
    bool plain = false;
    if (const check_result wrong = parse_request_line(line, head, plain)) {
        require(wrong->status >= 400 && wrong->status < 600, "a status to answer with", line);
        require(std::string_view(wrong->reason) != "", "a reason", line);
        return;
    }
    const std::string_view target = head.text(head.target);
    const std::string_view path = head.text(head.path);
    const std::string_view query = head.text(head.query);
    const bool is_0 = line.back() == '0';
    require(head.minor == (is_0 ? 0 : 1), "a version above 1.1 is read as that", line);
    const std::string version = std::string(" HTTP/1.") + line.back();
    const bool known = head.method != method::other;
    const std::string_view name = known ? to_string(head.method) : head.text(head.unknown_method);
    require(known == (head.unfit == 0), "an unknown method is told", line);
    require_equal(std::string(name) + ' ' + std::string(target) + version, line,
                  "the parts of a request line");
    require(head.path_escaped == (path.find('%') != std::string_view::npos), "path_escaped", line);
    require(valid_escapes(path), "a path has valid escapes only", path);
    switch (head.form) {
    case target_form::origin:
        require(path.starts_with('/'), "a path starts with a slash", line);
        if (target.find('?') == std::string_view::npos)
            require_equal(target, path, "a target without a query");
        else
            require_equal(target, std::string(path) + '?' + std::string(query), "a target");
        break;
    case target_form::absolute:
        require(valid_host(head.text(head.host)), "the host of an absolute target", line);
        require(target.find(head.text(head.host)) != std::string_view::npos, "its place", line);
        break;
    case target_form::asterisk:
        require(head.method == method::options || !known, "of the known only OPTIONS asks for *",
                line);
        break;
    case target_form::authority:
        require_equal(head.text(head.host), target, "CONNECT is for a host");
        require(valid_host(target), "a valid one", line);
        break;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    check_percent(in.text);
    const std::string text(in.text);
    if (in.choice % 2 == 0)
        check_request_line(text);
    else
        check_request_line("GET " + text + " HTTP/1.1");
    return 0;
}
