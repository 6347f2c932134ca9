// The seam between handlers and what writes HTTP, by a wire that is neither HTTP/1.1 nor any other:
// requests are values, answers are lists of what was said, and several are at work at once.
#include <rota/http/detail/exchange.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/event.hpp>
#include <rota/http/detail/responder.hpp>
#include <rota/http/problem.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/routine.hpp>
#include <rota/when_any.hpp>

#include "io/temporary_file.hpp"

namespace rota::http {
namespace {

using namespace std::string_literals;
using spoken = std::vector<std::string>;

/// One stream of such a wire: a request, and what is said in answer to it.
class scripted_stream final : public exchange, public body_reader, public body_writer {
public:
    scripted_stream(method m, std::string target, std::vector<std::string> content = {})
        : text_(std::move(target)), content_(std::move(content)) {
        head_.base = text_.data();
        head_.method = m;
        head_.target = {0, static_cast<std::uint32_t>(text_.size())};
        head_.path = head_.target;
        head_.path_escaped = text_.find('%') != std::string::npos;
        head_.chunked = !content_.empty();
    }

    // What the client does.
    void leave() {
        broken_ = true;
        gone_.set();
        room_.set();
    }
    void make_room() { room_.set(); }

    spoken heard;
    exchange_end end = exchange_end::answered;

    [[nodiscard]] const request_head& head() const noexcept { return head_; }
    [[nodiscard]] body_reader* content() noexcept { return content_.empty() ? nullptr : this; }

    // What a wire does.
    [[nodiscard]] std::string_view peer() const noexcept override { return "stream 1"; }
    void keep_head() override { say("keep"); }
    [[nodiscard]] task<bool> client_gone() override {
        co_await gone_.wait();
        co_return true;
    }
    [[nodiscard]] bool broken() const noexcept override { return broken_; }
    [[nodiscard]] bool try_send(response& answer) override {
        if (!answer.is_whole() || answer.body().size() > 64)
            return false;
        say_head(answer);
        say(answer.body());
        return true;
    }
    [[nodiscard]] task<delivery> send(const response* answer) override {
        say_head(*answer);
        delivery done{.error = nullptr, .begun = true};
        try {
            if (head_.method != method::head)
                co_await write(answer->body());
        } catch (...) {
            done.error = std::current_exception();
        }
        done.bytes = written_;
        co_return done;
    }
    [[nodiscard]] task<delivery> stream(response* answer) override {
        answer_ = answer;
        delivery done;
        try {
            co_await answer->producer()(*this);
            begin();
            say("end");
        } catch (...) {
            done.error = std::current_exception();
        }
        done.begun = answer_ == nullptr;
        done.bytes = written_;
        co_return done;
    }
    [[nodiscard]] task<exchange_end> hand_over(response*) override {
        say("no other protocol here");
        co_return exchange_end::cut;
    }

    // Its content.
    task<std::string_view> read() override {
        if (read_ < content_.size())
            co_return content_[read_++];
        co_return std::string_view();
    }
    void limit(std::uint64_t) override {}
    [[nodiscard]] std::optional<std::uint64_t> length() const noexcept override {
        return std::nullopt;
    }
    [[nodiscard]] header_list trailers() const noexcept override { return {nullptr, none_}; }

    // Its answer's.
    task<void> write(std::string_view piece) override {
        begin();
        co_await room_.wait();
        if (broken_)
            throw std::system_error(std::make_error_code(std::errc::connection_reset));
        say(piece);
        written_ += piece.size();
    }
    task<void> write_owned(std::string piece) override { co_await write(piece); }
    task<void> flush() override { co_return; }
    void add_trailer(std::string_view, std::string_view) override {}

private:
    void begin() {
        if (const response* answer = std::exchange(answer_, nullptr))
            say_head(*answer);
    }
    void say_head(const response& answer) { say(std::to_string(answer.status())); }
    void say(std::string_view what) { heard.emplace_back(what); }

    std::string text_;
    std::vector<std::string> content_;
    std::vector<field_span> none_;
    request_head head_;
    event gone_;
    event room_;
    const response* answer_ = nullptr; // its head has not been said yet
    std::size_t read_ = 0;
    std::uint64_t written_ = 0;
    bool broken_ = false;
};

/// Streams under handlers.
class scripted_wire {
public:
    explicit scripted_wire(router routes) : routes_(std::move(routes)) {
        hooks_.on_error = [this](std::string_view message) { errors.emplace_back(message); };
        hooks_.on_warning = [this](std::string_view said) { warnings.emplace_back(said); };
        hooks_.on_access = [this](const access_entry& entry) {
            log.push_back(std::string(entry.peer) + ": " + std::string(entry.method) + ' ' +
                          std::string(entry.target) + ' ' + std::to_string(entry.status) + ' ' +
                          std::to_string(entry.bytes_sent));
        };
    }
    routine_ptr begin(scripted_stream& on) {
        routine_ptr serving = scheduler_.spawn(serve(this, &on));
        scheduler_.run();
        return serving;
    }
    void run() { scheduler_.run(); }
    spoken answer(method m, std::string target, std::vector<std::string> content = {}) {
        scripted_stream on(m, std::move(target), std::move(content));
        on.make_room();
        const routine_ptr serving = begin(on);
        CHECK(serving->state() == routine_state::stopped);
        CHECK(serving->error() == nullptr);
        return on.heard;
    }

