#include "jobs/api/requests.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "jobs/api/problem.hpp"

using namespace jobs;
using Catch::Matchers::ContainsSubstring;

namespace {

const service_options limits{};

new_job job_of(std::string_view text) {
    const rota::json::document doc = parse(text);
    return read_new_job(doc.root(), limits);
}
take_order take_of(std::string_view text) {
    const rota::json::document doc = parse(text);
    return read_take_order(doc.root(), limits);
}
acknowledgement ack_of(std::string_view text) {
    const rota::json::document doc = parse(text);
    return read_acknowledgement(doc.root(), limits);
}

/// Runs `read` and gives what it refuses with.
template <class Read>
problem refusal(Read read, std::string_view text) {
    try {
        (void)read(text);
    } catch (const problem& p) {
        return p;
    }
    return {0, "none", ""};
}

} // namespace

TEST_CASE("the key of a job") {
    CHECK(job_of(R"({"payload": 1, "key": "k"})").key == "k");
    CHECK(job_of(R"({"payload": "text"})").key == "text");
    CHECK(job_of(R"({"payload": {"b": 1, "a": 2}})").key == R"({"a":2,"b":1})");
    CHECK(job_of(R"({"payload": null})").key == "null");
    CHECK(job_of(R"({"payload": "a\u0000b"})").key == R"("a\u0000b")");
    CHECK(job_of(R"({"payload": 1, "key": "é"})").key == "é");
}

TEST_CASE("the payload of a job is any JSON value, as it came") {
    CHECK(job_of(R"({"payload": { "b" : 1, "a" : [ 12345678901234567890 ] }})").payload ==
          R"({"b":1,"a":[12345678901234567890]})");
    CHECK(job_of(R"({"payload": false})").payload == "false");
    CHECK(job_of(R"({"payload": "a"})").payload == R"("a")");
}

TEST_CASE("a job that is none") {
    CHECK_THAT(refusal(job_of, "[]").detail, ContainsSubstring("an object, not an array"));
    CHECK_THAT(refusal(job_of, "{}").detail, ContainsSubstring("needs a \"payload\""));
    CHECK_THAT(refusal(job_of, R"({"payload":1,"kye":"x"})").detail, ContainsSubstring("\"kye\""));
    CHECK_THAT(refusal(job_of, R"({"payload":1,"key":"k","payload":2})").detail,
               ContainsSubstring("\"payload\" twice"));
    CHECK_THAT(refusal(job_of, R"({"payload":1,"key":7})").detail,
               ContainsSubstring("\"key\" has to be a string, not a number"));
    CHECK_THAT(refusal(job_of, R"({"payload":1,"key":"a\u0000b"})").detail,
               ContainsSubstring("zero"));
    CHECK(refusal(job_of, "{}").status == 400);
    const problem bad = refusal(job_of, "{");
    CHECK(bad.code == "bad_json");
}

TEST_CASE("sizes of jobs") {
    const auto with_payload = [](std::size_t size) {
        return R"({"payload":[)" + std::string(size - 2, '1') + R"(]})";
    };
    CHECK(job_of(with_payload(limits.payload_bytes_max)).payload.size() ==
          limits.payload_bytes_max);
    const problem large = refusal(job_of, with_payload(limits.payload_bytes_max + 1));
    CHECK(large.status == 413);
    CHECK(large.code == "payload_too_large");
    const auto with_text = [](std::size_t size) { // quotes are the text's, backslashes are not
        return R"({"payload":"\")" + std::string(size - 1, 'x') + R"("})";
    };
    CHECK(job_of(with_text(limits.payload_bytes_max)).key.size() == limits.payload_bytes_max);
    CHECK(refusal(job_of, with_text(limits.payload_bytes_max + 1)).code == "payload_too_large");
    const std::string key(limits.key_bytes_max, 'k');
    CHECK(job_of(R"({"payload":1,"key":")" + key + "\"}").key == key);
    CHECK(refusal(job_of, R"({"payload":1,"key":"k)" + key + "\"}").status == 400);
}

