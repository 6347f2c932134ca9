#include "deflate_offer.hpp"

#include <algorithm>

#include <rota/http/fields.hpp>

namespace rota::http::ws {
namespace {

constexpr int bits_min = 8;
constexpr int bits_max = 15;

struct parameter {
    std::string_view name;
    std::optional<std::string> value; // without quotes
};

/// Nothing if it is none.
std::optional<parameter> parse_parameter(std::string_view text) {
    const std::size_t equals = text.find('=');
    parameter found{fields::trim(text.substr(0, equals)), {}};
    if (!fields::is_token(found.name))
        return std::nullopt;
    if (equals == std::string_view::npos)
        return found;
    const std::string_view raw = fields::trim(text.substr(equals + 1));
    if (!fields::is_token(raw) && (raw.size() < 2 || raw.front() != '"' || raw.back() != '"'))
        return std::nullopt;
    found.value = fields::unquoted(raw);
    if (!fields::is_token(*found.value)) // section 9.1: also what was quoted
        return std::nullopt;
    return found;
}

/// 8 to 15 without leading zeros; nothing for anything else.
std::optional<int> window_bits(std::string_view value) noexcept {
    int bits = 0;
    for (const char c : value) {
        if (c < '0' || c > '9' || value.size() > 2 || value.front() == '0')
            return std::nullopt;
        bits = 10 * bits + (c - '0');
    }
    if (bits < bits_min || bits > bits_max)
        return std::nullopt;
    return bits;
}

/// An offer as it is read, parameter by parameter.
class offer {
public:
    void add(const parameter& one) {
        if (one.name == "server_no_context_takeover")
            set_flag(server_no_takeover_, one);
        else if (one.name == "client_no_context_takeover")
            set_flag(client_no_takeover_, one);
        else if (one.name == "server_max_window_bits" && one.value)
            set_bits(server_bits_, *one.value);
        else if (one.name == "client_max_window_bits")
            set_bits(client_bits_, one.value ? *one.value : "15");
        else
            acceptable_ = false;
    }
    [[nodiscard]] bool acceptable() const noexcept { return acceptable_; }

    /// Section 7.1: what is smaller, and what keeps less, wins. How far the client looks back may
    /// only be limited where it has said that it can limit it.
    [[nodiscard]] deflate_choice accepted(const websocket_deflate& may) const {
        websocket_terms terms;
        terms.deflate = true;
        terms.server_keeps_context = may.server_keeps_context && !server_no_takeover_;
        terms.client_keeps_context = may.client_keeps_context && !client_no_takeover_;
        terms.server_window_bits =
            std::min(may.server_window_bits, server_bits_.value_or(bits_max));
        if (client_bits_)
            terms.client_window_bits = std::min(may.client_window_bits, *client_bits_);
        std::string answer = "permessage-deflate";
        if (!terms.server_keeps_context)
            answer += "; server_no_context_takeover";
        if (!terms.client_keeps_context)
            answer += "; client_no_context_takeover";
        if (server_bits_ || terms.server_window_bits < bits_max)
            answer += "; server_max_window_bits=" + std::to_string(terms.server_window_bits);
        if (terms.client_window_bits < bits_max)
            answer += "; client_max_window_bits=" + std::to_string(terms.client_window_bits);
        return {false, std::move(terms), std::move(answer)};
    }

private:
    void set_flag(bool& flag, const parameter& one) noexcept {
        acceptable_ &= !flag && !one.value;
        flag = true;
    }
    void set_bits(std::optional<int>& bits, std::string_view value) noexcept {
        acceptable_ &= !bits;
        bits = window_bits(value);
        acceptable_ &= bits.has_value();
    }

    bool acceptable_ = true;
    bool server_no_takeover_ = false;
    bool client_no_takeover_ = false;
    std::optional<int> server_bits_;
    std::optional<int> client_bits_;
};

} // namespace

deflate_choice choose_deflate(std::string_view list, const websocket_deflate& may) {
    std::optional<offer> chosen;
    bool any = false;
    while (!list.empty()) {
        std::string_view extension = fields::next_part(list, ',');
        if (extension.empty()) // of a list, these are passed over (RFC 9110 section 5.6.1)
            continue;
        any = true;
        const bool ends_open = extension.back() == ';';
        const std::string_view name = fields::next_part(extension, ';');
        if (!fields::is_token(name) || ends_open)
            return {.malformed = true};
        offer one;
        while (!extension.empty()) {
            const auto next = parse_parameter(fields::next_part(extension, ';'));
            if (!next)
                return {.malformed = true};
            one.add(*next);
        }
        if (!chosen && name == "permessage-deflate" && one.acceptable())
            chosen = one;
    }
    if (!any)
        return {.malformed = true};
    return chosen ? chosen->accepted(may) : deflate_choice{};
}

} // namespace rota::http::ws
