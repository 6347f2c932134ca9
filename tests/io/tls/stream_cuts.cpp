// An exchange that ends behind each of its bytes: no side waits for ever, takes a part for the
// whole, or reads what was not written.

#include <rota/io/tls/stream.hpp>

#include <cstddef>
#include <optional>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "both_ends.hpp"

using namespace rota::io::tls;
using namespace rota::io::tls::test;
using rota::task;

namespace {

const std::string question = "what is it?\n";
const std::string answer = "it is this.\n";

struct heard {
    std::string server;
    std::string client;
    bool server_end = false;
    bool client_end = false;
};

/// True if the exchange was whole: the limit has not been reached. `cut_client` says whose bytes
/// are cut off.
bool talk(context& server, context& client, std::size_t limit, bool cut_client) {
    both_ends ends(server, client, "b.test");
    heard what;
    ends.start(
        [&what](stream* s) -> task<void> {
            const auto line = co_await s->read_line();
            what.server = line.value_or("");
            co_await s->write(answer);
            s->shutdown_write();
            what.server_end = !co_await s->fill();
        },
        [&what](stream* s) -> task<void> {
            co_await s->write(question);
            s->shutdown_write();
            const auto line = co_await s->read_line();
            what.client = line.value_or("");
            what.client_end = !co_await s->fill();
        });
    pipe_end& from = cut_client ? ends.client_pipe : ends.server_pipe;
    pipe_end& to = cut_client ? ends.server_pipe : ends.client_pipe;
    std::size_t left = limit;
    bool cut = false;
    ends.scheduler.run();
    while (ends.server_pipe.waiting() + ends.client_pipe.waiting() != 0) {
        std::string bytes = from.take();
        if (bytes.size() > left) {
            cut = true;
            bytes.resize(left);
        }
        left -= bytes.size();
        if (!bytes.empty())
            to.deliver(bytes);
        ends.scheduler.run();
        from.deliver(to.take());
        ends.scheduler.run();
        if (cut)
            to.finish();
        ends.scheduler.run();
    }
    from.finish();
    ends.scheduler.run();
    CAPTURE(limit, cut_client);
    const auto& cut_off = cut_client ? ends.server_routine : ends.client_routine;
    REQUIRE(ends.server_routine->state() == rota::routine_state::stopped);
    REQUIRE(ends.client_routine->state() == rota::routine_state::stopped);
    REQUIRE((what.server.empty() || what.server == question.substr(0, question.size() - 1)));
    REQUIRE((what.client.empty() || what.client == answer.substr(0, answer.size() - 1)));
    if (cut)
        REQUIRE(both_ends::failure_of(cut_off).has_value());
    else
        REQUIRE((what.server_end && what.client_end && !what.client.empty()));
    return !cut;
}

} // namespace

TEST_CASE("a client's bytes end behind each of them") {
    context server(sample_server());
    context client(sample_client());
    std::size_t limit = 0;
    while (!talk(server, client, limit, true))
        ++limit;
    CHECK(limit > 300);
}

TEST_CASE("a server's bytes end behind each of them") {
    context server(sample_server());
    context client(sample_client());
    std::size_t limit = 0;
    while (!talk(server, client, limit, false))
        limit += limit < 64 ? 1 : 7;
    CHECK(limit > 700);
}