TEST_CASE("takes") {
    CHECK(take_of("{}").wanted.max == 1);
    CHECK(take_of("{}").wait.count() == 0);
    CHECK(take_of(R"({"max":1000,"wait_ms":60000})").wanted.max == 1000);
    CHECK(take_of(R"({"max":1000,"wait_ms":60000})").wait.count() == 60'000);
    CHECK(take_of("{}").wanted.lease_ms == 0);
    CHECK(take_of(R"({"lease_ms":5})").wanted.lease_ms == 5);
    for (const char* text :
         {R"({"lease_ms":0})", R"({"lease_ms":43200001})", R"({"max":0})", R"({"max":1001})",
          R"({"max":"3"})", R"({"max":1.5})", R"({"max":null})", R"({"wait_ms":-1})",
          R"({"wait_ms":60001})", R"({"wait":1})", "3"}) {
        CAPTURE(text);
        CHECK(refusal(take_of, text).status == 400);
    }
}

TEST_CASE("acknowledgements") {
    const acknowledgement given = ack_of(R"({"acks":[{"lease_id":"a"}],"retries":[]})");
    CHECK(given.acks == std::vector<std::string>{"a"});
    CHECK(given.retries.empty());
    CHECK(ack_of(R"({"retries":[{"lease_id":"b"},{"lease_id":"c"}]})").retries.size() == 2);
    const acknowledgement late =
        ack_of(R"({"retries":[{"lease_id":"b","delay_ms":7,"error":"no"}]})");
    CHECK(late.retries[0].delay_ms == 7);
    CHECK(late.retries[0].error == "no");
    for (const char* text :
         {R"({"retries":[{"lease_id":"b","delay_ms":-1}]})",
          R"({"retries":[{"lease_id":"b","error":1}]})",
          R"({"retries":[{"lease_id":"b","error":"a\u0000b"}]})", "{}", R"({"acks":{}})",
          R"({"acks":[1]})", R"({"acks":[["a"]]})", R"({"acks":[null]})", R"({"acks":[{}]})",
          R"({"acks":[{"lease_id":1}]})", R"({"retries":[1]})", R"({"acks":[{"id":"a"}]})",
          R"({"ack":[]})"}) {
        CAPTURE(text);
        CHECK(refusal(ack_of, text).status == 400);
    }
}

TEST_CASE("a lease may be named by its id alone") {
    const acknowledgement given = ack_of(R"({"acks":["a",{"lease_id":"b"}],"retries":["c"]})");
    CHECK(given.acks == std::vector<std::string>{"a", "b"});
    CHECK(given.retries == std::vector<retry>{{"c"}});
    const rota::json::document doc = parse(R"({"leases":[{"lease_id":"a"},"b"]})");
    CHECK(read_extension(doc.root(), limits).leases == std::vector<std::string>{"a", "b"});
}

TEST_CASE("how long jobs wait that have failed") {
    const auto settings_of = [](std::string_view text) {
        const rota::json::document doc = parse(text);
        return read_settings(doc.root(), limits).backoff;
    };
    CHECK(settings_of("{}") == backoff_settings{});
    CHECK(settings_of(R"({"backoff":null})") == backoff_settings{});
    CHECK(settings_of(R"({"backoff":{"after":null,"factor":null}})") == backoff_settings{});
    CHECK(settings_of(R"({"backoff":{"after":0,"initial_ms":0,"factor":1.0005,"max_ms":0}})") ==
          backoff_settings{0, 0, 1'001, 0});
    CHECK(settings_of(R"({"backoff":{"factor":1e1}})").factor_milli == 10'000);
    for (const char* text :
         {R"({"backoff":[]})", R"({"backoff":{"after":-1}})", R"({"backoff":{"factor":0.999}})",
          R"({"backoff":{"factor":1e3}})", R"({"backoff":{"factor":1e999}})",
          R"({"backoff":{"max_ms":99}})", R"({"backoff":{"initial_ms":600001}})",
          R"({"backoff":{"times":1}})"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(settings_of(text), problem);
    }
}

TEST_CASE("names of queues") {
    for (const char* name : {"Mail.out_2-x", "...", ".a", "a."})
        CHECK_NOTHROW(check_queue_name(name));
    CHECK_NOTHROW(check_queue_name(std::string(128, 'q')));
    for (const std::string& name : {std::string(), std::string("a b"), std::string("a/b"),
                                    std::string("é"), std::string("a\"b"), std::string(129, 'q'),
                                    std::string("a\0b", 3), std::string("."), std::string("..")}) {
        CAPTURE(name);
        CHECK_THROWS_AS(check_queue_name(name), problem);
    }
}

TEST_CASE("delays and priorities") {
    const new_job job = job_of(R"({"payload":1,"delay_ms":5,"priority":9})");
    CHECK(job.delay_ms == 5);
    CHECK(job.priority == 9);
    CHECK(job_of(R"({"payload":1})").priority == 0);
    for (const char* text : {R"({"payload":1,"delay_ms":-1})", R"({"payload":1,"priority":10})",
                             R"({"payload":1,"delay_ms":2592000001})"}) {
        CAPTURE(text);
        CHECK(refusal(job_of, text).status == 400);
    }
}

TEST_CASE("extensions") {
    const auto extension_of = [](std::string_view text) {
        const rota::json::document doc = parse(text);
        return read_extension(doc.root(), limits);
    };
    const extension given = extension_of(R"({"leases":[{"lease_id":"a"}],"lease_ms":9})");
    CHECK(given.leases == std::vector<std::string>{"a"});
    CHECK(given.lease_ms == 9);
    CHECK(extension_of(R"({"leases":[]})").lease_ms == 0);
    CHECK(refusal(extension_of, "{}").status == 400);
    CHECK(refusal(extension_of, R"({"leases":[],"lease_ms":0})").status == 400);
}

TEST_CASE("settings") {
    const auto settings_of = [](std::string_view text) {
        const rota::json::document doc = parse(text);
        return read_settings(doc.root(), limits);
    };
    CHECK(settings_of("{}") == queue_settings{});
    CHECK(settings_of(R"({"max_jobs":null,"paused":null})") == queue_settings{});
    CHECK(settings_of(R"({"max_jobs":1,"max_attempts":2,"lease_ms":3,"payload_bytes_max":4,)"
                      R"("paused":true})") == queue_settings{1, 2, 3, 4, true});
    for (const char* text : {"[]", R"({"max_jobs":0})", R"({"paused":1})", R"({"colour":"red"})"}) {
        CAPTURE(text);
        CHECK(refusal(settings_of, text).status == 400);
    }
}

TEST_CASE("idempotency tokens") {
    const new_job job{"k", "1"};
    CHECK(read_token("abc", job).token == "abc");
    CHECK(read_token("\"abc\"", job).token == "abc");
    CHECK(read_token("abc", job).fingerprint == read_token("x", job).fingerprint);
    CHECK(read_token("abc", job).fingerprint != read_token("abc", {"k1", ""}).fingerprint);
    for (const std::string& field : {std::string(), std::string("a b"), std::string(256, 'x')})
        CHECK_THROWS_AS(read_token(field, job), problem);
}

TEST_CASE("a dead job that is named twice is meant once") {
    const rota::json::document doc = parse(R"({"ids":["7","3","7","12","3"]})");
    const dead_request what = read_dead_request(doc.root(), dead_action::revive);
    CHECK(what.ids == std::vector<std::uint64_t>{7, 3, 12});
}
