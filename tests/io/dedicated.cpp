// topology::dedicated: each thread keeps to its part.
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <pthread.h>

#include <rota/blocking.hpp>
#include <rota/sleep.hpp>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

/// Which threads have done what.
class parts_played {
public:
    void note(std::string_view what) {
        char name[16] = {};
        ::pthread_getname_np(::pthread_self(), name, sizeof name);
        std::string_view part = name;
        if (part.starts_with("rota-worker"))
            part = "rota-worker";
        const std::lock_guard guard(lock_);
        all_.insert(std::string(what) + " by " + std::string(part));
    }
    std::set<std::string> all() {
        const std::lock_guard guard(lock_);
        return all_;
    }

private:
    std::mutex lock_;
    std::set<std::string> all_;
};

class noting_read_backend final : public read_backend {
public:
    noting_read_backend(std::unique_ptr<read_backend> real, parts_played& p)
        : real_(std::move(real)), parts_(p) {}
    void enter_thread() override { real_->enter_thread(); }
    void arm(operation& op) override {
        parts_.note("arm");
        real_->arm(op);
    }
    void cancel(operation& op) override {
        parts_.note("cancel");
        real_->cancel(op);
    }
    std::size_t wait(std::span<op_completion> out, time_point until) override {
        parts_.note("wait");
        return real_->wait(out, until);
    }
    void wake() noexcept override { real_->wake(); }
    void attach(buffer_group& group) override { real_->attach(group); }
    [[nodiscard]] bool any_thread() const noexcept override { return real_->any_thread(); }

private:
    const std::unique_ptr<read_backend> real_;
    parts_played& parts_;
};

class noting_write_backend final : public write_backend {
public:
    noting_write_backend(std::unique_ptr<write_backend> real, parts_played& p)
        : real_(std::move(real)), parts_(p) {}
    void send(std::span<send_request> batch) override {
        parts_.note("send");
        real_->send(batch);
    }

private:
    const std::unique_ptr<write_backend> real_;
    parts_played& parts_;
};

std::vector<backend_kind> kinds() {
    std::vector<backend_kind> all{backend_kind::epoll};
    if (has_io_uring())
        all.push_back(backend_kind::io_uring);
    return all;
}

connection_body answering(parts_played* parts) {
    constexpr auto body = [](connection client, parts_played* p) -> task<void> {
        for (;;) {
            const auto line = co_await client.read_line();
            p->note("handle");
            if (!line)
                co_return;
            if (*line == "wait")
                co_await rota::sleep_for(1ms);
            if (*line == "block")
                co_await rota::blocking([] {});
            p->note("handle");
            const std::string answer = *line == "much" ? std::string(3'000'000, 'm') : *line;
            co_await client.write_line(answer);
        }
    };
    return [parts, body](connection client) { return body(std::move(client), parts); };
}

} // namespace

TEST_CASE("one thread receives, one sends, and handlers run on workers' own threads") {
    const backend_kind kind = GENERATE(from_range(kinds()));
    CAPTURE(kind);
    parts_played parts;
    context_options o = options_for({.backend = kind, .topology = topology::dedicated});
    o.reactor.inline_budget = 10s; // as if everything were light
    o.reactor.inline_send_bytes = std::size_t{1} << 30;
    const backend_source real = kernel_backends(kind, 256);
    context ctx(
        o, {.make_read =
                [&] { return std::make_unique<noting_read_backend>(real.make_read(), parts); },
            .make_write =
                [&] { return std::make_unique<noting_write_backend>(real.make_write(), parts); }});
    server s(ctx, answering(&parts), {.listen = {endpoint::ip("127.0.0.1", 0)}});
    const rota::routine_ptr runner = ctx.workers().spawn(s.run(), {.name = "server"});
    std::vector<peer> clients;
    for (int i = 0; i < 8; ++i)
        clients.emplace_back(s.listening().front());
    for (int round = 0; round < 50; ++round) {
        for (const std::string_view line : {"hello\n", "wait\n", "block\n"}) {
            for (const peer& c : clients)
                c.send(line);
            for (const peer& c : clients)
                REQUIRE(c.receive_exactly(line.size()) == line);
        }
    }
    clients[0].send("much\n"); // a full socket, and a poll of it
    CHECK(clients[0].receive_exactly(3'000'001).size() == 3'000'001);
    for (const peer& c : clients)
        c.shutdown_write();
    for (const peer& c : clients)
        CHECK(c.receive_all().empty());
    s.drain();
    finish(runner);
    ctx.stop();
    std::set<std::string> played = parts.all();
    played.erase("cancel by rota-read"); // of the listener, perhaps
    CHECK(played == std::set<std::string>{"arm by rota-read", "handle by rota-worker",
                                          "send by rota-write", "wait by rota-read"});
}
