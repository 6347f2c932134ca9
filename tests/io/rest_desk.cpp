#include "rest_desk.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/sleep.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

/// A server whose handlers answer each line with how many they have answered, how many its client
/// has been given, and itself, and let the client rest behind each.
struct resting_server {
    explicit resting_server(combination how, std::size_t workers = 1)
        : ctx(options_for(how, workers)),
          s(ctx, [this](connection c) { return answer(this, std::move(c), {}); },
            {.listen = {endpoint::ip("127.0.0.1", 0)}, .drain_timeout = 30s, .rest_grace = 20ms}),
          place(s.resting()) {
        server::rest_handlers rests;
        rests.resumed = [this](connection c, rest_memo memo) {
            return answer(this, std::move(c), memo);
        };
        rests.ended = [this](rota::worker&) { ++ended; };
        s.set_rest_handlers(std::move(rests));
        runner = ctx.workers().spawn(s.run(), {.name = "server"});
        where = s.listening().front();
    }
    ~resting_server() {
        s.drain();
        runner->wait_stopped();
        CHECK(s.connections() == 0);
        CHECK(handlers == 0);
    }

    static task<void> answer(resting_server* self, connection client, rest_memo memo) {
        const counted here(self->handlers);
        ++self->begun;
        for (int answered = 1;; ++answered) {
            const auto line = co_await client.read_line();
            if (!line)
                co_return;
            ++memo[0];
            if (*line == "sleep")
                co_await rota::sleep_for(1h);
            const std::string words =
                std::to_string(answered) + " " + std::to_string(memo[0]) + " " + *line;
            co_await client.write_line(words);
            resting_client with{client, std::chrono::steady_clock::now() + self->patience, memo};
            const bool more = co_await self->place.swap(with);
            if (!more)
                co_return;
            memo = with.memo;
        }
    }

    [[nodiscard]] static std::string ask(const peer& p, const std::string& line) {
        p.send(line + "\n");
        std::string answer;
        while (!answer.ends_with('\n'))
            answer += p.receive_exactly(1);
        answer.pop_back();
        return answer;
    }

    struct counted {
        explicit counted(std::atomic<int>& c) : count(c) { ++count; }
        ~counted() { --count; }
        std::atomic<int>& count;
    };

    std::atomic<int> handlers{0};
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    std::chrono::milliseconds patience = 1h;
    context ctx;
    server s;
    rest_place place;
    rota::routine_ptr runner;
    endpoint where;
};

} // namespace

TEST_CASE("a handler whose client rests goes on with another, and each client is itself") {
    const combination how = each_combination();
    CAPTURE(how);
    resting_server r(how);
    std::vector<peer> clients;
    for (int i = 0; i < 10; ++i)
        clients.emplace_back(r.where);
    for (int round = 1; round <= 5; ++round) {
        for (int i = 0; i < 10; ++i) {
            const std::string name = "client-" + std::to_string(i);
            const std::string got = resting_server::ask(clients[static_cast<std::size_t>(i)], name);
            CHECK(got.substr(got.find(' ') + 1) == std::to_string(round) + " " + name);
        }
    }
    CHECK(r.begun <= 10);
    // One after the other is asked, so the last handler that waits has them all.
    const std::string got = resting_server::ask(clients[0], "x");
    CHECK(std::stoi(got) > 30);
}

TEST_CASE("no more handlers wait than clients rest") {
    const combination how = each_combination();
    CAPTURE(how);
    resting_server r(how);
    for (int round = 0; round < 2; ++round) {
        std::vector<peer> clients;
        for (int i = 0; i < 5; ++i) {
            clients.emplace_back(r.where);
            CHECK(!resting_server::ask(clients.back(), "x").empty());
        }
        CHECK(becomes([&] { return r.handlers == 5; }));
        for (int left = 4; left > 1; --left) {
            clients.pop_back();
            CHECK(becomes([&] { return r.handlers == left; }));
        }
        clients.clear();
        CHECK(becomes([&] { return r.handlers == 0; }));
        CHECK(becomes([&] { return r.ended == 5 * (round + 1); }));
    }
}

TEST_CASE("no more handlers wait than may, and the others are made again") {
    const combination how = each_combination();
    CAPTURE(how);
    resting_server r(how);
    const auto count = static_cast<int>(rest_desk::spares_max) + 20;
    std::vector<peer> clients;
    for (int i = 0; i < count; ++i) {
        clients.emplace_back(r.where);
        CHECK(!resting_server::ask(clients.back(), "x").empty());
    }
    CHECK(becomes([&] { return r.handlers == static_cast<int>(rest_desk::spares_max); }));
    // All at once: where one sleeps another has to be found, or made.
    for (const peer& c : clients)
        c.send("sleep\n");
    CHECK(becomes([&] { return r.handlers == count; }));
    CHECK(r.begun == count + 20);
    r.s.drain();
    r.s.drain(); // does not wait for those that sleep
}

TEST_CASE("a drain ends the rests, and with them the handlers that wait") {
    const combination how = each_combination();
    CAPTURE(how);
    resting_server r(how, 2);
    std::vector<peer> clients;
    for (int i = 0; i < 6; ++i) {
        clients.emplace_back(r.where);
        CHECK(!resting_server::ask(clients.back(), "x").empty());
    }
    r.s.drain();
    for (const peer& c : clients)
        CHECK(c.receive_all().empty());
    r.runner->wait_stopped();
    CHECK(r.handlers == 0);
    CHECK(r.ended == 6);
}

TEST_CASE("a client that rests too long goes, and what it says in time is answered") {
    const combination how = each_combination();
    CAPTURE(how);
    resting_server r(how);
    r.patience = 50ms;
    const peer late(r.where);
    CHECK(resting_server::ask(late, "x") == "1 1 x");
    CHECK(late.receive_all().empty());
    CHECK(becomes([&] { return r.ended == 1; }));
}

TEST_CASE("a context that stops ends handlers that wait, and clients that rest") {
    const combination how = each_combination();
    CAPTURE(how);
    std::optional<resting_server> r(std::in_place, how);
    const peer one(r->where);
    const peer other(r->where);
    CHECK(!resting_server::ask(one, "x").empty());
    CHECK(!resting_server::ask(other, "x").empty());
    r->runner->request_stop(); // as a stop of what runs it
    r->runner->wait_stopped();
    CHECK(r->handlers == 0);
}
