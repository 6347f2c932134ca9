#include "jobs/api/bulk.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>

#include "jobs/rules/memory_store.hpp"

using namespace jobs;

namespace {

const std::string input = "{\"payload\":\"a\"}\r\n"
                          "{\"payload\":\"b\",\"key\":\"k\"}\n"
                          "\n  \r\n"
                          "{\"payload\":\"a\"}\n"
                          "nonsense\n"
                          "{\"payload\":3}";

const std::string outcomes =
    R"({"i":0,"outcome":"enqueued","id":"1"})"
    "\n"
    R"({"i":1,"outcome":"enqueued","id":"2"})"
    "\n"
    R"({"i":2,"outcome":"rejected","reason":"duplicate","existing_id":"1","state":"queued"})"
    "\n"
    R"({"i":3,"outcome":"error","code":"bad_json","reason":"the content is not JSON: )"
    R"(invalid literal, expected a valid literal such as 'null' at byte 0"})"
    "\n"
    R"({"i":4,"outcome":"enqueued","id":"3"})"
    "\n"
    R"({"summary":{"lines":5,"enqueued":3,"rejected":1,"errors":1}})"
    "\n";

std::string run(std::size_t piece_size, std::string_view text, const service_options& limits,
                store_limits kept = {}, rota::http::body_reader* from = nullptr) {
    rota::inline_scheduler scheduler;
    memory_store rows(kept);
    bulk_add lines(limits, from);
    std::string out;
    const auto add = [&] {
        const auto results = scheduler.run_task(rows.add("q", lines.take_jobs(), std::nullopt, 0));
        lines.report(results, out);
    };
    while (!text.empty()) {
        const std::string_view piece = text.substr(0, piece_size);
        text.remove_prefix(piece.size());
        lines.feed(piece);
        add();
    }
    lines.end();
    add();
    lines.summarise(out);
    return out;
}

} // namespace

TEST_CASE("outcomes come in input order, whatever the pieces") {
    std::string whole = run(input.size(), input, {});
    // What exactly is wrong with nonsense is the parser's to word.
    CHECK(whole.substr(0, whole.find("{\"i\":3")) == outcomes.substr(0, outcomes.find("{\"i\":3")));
    CHECK(whole.substr(whole.find("{\"i\":4")) == outcomes.substr(outcomes.find("{\"i\":4")));
    for (std::size_t size = 1; size < input.size(); ++size) {
        CAPTURE(size);
        REQUIRE(run(size, input, {}) == whole);
    }
}

TEST_CASE("a job is there as soon as its line has ended") {
    const service_options limits;
    bulk_add lines(limits);
    lines.feed(R"({"payload":1})");
    CHECK(lines.take_jobs().empty());
    lines.feed("\n");
    CHECK(lines.take_jobs().size() == 1);
    std::string out;
    const std::vector<add_result> results(1, {add_outcome::added, 7});
    lines.report(results, out);
    CHECK(out == "{\"i\":0,\"outcome\":\"enqueued\",\"id\":\"7\"}\n");
}

TEST_CASE("lines that the store does not take are errors") {
    const service_options limits;
    bulk_add lines(limits);
    lines.feed("{\"payload\":1}\nnonsense\n");
    (void)lines.take_jobs();
    std::string out;
    lines.report_failure("store_unavailable", "the disk is full", out);
    lines.summarise(out);
    CHECK(out.starts_with(R"({"i":0,"outcome":"error","code":"store_unavailable",)"
                          R"("reason":"the disk is full"})"));
    CHECK(out.find(R"({"i":1,"outcome":"error","code":"bad_json")") != std::string::npos);
    CHECK(out.find(R"("errors":2)") != std::string::npos);
}

TEST_CASE("a line that is too long is an error and the rest goes on") {
    const service_options limits{.request_bytes_max = 30};
    const std::string text = "{\"payload\":\"" + std::string(100, 'x') + "\"}\n{\"payload\":1}\n" +
                             std::string(31, ' ') + "\n" + std::string(40, 'y');
    const std::string whole = run(text.size(), text, limits);
    CAPTURE(whole);
    CHECK(whole.starts_with(R"({"i":0,"outcome":"error","code":"line_too_long")"));
    CHECK(whole.find(R"({"i":1,"outcome":"enqueued","id":"1"})") != std::string::npos);
    CHECK(whole.find(R"("errors":3)") != std::string::npos);
}

TEST_CASE("a line that there is no memory for is an error and the rest goes on") {
    class short_of_memory final : public rota::http::body_reader {
    public:
        short_of_memory() : body_reader(&none_) {}
        rota::task<std::string_view> read() override { co_return std::string_view{}; }
        void limit(std::uint64_t /*bytes*/) override {}
        [[nodiscard]] std::optional<std::uint64_t> length() const noexcept override { return {}; }
        [[nodiscard]] rota::http::header_list trailers() const noexcept override {
            return {nullptr, no_fields_};
        }

    private:
        rota::http::memory_budget none_{0};
        std::vector<rota::http::field_span> no_fields_;
    } from;
    const std::string text =
        "{\"payload\":\"" + std::string(20'000, 'x') + "\"}\n{\"payload\":1}\n";
    const std::string whole = run(100, text, {}, {}, &from);
    CAPTURE(whole);
    CHECK(whole.starts_with(R"({"i":0,"outcome":"error","code":"service_unavailable")"));
    CHECK(whole.find(R"({"i":1,"outcome":"enqueued","id":"1"})") != std::string::npos);
    CHECK(whole.find(R"("errors":1)") != std::string::npos);
}

TEST_CASE("the end of a line is not counted, be it CR and LF") {
    const service_options limits{.request_bytes_max = 30};
    const std::string longest = "{\"payload\":\"" + std::string(16, 'x') + "\"}";
    for (const std::size_t piece : {1, 30, 31, 100}) {
        CAPTURE(piece);
        CHECK(run(piece, longest + "\r\n", limits).find("\"enqueued\":1") != std::string::npos);
        CHECK(run(piece, longest + "\r", limits).find("\"enqueued\":1") != std::string::npos);
        CHECK(run(piece, longest + " \r\n", limits).find("line_too_long") != std::string::npos);
        CHECK(run(piece, longest + " \n", limits).find("line_too_long") != std::string::npos);
    }
}

TEST_CASE("blanks count as a line if they are too long, however they come") {
    const service_options limits{.request_bytes_max = 10};
    const std::string blanks(10, ' ');
    for (const std::size_t piece : {1, 3, 100}) {
        for (const char* const end : {"\n", "\r\n"}) {
            CAPTURE(piece, end);
            CHECK(run(piece, blanks + end, limits).find("\"errors\":0") != std::string::npos);
            CHECK(run(piece, blanks + ' ' + end, limits).find("\"errors\":1") != std::string::npos);
        }
    }
}

TEST_CASE("a full queue rejects") {
    const std::string out = run(100, "{\"payload\":1}\n{\"payload\":2}\n", {}, {.jobs_max = 1});
    CHECK(out.find(R"({"i":1,"outcome":"rejected","reason":"queue_full"})") != std::string::npos);
}

TEST_CASE("no input has a summary") {
    CHECK(run(1, "", {}) ==
          "{\"summary\":{\"lines\":0,\"enqueued\":0,\"rejected\":0,\"errors\":0}}\n");
}
