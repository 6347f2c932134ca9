// What proxies say of clients: PROXY headers, Forwarded and X-Forwarded fields, traceparent.
#include <rota/http/error.hpp>
#include <rota/http/forwarded.hpp>
#include <rota/http/trace_context.hpp>
#include <rota/http/trusted_proxies.hpp>
#include <rota/io/proxy_header.hpp>

#include "target.hpp"

namespace {

using namespace rota::http;
using rota::fuzz::require;
using rota::fuzz::require_equal;
using progress = rota::io::proxy_header_reading::progress;

std::string written(const std::optional<rota::io::endpoint>& where) {
    return where ? where->to_string() : "-";
}

/// Byte by byte: once there is an answer it stays, and it needs no byte behind the header.
void check_proxy_header(std::string_view bytes) {
    const auto all = rota::io::parse_proxy_header(bytes);
    require(all.now != progress::complete || all.size <= bytes.size(), "a header is in the bytes");
    for (std::size_t size = 0; size <= bytes.size() && size < 400; ++size) {
        const auto some = rota::io::parse_proxy_header(bytes.substr(0, size));
        if (some.now == progress::malformed)
            require(all.now == progress::malformed, "what is malformed stays so", bytes);
        if (some.now == progress::complete)
            require(all.now == progress::complete && all.size == some.size &&
                        written(all.header.source) == written(some.header.source),
                    "what is complete stays so", bytes);
        if (all.now == progress::complete && size == all.size)
            require(some.now == progress::complete, "a header is enough", bytes);
    }
    if (all.now == progress::complete && all.header.source && all.header.version == 1) {
        const std::string line = written(all.header.source);
        require_equal(rota::io::endpoint::parse(line).to_string(), line,
                      "an address there and back");
    }
}

void check_node(std::string_view text, bool bare) {
    const auto node = parse_forwarded_node(text, bare);
    if (!node)
        return;
    const std::string again = node->to_string();
    for (const char c : again)
        require(c > ' ' && c < '\x7f' && c != '"' && c != ',' && c != ';', "a node is a word",
                again);
    const auto back = parse_forwarded_node(again);
    require(back && back->to_string() == again, "a node there and back", again, text);
    require(bare || parse_forwarded_node(text, true).has_value(), "bare takes more", text);
}

void check_forwarded(std::string_view list) {
    const auto steps = parse_forwarded(list);
    if (!steps)
        return;
    for (const forwarded_element& each : *steps) {
        check_node(each.from, false);
        check_node(each.by, false);
    }
    // Behind it a proxy adds what it knows, and that is the last step.
    const auto more = parse_forwarded(std::string(list) + ", for=192.0.2.1;proto=https");
    require(more && more->size() == steps->size() + 1 && more->back().from == "192.0.2.1",
            "what is added is the last", list);
}

void check_origin(std::string_view value, unsigned choice) {
    static const rota::io::network_list inside({"10.0.0.0/8", "::1"});
    const std::string text = "forwardedx-forwarded-forx-forwarded-proto" + std::string(value);
    const text_span content{41, static_cast<std::uint32_t>(value.size())};
    constexpr text_span names[] = {{0, 9}, {9, 15}, {24, 17}};
    const std::vector<field_span> fields{{names[choice % 3], content}};
    const header_list list(text.data(), fields);
    const trusted_proxies_options by{inside, static_cast<proxy_fields>(choice / 3 % 3), true};
    require(!find_origin("192.0.2.1:80", list, by).peer, "nobody else is believed");
    try {
        const request_origin got = find_origin("10.0.0.1:80", list, by);
        if (got.peer)
            check_node(*got.peer, false);
    } catch (const http_error& e) {
        require(e.status() == 400, "what is malformed is a 400");
    }
}

void check_trace(std::string_view text) {
    auto got = parse_traceparent(text);
    if (!got)
        return;
    got->span_id = got->parent_id;
    const std::string again = got->to_string();
    require_equal(again.substr(2, 50), text.substr(2, 50), "ids are as they came");
    require(parse_traceparent(again).has_value(), "what is sent on can be read", again);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    check_proxy_header(in.text);
    check_proxy_header("PROXY TCP4 " + std::string(in.text));
    check_proxy_header(std::string("\r\n\r\n\0\r\nQUIT\n", 12) + std::string(in.text));
    check_forwarded(in.text);
    check_node(in.text, false);
    check_node(in.text, true);
    check_origin(in.text, in.choice);
    check_trace(in.text);
    return 0;
}
