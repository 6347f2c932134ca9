#include "requests.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "problem.hpp"

namespace jobs {
namespace {

problem invalid(std::string detail) { return {400, "invalid_request", std::move(detail)}; }

std::string in_quotes(std::string_view name) { return '"' + std::string(name) + '"'; }

void check_kind(json::value v, json::kind expected, std::string_view name) {
    if (!v.is(expected)) {
        throw invalid(in_quotes(name) + " has to be " + std::string(to_string(expected)) +
                      ", not " + std::string(to_string(v.kind())));
    }
}

/// An object with no other members than these.
void check_object(json::value v, std::string_view what,
                  std::initializer_list<std::string_view> members) {
    if (!v.is(json::kind::object)) {
        throw invalid(std::string(what) + " has to be an object, not " +
                      std::string(to_string(v.kind())));
    }
    v.each_member([&](std::string_view name, json::value) {
        if (std::ranges::find(members, name) == members.end()) {
            throw invalid(std::string(what) + " has no member " + in_quotes(name.substr(0, 50)));
        }
    });
}

std::optional<std::int64_t> read_integer(json::value from, std::string_view name, std::int64_t min,
                                         std::int64_t max) {
    const std::optional<json::value> found = from.member(name);
    if (!found)
        return std::nullopt;
    const std::optional<std::int64_t> number = found->integer();
    if (!number || *number < min || *number > max) {
        throw invalid(in_quotes(name) + " has to be an integer from " + std::to_string(min) +
                      " to " + std::to_string(max));
    }
    return number;
}

std::vector<std::string> read_leases(json::value from, std::string_view name) {
    std::vector<std::string> ids;
    const std::optional<json::value> list = from.member(name);
    if (!list)
        return ids;
    check_kind(*list, json::kind::array, name);
    ids.reserve(list->size());
    list->each_element([&](json::value element) {
        check_object(element, "each of " + in_quotes(name), {"lease_id"});
        const std::optional<json::value> id = element.member("lease_id");
        if (!id)
            throw invalid("each of " + in_quotes(name) + " needs a \"lease_id\"");
        check_kind(*id, json::kind::string, "lease_id");
        ids.emplace_back(id->string());
    });
    return ids;
}

std::string default_key(json::value payload) {
    if (payload.is(json::kind::string))
        return std::string(payload.string());
    std::string key;
    payload.append_canonical(key);
    return key;
}

} // namespace

json::document parse(std::string_view text) {
    try {
        return json::document::parse(text);
    } catch (const json::parse_error& e) {
        throw problem(400, "bad_json", std::string("the content is not JSON: ") + e.what());
    }
}

void check_queue_name(std::string_view name) {
    constexpr std::size_t size_max = 128;
    const bool clean = std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    });
    if (name.empty() || name.size() > size_max || !clean) {
        throw problem(400, "bad_queue_name",
                      "a queue's name is 1 to 128 letters, digits, '.', '_' or '-'");
    }
}

new_job read_new_job(json::value from, const service_options& limits) {
    check_object(from, "a job", {"payload", "key"});
    const std::optional<json::value> payload = from.member("payload");
    if (!payload)
        throw invalid("a job needs a \"payload\"");
    new_job result;
    payload->append_text(result.payload);
    if (result.payload.size() > limits.payload_bytes_max) {
        throw problem(413, "payload_too_large",
                      "the payload has " + std::to_string(result.payload.size()) +
                          " bytes; at most " + std::to_string(limits.payload_bytes_max));
    }
    const std::optional<json::value> key = from.member("key");
    if (!key) {
        result.key = default_key(*payload);
        return result;
    }
    check_kind(*key, json::kind::string, "key");
    result.key = key->string();
    if (result.key.size() > limits.key_bytes_max) {
        throw invalid("\"key\" has " + std::to_string(result.key.size()) + " bytes; at most " +
                      std::to_string(limits.key_bytes_max));
    }
    if (result.key.find('\0') != std::string::npos)
        throw invalid("\"key\" has a zero character");
    return result;
}

take_order read_take_order(json::value from, const service_options& limits) {
    check_object(from, "a take", {"max", "wait_ms"});
    take_order result;
    if (const auto max = read_integer(from, "max", 1, static_cast<std::int64_t>(limits.take_max)))
        result.max = static_cast<std::size_t>(*max);
    if (const auto wait = read_integer(from, "wait_ms", 0, limits.wait_max.count()))
        result.wait = std::chrono::milliseconds(*wait);
    return result;
}

acknowledgement read_acknowledgement(json::value from) {
    check_object(from, "an acknowledgement", {"acks", "retries"});
    if (!from.member("acks") && !from.member("retries"))
        throw invalid("an acknowledgement needs \"acks\", \"retries\" or both");
    return {read_leases(from, "acks"), read_leases(from, "retries")};
}

} // namespace jobs