    worker_counters counters;
    std::vector<std::string> errors;
    std::vector<std::string> warnings;
    std::vector<std::string> log;

private:
    static task<void> serve(scripted_wire* self, scripted_stream* on) {
        const routine& here = co_await current_routine;
        const std::stop_token stop = co_await current_stop_token;
        responder answers(*on, {self->routes_, &self->hooks_, here.home(), stop, self->counters});
        answers.begin(on->head(), on->content());
        if (!answers.try_answer())
            on->end = co_await answers.answer();
        answers.end();
    }

    router routes_;
    session_hooks hooks_;
    inline_scheduler scheduler_;
};

router routes() {
    router made;
    made.get("/plain/{name}",
             [](const request& r) { return response::text(std::string(r.param("name"))); })
        .get("/large", [] { return response::text(std::string(65, 'x')); })
        .post("/echo", [](const request&, std::string all) { return response::text(all); })
        .post("/pieces",
              [](request& r) -> task<response> {
                  co_return response::stream([&r](body_writer& out) -> task<void> {
                      for (;;) {
                          const std::string_view piece = co_await r.body().read();
                          if (piece.empty())
                              co_return;
                          co_await out.write(piece);
                      }
                  });
              })
        .get("/throws", []() -> response { throw std::runtime_error("a secret"); })
        .get("/refuses",
             [](request&) -> task<response> {
                 throw http_error(409, "there is one");
                 co_return response();
             })
        .get("/broken/{pieces}",
             [](request& r) -> task<response> {
                 const int pieces = r.param<int>("pieces");
                 co_return response::stream([pieces](body_writer& out) -> task<void> {
                     for (int i = 0; i < pieces; ++i)
                         co_await out.write("piece");
                     throw std::runtime_error("half way");
                 });
             })
        .get("/waits",
             [](request& r) -> task<response> {
                 co_await r.disconnected();
                 co_return response::text("nobody hears it");
             })
        .get("/another", [] {
            return response::upgrade("another", [](takeover&) -> task<void> { co_return; });
        });
    return made;
}

TEST_CASE("a wire that knows nothing of files gets their bytes") {
    const io::test::temporary_file file("the bytes");
    router made;
    made.get("/file", [&file] { return response::file(file.slice(4, 5), "text/plain"); });
    made.get("/gone", [&file] {
        io::file_slice part = file.slice();
        part.facts.size += 1;
        return response::file(part, "text/plain");
    });
    scripted_wire wire(std::move(made));
    CHECK(wire.answer(method::get, "/file") == spoken{"keep", "200", "bytes", "end"});
    CHECK(wire.answer(method::get, "/gone") ==
          spoken{"keep"}); // of what has changed nothing is told
    CHECK(wire.errors.empty());
    CHECK(wire.warnings == std::vector<std::string>{
                               "answer to GET /gone was cut: its file changed while it was sent"});
}

TEST_CASE("handlers answer whatever wire they are under") {
    scripted_wire wire(routes());
    CHECK(wire.answer(method::get, "/plain/a%20b") == spoken{"200", "a b"});
    CHECK(wire.answer(method::get, "/large") == spoken{"keep", "200", std::string(65, 'x')});
    CHECK(wire.answer(method::post, "/echo", {"a", "b"}) == spoken{"keep", "200", "ab"});
    CHECK(wire.answer(method::post, "/pieces", {"a", "b"}) ==
          spoken{"keep", "200", "a", "b", "end"});
    CHECK(wire.answer(method::get, "/none") == spoken{"404", "Not Found\n"});
    CHECK(wire.answer(method::put, "/echo")[0] == "405");
    CHECK(wire.answer(method::options, "/echo")[0] == "204");
    CHECK(wire.answer(method::get, "/another") == spoken{"keep", "no other protocol here"});
    CHECK(wire.errors.empty());
    CHECK(wire.counters.requests_in_flight.get() == 0);
    CHECK(wire.log[0] == "stream 1: GET /plain/a%20b 200 3");
    CHECK(wire.log.size() == 7); // what a wire hands over, it counts itself
}

TEST_CASE("the log has the bytes of content, of answers that have one") {
    const io::test::temporary_file file("the bytes");
    router made = routes();
    made.get("/file", [&file] { return response::file(file.slice(4, 5), "text/plain"); })
        .get("/says/{status}", [](const request& r) {
            return response::text("content").status(r.param<int>("status"));
        });
    scripted_wire wire(std::move(made));
    const auto bytes = [&wire](method m, std::string target,
                               std::vector<std::string> content = {}) {
        (void)wire.answer(m, std::move(target), std::move(content));
        const std::string line = std::exchange(wire.log, {}).at(0);
        return line.substr(line.rfind(' ') + 1);
    };
    CHECK(bytes(method::get, "/large") == "65");
    CHECK(bytes(method::head, "/large") == "0");
    CHECK(bytes(method::post, "/pieces", {"a", "bc"}) == "3");
    CHECK(bytes(method::get, "/broken/2") == "10");
    CHECK(bytes(method::get, "/broken/0") == "22"); // the error page's
    CHECK(bytes(method::get, "/file") == "5");
    CHECK(bytes(method::get, "/says/404") == "7");
    CHECK(bytes(method::get, "/says/204") == "0");
    CHECK(bytes(method::get, "/says/205") == "0");
    CHECK(bytes(method::get, "/says/304") == "0");
}

TEST_CASE("what handlers throw is an answer on any wire") {
    router pages = routes();
    pages.error(problem_page);
    scripted_wire wire(std::move(pages));
    CHECK(wire.answer(method::get, "/throws")[0] == "500");
    REQUIRE(wire.errors.size() == 1);
    CHECK(wire.errors[0] == "handler of GET /throws threw: a secret");
    const spoken refused = wire.answer(method::get, "/refuses");
    REQUIRE(refused.size() == 3);
    CHECK(refused[1] == "409");
    CHECK(refused[2].find("there is one") != std::string::npos);

    CHECK(wire.answer(method::get, "/broken/0")[1] == "500");
    scripted_stream cut(method::get, "/broken/1");
    cut.make_room();
    wire.begin(cut);
    CHECK(cut.heard == spoken{"keep", "200", "piece"});
    CHECK(cut.end == exchange_end::cut);
    CHECK(wire.errors.size() == 3);
}

TEST_CASE("streams of one client are answered beside each other") {
    scripted_wire wire(routes());
    scripted_stream slow(method::post, "/pieces", {"a", "b"});
    scripted_stream waits(method::get, "/waits");
    const routine_ptr first = wire.begin(slow);
    const routine_ptr second = wire.begin(waits);
    CHECK(slow.heard == spoken{"keep", "200"});
    CHECK(waits.heard == spoken{"keep"});
    CHECK(wire.counters.requests_in_flight.get() == 2);
    CHECK(wire.answer(method::get, "/plain/x") == spoken{"200", "x"});

    slow.make_room();
    wire.run();
    CHECK(slow.heard == spoken{"keep", "200", "a", "b", "end"});
    CHECK(first->state() == routine_state::stopped);
    CHECK(second->state() == routine_state::blocked);

    waits.leave();
    wire.run();
    CHECK(second->state() == routine_state::stopped);
    CHECK(wire.counters.requests_in_flight.get() == 0);
}

TEST_CASE("the end of a client ends what is at work for it, and is no failure of its handler") {
    scripted_wire wire(routes());
    scripted_stream on(method::post, "/pieces", {"a", "b"});
    const routine_ptr serving = wire.begin(on);
    on.leave();
    wire.run();
    REQUIRE(serving->state() == routine_state::stopped);
    CHECK_THROWS_AS(std::rethrow_exception(serving->error()), std::system_error);
    CHECK(wire.errors.empty());
    CHECK(wire.counters.requests_in_flight.get() == 0);
}

TEST_CASE("an answer that its client does not wait for is counted, and in the log") {
    scripted_wire wire(routes());
    scripted_stream on(method::get, "/large");
    const routine_ptr serving = wire.begin(on);
    CHECK(wire.log.empty());
    on.leave();
    wire.run();
    REQUIRE(serving->state() == routine_state::stopped);
    CHECK_THROWS_AS(std::rethrow_exception(serving->error()), std::system_error);
    CHECK(wire.log == spoken{"stream 1: GET /large 200 0"});
}

TEST_CASE("what stops a wire stops its handlers") {
    scripted_wire wire(routes());
    scripted_stream on(method::get, "/waits");
    const routine_ptr serving = wire.begin(on);
    serving->request_stop();
    wire.run();
    CHECK(serving->state() == routine_state::stopped);
    CHECK(on.heard == spoken{"keep"});
    CHECK(wire.errors.empty());
}

} // namespace
} // namespace rota::http
