#include "handshake.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include <rota/coding/format.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/guard.hpp>
#include <rota/time_span.hpp>

#include "deflate_offer.hpp"
#include "sha1.hpp"

namespace rota::http::ws {
namespace {

constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64(std::span<const unsigned char> bytes) {
    std::string out;
    std::size_t i = 0;
    for (; i < bytes.size(); i += 3) {
        const std::size_t left = std::min<std::size_t>(bytes.size() - i, 3);
        unsigned word = unsigned{bytes[i]} << 16;
        if (left > 1)
            word |= unsigned{bytes[i + 1]} << 8;
        if (left > 2)
            word |= bytes[i + 2];
        for (std::size_t digit = 0; digit < 4; ++digit)
            out += digit <= left ? base64_digits[(word >> (18 - 6 * digit)) & 63] : '=';
    }
    return out;
}

/// Whether it is base64 of 16 bytes.
bool is_key(std::string_view text) noexcept {
    constexpr std::size_t digits = 22;
    return text.size() == digits + 2 && text.ends_with("==") &&
           std::ranges::all_of(text.substr(0, digits),
                               [](char c) { return base64_digits.contains(c); });
}

/// The value of a field that comes once; nothing if it does not, or more than once.
std::optional<std::string_view> only(const request& asked, std::string_view name) {
    std::optional<std::string_view> found;
    for (const header_field field : asked.headers()) {
        if (!fields::iequals(field.name, name))
            continue;
        if (found)
            return std::nullopt;
        found = fields::trim(field.value);
    }
    return found;
}

bool is_allowed(const request& asked, const websocket_options& options) {
    if (is_of_own_origin(asked))
        return true;
    const std::optional<std::string_view> origin = only(asked, "Origin");
    return std::ranges::any_of(options.allowed_origins, [&](const std::string& each) {
        return each == "*" || (origin && fields::iequals(each, *origin));
    });
}

response refuse(int status, std::string why) {
    response answer = response::text(std::move(why) + '\n').status(status);
    if (status == 426 || status == 400)
        answer.header("Sec-WebSocket-Version", "13");
    if (status == 426)
        answer.header("Upgrade", "websocket");
    return answer;
}

/// Empty for none of ours; nothing if what the client offers is no list of tokens that are unlike
/// each other (RFC 6455 section 4.1 item 10, and 4.3).
std::optional<std::string> choose_subprotocol(const request& asked,
                                              const websocket_options& options) {
    const std::optional<std::string> field =
        fields::joined(asked.headers(), "Sec-WebSocket-Protocol");
    if (!field)
        return "";
    std::vector<std::string_view> offered;
    for (std::string_view rest = *field; !rest.empty();) {
        const std::string_view item = fields::next_part(rest, ',');
        if (item.empty()) // passed over (RFC 9110 section 5.6.1.2)
            continue;
        if (!fields::is_token(item))
            return std::nullopt;
        offered.push_back(item);
    }
    std::ranges::sort(offered); // whose order does not matter: the server prefers
    if (offered.empty() || std::ranges::adjacent_find(offered) != offered.end())
        return std::nullopt;
    for (const std::string& mine : options.subprotocols) {
        if (std::ranges::binary_search(offered, std::string_view(mine)))
            return mine;
    }
    return "";
}

/// It does not ask for WebSocket. A 426 says by Upgrade what would do, which HTTP/2 does not have
/// (RFC 9110 section 15.5.22, RFC 9113 section 8.2.2): there it is by extended CONNECT (RFC 8441),
/// which is shown as an Upgrade to what it names.
response refuse_other(const request& asked) {
    if (asked.version_major() < 2)
        return refuse(426, "this is for WebSocket");
    if (asked.header("Upgrade"))
        return refuse(501, "no other protocol than WebSocket is spoken here");
    return refuse(400, "this is for WebSocket, which over HTTP/2 an extended CONNECT asks for");
}

/// What is wrong with the fields that make it a handshake.
std::optional<response> refuse_fields(const request& asked) {
    if (!asked.offers_upgrade("websocket"))
        return refuse_other(asked);
    const std::optional<std::string_view> version = only(asked, "Sec-WebSocket-Version");
    if (!version || version->empty())
        return refuse(400, "a handshake has one Sec-WebSocket-Version");
    if (*version != "13")
        return refuse(asked.version_major() < 2 ? 426 : 400, "the version of WebSocket here is 13");
    const std::optional<std::string_view> key = only(asked, "Sec-WebSocket-Key");
    if (!key || !is_key(*key))
        return refuse(400, "a handshake has one Sec-WebSocket-Key, base64 of 16 bytes");
    return std::nullopt;
}

} // namespace

std::string accept_of(std::string_view key) {
    std::string text(key);
    text += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    return base64(sha1(text));
}

std::variant<agreement, response> shake_hands(const request& asked,
                                              const websocket_options& options) {
    if (asked.method() != method::get && asked.method() != method::head)
        return response(405).header("Allow", "GET");
    if (auto refusal = refuse_fields(asked))
        return std::move(*refusal);
    if (!is_allowed(asked, options))
        return refuse(403, "this was sent by a page of another origin");
    agreement made;
    const std::optional<std::string> extensions =
        fields::joined(asked.headers(), "Sec-WebSocket-Extensions");
    if (extensions) {
        deflate_choice chosen =
            choose_deflate(*extensions, options.deflate.value_or(websocket_deflate{}));
        if (chosen.malformed)
            return refuse(400, "Sec-WebSocket-Extensions is malformed");
        if (chosen.terms && options.deflate && coding::is_available(coding::format::deflate)) {
            made.terms = *std::move(chosen.terms);
            made.extensions = std::move(chosen.answer);
        }
    }
    std::optional<std::string> subprotocol = choose_subprotocol(asked, options);
    if (!subprotocol)
        return refuse(400, "Sec-WebSocket-Protocol is malformed");
    made.terms.subprotocol = *std::move(subprotocol);
    made.accept = accept_of(*only(asked, "Sec-WebSocket-Key"));
    return made;
}

websocket_options sensible(websocket_options options) {
    for (const std::string& each : options.subprotocols) {
        if (!fields::is_token(each))
            throw std::invalid_argument('"' + each + "\" is no name of a subprotocol");
    }
    for (const std::string& each : options.allowed_origins) {
        if (each != "*" && !is_origin(each))
            throw std::invalid_argument('"' + each + "\" is no origin: try https://app.example");
    }
    const auto in_range = [](int value, int least, int most) {
        return value >= least && value <= most;
    };
    if (options.deflate && !(in_range(options.deflate->server_window_bits, 8, 15) &&
                             in_range(options.deflate->client_window_bits, 8, 15) &&
                             in_range(options.deflate->level, 0, 9))) {
        throw std::invalid_argument("a window of WebSocket has 8 to 15 bits, a level is 0 to 9");
    }
    for (auto* const time : {&options.ping_after, &options.gone_after, &options.close_within,
                             &options.rest_after, &options.message_grace}) {
        if (time->count() < 0)
            throw std::invalid_argument("a time of WebSocket is not negative");
        *time = at_most_ten_years(*time);
    }
    return options;
}

} // namespace rota::http::ws
