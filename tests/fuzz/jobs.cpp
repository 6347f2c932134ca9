// What clients of the job queues send: whatever is taken is within the limits, and is the same when
// it is written out and read again.
#include <optional>

#include "jobs/api/problem.hpp"
#include "jobs/api/requests.hpp"
#include "jobs/rules/payload_size.hpp"
#include "target.hpp"
#include <rota/json/writer.hpp>

namespace {

using rota::fuzz::require;
using rota::fuzz::require_equal;

const jobs::service_options limits = [] {
    jobs::service_options o;
    o.payload_bytes_max = 64;
    o.key_bytes_max = 16;
    o.take_max = 100;
    return o;
}();

/// What `read` gives for a text, or nothing if it is refused, and then properly.
template <class Read>
auto read(std::string_view text, Read how) {
    std::optional<decltype(how(std::declval<rota::json::value>()))> result;
    try {
        const rota::json::document document = jobs::parse(text);
        result = how(document.root());
    } catch (const jobs::problem& p) {
        require(p.status == 400 || p.status == 413, "the status of a refusal", text);
        require(!p.code.empty() && std::string_view(p.what()) != "", "a refusal says why", text);
    }
    return result;
}

std::optional<jobs::new_job> read_job(std::string_view text) {
    return read(text, [](rota::json::value v) { return jobs::read_new_job(v, limits); });
}

std::string canonical(std::string_view text) {
    std::string out;
    const rota::json::document document = jobs::parse(text);
    document.root().append_canonical(out);
    return out;
}

void check_job(std::string_view text) {
    const auto job = read_job(text);
    const auto padded = read_job(" \t" + std::string(text) + "\r\n ");
    require(job.has_value() == padded.has_value(), "white space around it says nothing", text);
    if (!job)
        return;
    require(jobs::payload_size(job->payload) <= limits.payload_bytes_max, "the size of a payload",
            text);
    const std::string once = canonical(job->payload);
    require_equal(canonical(once), once, "the canonical text of a canonical text");

    std::string without_key = "{\"payload\":" + job->payload + '}';
    const auto plain = read_job(without_key);
    require(plain.has_value(), "a payload that was taken is taken again", without_key);
    require_equal(plain->payload, job->payload, "a payload written out");
    if (job->payload.front() != '"')
        require_equal(plain->key, once, "the key of a job without one");
    if (job->key.size() > limits.key_bytes_max || job->key.find('\0') != std::string::npos)
        return; // it was made of the payload, which may be longer
    std::string with_key;
    rota::json::writer w(with_key);
    w.begin_object().member("key", job->key).key("payload").raw(job->payload).end_object();
    const auto again = read_job(with_key);
    require(again.has_value(), "a job that was taken is taken again", with_key);
    require_equal(again->key, job->key, "a key written out");
    require_equal(again->payload, job->payload, "a payload written out");
}

void check_take(std::string_view text) {
    const auto take =
        read(text, [](rota::json::value v) { return jobs::read_take_order(v, limits); });
    if (take) {
        require(take->wanted.max >= 1 && take->wanted.max <= limits.take_max, "how many", text);
        require(take->wait.count() >= 0 && take->wait <= limits.wait_max, "how long", text);
    }
}

void check_acknowledgement(std::string_view text) {
    const auto read_acks = [](std::string_view from) {
        return read(from,
                    [](rota::json::value v) { return jobs::read_acknowledgement(v, limits); });
    };
    const auto got = read_acks(text);
    if (!got)
        return;
    std::string out;
    rota::json::writer w(out);
    w.begin_object();
    w.key("acks").begin_array();
    for (const std::string& lease : got->acks)
        w.begin_object().member("lease_id", lease).end_object();
    w.end_array().key("retries").begin_array();
    for (const jobs::retry& each : got->retries) {
        w.begin_object().member("lease_id", each.lease_id);
        if (each.delay_ms) {
            require(*each.delay_ms >= 0 && *each.delay_ms <= limits.delay_max.count(), "a delay",
                    text);
            w.member("delay_ms", *each.delay_ms);
        }
        w.member("error", each.error).end_object();
    }
    w.end_array().end_object();
    const auto again = read_acks(out);
    require(again && again->acks == got->acks && again->retries == got->retries,
            "an acknowledgement written out", out);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    check_job(in.text);
    check_take(in.text);
    check_acknowledgement(in.text);
    try {
        jobs::check_queue_name(in.text);
        require(!in.text.empty() && in.text.size() <= 128, "the size of a queue's name", in.text);
        require(in.text.find_first_of("/%\r\n \"") == std::string_view::npos, "its characters",
                in.text);
    } catch (const jobs::problem& p) {
        require(p.status == 400, "the status of a bad name", in.text);
    }
    return 0;
}
