#include "requests.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <unordered_set>
#include <utility>

#include "jobs/rules/backoff.hpp"
#include "jobs/rules/payload_size.hpp"
#include "problem.hpp"
#include "words.hpp"

namespace jobs {
namespace {

problem invalid(std::string detail) { return {400, "invalid_request", std::move(detail)}; }

std::string in_quotes(std::string_view name) { return '"' + std::string(name) + '"'; }

void check_kind(rota::json::value v, rota::json::kind expected, std::string_view name) {
    if (!v.is(expected)) {
        throw invalid(in_quotes(name) + " has to be " + std::string(to_string(expected)) +
                      ", not " + std::string(to_string(v.kind())));
    }
}

/// An object with no other members than these, each once: of two, clients and what is in between
/// might not mean the same.
void check_object(rota::json::value v, std::string_view what,
                  std::initializer_list<std::string_view> members) {
    if (!v.is(rota::json::kind::object)) {
        throw invalid(std::string(what) + " has to be an object, not " +
                      std::string(to_string(v.kind())));
    }
    std::uint32_t seen = 0;
    v.each_member([&](std::string_view name, rota::json::value) {
        const auto* const found = std::ranges::find(members, name);
        if (found == members.end())
            throw invalid(std::string(what) + " has no member " + in_quotes(name.substr(0, 50)));
        const std::uint32_t bit = std::uint32_t{1} << (found - members.begin());
        if ((std::exchange(seen, seen | bit) & bit) != 0)
            throw invalid(std::string(what) + " has " + in_quotes(name) + " twice");
    });
}

std::optional<std::int64_t> read_integer(rota::json::value from, std::string_view name,
                                         std::int64_t min, std::int64_t max) {
    const std::optional<rota::json::value> found = from.member(name);
    if (!found)
        return std::nullopt;
    const std::optional<std::int64_t> number = found->integer();
    if (!number || *number < min || *number > max) {
        throw invalid(in_quotes(name) + " has to be an integer from " + std::to_string(min) +
                      " to " + std::to_string(max));
    }
    return number;
}

/// Of an object with this id, or the id itself.
std::string read_lease(rota::json::value from, std::string_view name,
                       std::initializer_list<std::string_view> members) {
    if (from.is(rota::json::kind::string))
        return std::string(from.string());
    check_object(from, "each of " + in_quotes(name), members);
    const std::optional<rota::json::value> id = from.member("lease_id");
    if (!id)
        throw invalid("each lease needs a \"lease_id\"");
    check_kind(*id, rota::json::kind::string, "lease_id");
    return std::string(id->string());
}

std::vector<std::string> read_leases(rota::json::value from, std::string_view name) {
    std::vector<std::string> ids;
    const std::optional<rota::json::value> list = from.member(name);
    if (!list)
        return ids;
    check_kind(*list, rota::json::kind::array, name);
    ids.reserve(list->size());
    list->each_element(
        [&](rota::json::value element) { ids.push_back(read_lease(element, name, {"lease_id"})); });
    return ids;
}

std::string read_error(rota::json::value from, const service_options& limits) {
    const std::optional<rota::json::value> text = from.member("error");
    if (!text)
        return {};
    check_kind(*text, rota::json::kind::string, "error");
    std::string error(text->string());
    if (error.size() > limits.error_bytes_max) {
        throw invalid("\"error\" has " + std::to_string(error.size()) + " bytes; at most " +
                      std::to_string(limits.error_bytes_max));
    }
    if (error.find('\0') != std::string::npos)
        throw invalid("\"error\" has a zero character");
    return error;
}

std::vector<retry> read_retries(rota::json::value from, const service_options& limits) {
    std::vector<retry> retries;
    const std::optional<rota::json::value> list = from.member("retries");
    if (!list)
        return retries;
    check_kind(*list, rota::json::kind::array, "retries");
    retries.reserve(list->size());
    list->each_element([&](rota::json::value element) {
        std::string lease = read_lease(element, "retries", {"lease_id", "delay_ms", "error"});
        const auto delay = read_integer(element, "delay_ms", 0, limits.delay_max.count());
        retries.push_back({std::move(lease), delay, read_error(element, limits)});
    });
    return retries;
}

/// As read_integer(), from 1; 0 for what is not said, and for null.
std::int64_t read_setting(rota::json::value from, std::string_view name, std::int64_t max) {
    const std::optional<rota::json::value> found = from.member(name);
    if (!found || found->is(rota::json::kind::null))
        return 0;
    return read_integer(from, name, 1, max).value_or(0);
}

/// As read_integer(); nothing for null, too.
std::optional<std::int64_t> read_if_said(rota::json::value from, std::string_view name,
                                         std::int64_t min, std::int64_t max) {
    const std::optional<rota::json::value> found = from.member(name);
    if (!found || found->is(rota::json::kind::null))
        return std::nullopt;
    return read_integer(from, name, min, max);
}

/// "factor", any number from 1 to 100, in thousandths.
std::optional<std::uint32_t> read_factor(rota::json::value from) {
    const std::optional<rota::json::value> found = from.member("factor");
    if (!found || found->is(rota::json::kind::null))
        return std::nullopt;
    check_kind(*found, rota::json::kind::number, "factor");
    std::string text;
    found->append_text(text);
    double factor = 0;
    std::from_chars(text.data(), text.data() + text.size(), factor);
    if (!(factor >= 1 && factor <= 100))
        throw invalid("\"factor\" has to be a number from 1 to 100");
    return static_cast<std::uint32_t>(std::lround(factor * 1'000));
}

backoff_settings read_backoff(rota::json::value from, const service_options& limits) {
    backoff_settings result;
    const std::optional<rota::json::value> given = from.member("backoff");
    if (!given || given->is(rota::json::kind::null))
        return result;
    check_object(*given, "\"backoff\"", {"after", "initial_ms", "factor", "max_ms"});
    if (const auto after = read_if_said(*given, "after", 0, 1'000'000))
        result.after = static_cast<std::uint32_t>(*after);
    result.initial_ms = read_if_said(*given, "initial_ms", 0, limits.delay_max.count());
    result.max_ms = read_if_said(*given, "max_ms", 0, limits.delay_max.count());
    result.factor_milli = read_factor(*given);
    const std::int64_t initial = result.initial_ms.value_or(backoff_defaults::initial_ms);
    const std::int64_t most = result.max_ms.value_or(backoff_defaults::max_ms);
    if (most < initial) {
        throw invalid("\"backoff\" has a \"max_ms\" of " + std::to_string(most) +
                      ", below its \"initial_ms\" of " + std::to_string(initial));
    }
    return result;
}

/// FNV-1a: the same for every program that opens the store.
std::uint64_t fingerprint_of(std::initializer_list<std::string_view> texts) noexcept {
    std::uint64_t hash = 14'695'981'039'346'656'037U;
    const auto mix = [&](unsigned char byte) { hash = (hash ^ byte) * 1'099'511'628'211U; };
    for (const std::string_view text : texts) {
        for (const char c : text)
            mix(static_cast<unsigned char>(c));
        mix(0); // what follows is another text
    }
    return hash;
}

std::string default_key(rota::json::value payload) {
    if (payload.is(rota::json::kind::string) &&
        payload.string().find('\0') == std::string_view::npos)
        return std::string(payload.string());
    std::string key;
    payload.append_canonical(key);
    return key;
}

} // namespace

rota::json::document parse(std::string_view text) {
    try {
        return rota::json::document::parse(text);
    } catch (const rota::json::parse_error& e) {
        throw problem(400, "bad_json", std::string("the content is not JSON: ") + e.what());
    }
}

void check_queue_name(std::string_view name) {
    if (!is_queue_name(name)) {
        throw problem(400, "bad_queue_name",
                      "a queue's name is 1 to 128 letters, digits, '.', '_' or '-', and "
                      "neither '.' nor '..'");
    }
}

new_job read_new_job(rota::json::value from, const service_options& limits) {
    check_object(from, "a job", {"payload", "key", "delay_ms", "priority"});
    const std::optional<rota::json::value> payload = from.member("payload");
    if (!payload)
        throw invalid("a job needs a \"payload\"");
    new_job result;
    payload->append_text(result.payload);
    if (const auto size = payload_size(result.payload); size > limits.payload_bytes_max) {
        throw problem(413, "payload_too_large",
                      "the payload has " + std::to_string(size) + " bytes; at most " +
                          std::to_string(limits.payload_bytes_max));
    }
    result.delay_ms = read_integer(from, "delay_ms", 0, limits.delay_max.count()).value_or(0);
    result.priority = static_cast<int>(read_integer(from, "priority", 0, priority_max).value_or(0));
    const std::optional<rota::json::value> key = from.member("key");
    if (!key) {
        result.key = default_key(*payload);
        return result;
    }
    check_kind(*key, rota::json::kind::string, "key");
    result.key = key->string();
    if (result.key.size() > limits.key_bytes_max) {
        throw invalid("\"key\" has " + std::to_string(result.key.size()) + " bytes; at most " +
                      std::to_string(limits.key_bytes_max));
    }
    if (result.key.find('\0') != std::string::npos)
        throw invalid("\"key\" has a zero character");
    return result;
}

take_order read_take_order(rota::json::value from, const service_options& limits) {
    check_object(from, "a take", {"max", "wait_ms", "lease_ms"});
    take_order result;
    if (const auto max = read_integer(from, "max", 1, static_cast<std::int64_t>(limits.take_max)))
        result.wanted.max = static_cast<std::size_t>(*max);
    if (const auto wait = read_integer(from, "wait_ms", 0, limits.wait_max.count()))
        result.wait = std::chrono::milliseconds(*wait);
    result.wanted.lease_ms =
        read_integer(from, "lease_ms", 1, limits.lease_max.count()).value_or(0);
    return result;
}

acknowledgement read_acknowledgement(rota::json::value from, const service_options& limits) {
    check_object(from, "an acknowledgement", {"acks", "retries"});
    if (!from.member("acks") && !from.member("retries"))
        throw invalid("an acknowledgement needs \"acks\", \"retries\" or both");
    return {read_leases(from, "acks"), read_retries(from, limits)};
}

extension read_extension(rota::json::value from, const service_options& limits) {
    check_object(from, "an extension", {"leases", "lease_ms"});
    if (!from.member("leases"))
        throw invalid("an extension needs \"leases\"");
    extension result;
    result.leases = read_leases(from, "leases");
    result.lease_ms = read_integer(from, "lease_ms", 1, limits.lease_max.count()).value_or(0);
    return result;
}

queue_settings read_settings(rota::json::value from, const service_options& limits) {
    check_object(
        from, "a queue's settings",
        {"max_jobs", "max_attempts", "lease_ms", "payload_bytes_max", "paused", "backoff"});
    queue_settings result;
    result.max_jobs = static_cast<std::uint64_t>(read_setting(from, "max_jobs", 1'000'000'000));
    result.max_attempts = static_cast<std::uint32_t>(read_setting(from, "max_attempts", 1'000'000));
    result.lease_ms = read_setting(from, "lease_ms", limits.lease_max.count());
    result.payload_bytes_max = static_cast<std::uint64_t>(read_setting(
        from, "payload_bytes_max", static_cast<std::int64_t>(limits.payload_bytes_max)));
    if (const auto paused = from.member("paused"); paused && !paused->is(rota::json::kind::null)) {
        check_kind(*paused, rota::json::kind::boolean, "paused");
        std::string text;
        paused->append_text(text);
        result.paused = text == "true";
    }
    result.backoff = read_backoff(from, limits);
    return result;
}

dead_request read_dead_request(rota::json::value from, dead_action action) {
    check_object(from, "a choice of dead jobs", {"ids", "before", "cause"});
    dead_request result;
    result.action = action;
    if (const std::optional<rota::json::value> ids = from.member("ids")) {
        check_kind(*ids, rota::json::kind::array, "ids");
        result.ids.emplace();
        std::unordered_set<std::uint64_t> named; // once, or slices would count it again
        ids->each_element([&](rota::json::value element) {
            check_kind(element, rota::json::kind::string, "ids");
            const std::optional<std::uint64_t> id = read_id(element.string());
            if (!id)
                throw invalid("each of \"ids\" has to be the id of a job");
            if (named.insert(*id).second)
                result.ids->push_back(*id);
        });
    }
    if (const std::optional<rota::json::value> before = from.member("before")) {
        check_kind(*before, rota::json::kind::string, "before");
        result.before = read_time(before->string());
        if (!result.before)
            throw invalid("\"before\" has to be a time of RFC 3339, as in 2026-01-31T23:59:59Z");
    }
    if (const std::optional<rota::json::value> cause = from.member("cause")) {
        check_kind(*cause, rota::json::kind::string, "cause");
        const std::optional<job_cause> known = read_cause(cause->string());
        if (!known)
            throw invalid("\"cause\" has to be failed, lease_ended or abandoned");
        result.cause = *known;
    }
    return result;
}

idempotency read_token(std::string_view field, const new_job& job) {
    if (field.size() >= 2 && field.starts_with('"') && field.ends_with('"'))
        field = field.substr(1, field.size() - 2);
    constexpr std::size_t size_max = 255;
    const bool visible = std::ranges::all_of(field, [](char c) { return c > ' ' && c < '\x7f'; });
    if (field.empty() || field.size() > size_max || !visible)
        throw invalid("Idempotency-Key has to be 1 to 255 visible ASCII characters");
    return {std::string(field), fingerprint_of({job.key, job.payload, std::to_string(job.delay_ms),
                                                std::to_string(job.priority)})};
}

} // namespace jobs
