// Questions and answers in datagrams: a datagram_server with a handler that receives and sends in
// all the ways there are.

#include <map>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <rota/event.hpp>
#include <rota/io/datagram_server.hpp>
#include <rota/when_any.hpp>
#include <rota/with_timeout.hpp>

#include "scenario.hpp"

namespace sim {
namespace {

using rota::task;
using rota::io::datagram;
using rota::io::datagram_batch;
using rota::io::datagram_socket;

constexpr std::size_t longest = 100;

/// What the handlers and the clients know together.
struct book {
    std::size_t failed = 0;     // answers that could not be sent, as handlers were told
    std::size_t unanswered = 0; // questions that clients have given up
    std::size_t max_batch = 0;
    std::size_t repeats = 1; // how often each answer is sent
    bool throws = false;     // handlers do, now and then
    std::size_t thrown = 0;  // so often
};

/// What has arrived, by one of several ways; nothing at the end.
task<std::optional<datagram_batch>> take(datagram_socket* socket, rota::event* never_set) {
    random& r = here().rng();
    for (;;) {
        const nanoseconds some_time(r.below(20'000'000));
        try {
            switch (r.below(4)) {
            case 0:
                co_return co_await socket->receive();
            case 1:
                co_return co_await socket->receive(std::chrono::steady_clock::now() + some_time);
            case 2:
                co_return co_await rota::with_timeout(some_time, socket->receive());
            default: {
                const auto first = co_await rota::with_timeout(
                    some_time, rota::when_any(socket->ready(), never_set->wait()));
                if (first.index() == 0 && !std::get<0>(first))
                    co_return std::nullopt;
                if (auto batch = socket->try_receive())
                    co_return batch;
            }
            }
        } catch (const rota::timed_out&) { // again, in another way
        }
    }
}

task<void> send_now(datagram_socket* socket, rota::io::endpoint to, std::string text, book* b) {
    try {
        co_await socket->send(to, text);
    } catch (const rota::timed_out&) {
        throw;
    } catch (const std::system_error&) {
        ++b->failed;
    }
}

task<void> flush(datagram_socket* socket, book* b) {
    for (;;) {
        try {
            const nanoseconds some_time(here().rng().below(20'000'000));
            const rota::io::send_report report =
                co_await socket->flush(std::chrono::steady_clock::now() + some_time);
            b->failed += report.failed;
            co_return;
        } catch (const rota::timed_out&) { // what is queued stays so
        }
    }
}

task<void> answer_all(datagram_socket socket, book* b) {
    random& r = here().rng();
    rota::event never_set;
    const bool gathers = r.chance(500); // answers, until there is nothing left to answer
    const std::size_t repeats = b->repeats;
    for (;;) {
        std::optional<datagram_batch> batch;
        if (gathers)
            batch = socket.try_receive();
        if (!batch) {
            co_await flush(&socket, b);
            batch = co_await take(&socket, &never_set);
        }
        if (!batch)
            break;
        if (b->throws && r.chance(2)) {
            ++b->thrown; // and all that has arrived is lost
            throw std::runtime_error(over_a_datagram);
        }
        simulation::here().check_role("rota-worker");
        here().require(batch->size() <= b->max_batch, "a batch is larger than it may be");
        const bool at_once = r.chance(300);
        for (const datagram& d : *batch) {
            here().require(d.truncated() ? d.bytes().size() == longest
                                         : d.bytes().size() <= longest,
                           "it is not as it says");
            std::string text = "re " + std::string(d.bytes());
            if (at_once) {
                co_await send_now(&socket, d.from(), std::move(text), b);
                continue;
            }
            for (std::size_t left = repeats; left != 0; --left) {
                while (!socket.queue(d.from(), text))
                    co_await flush(&socket, b);
            }
        }
    }
}

/// A handler may fail while the server drains, too: then that is what it ends with.
task<void> run(rota::io::datagram_server* server, const scenario* s, const book* b) {
    try {
        co_await server->run();
    } catch (const std::runtime_error& e) {
        const bool own = std::string_view(e.what()) == over_a_datagram;
        here().require(own && b->thrown != 0, "the server ends by an exception");
        here().require(s->ending(), "one datagram has ended the server");
    }
}

void client(const scenario* s, book* b, std::uint16_t from) {
    random& r = here().rng();
    mail& post = simulation::here().post;
    std::deque<mail::letter>& inbox = post.inbox(from);
    here().sleep(nanoseconds(r.below(50'000'000)));
    const std::size_t count = r.between(1, 200);
    const std::size_t window = r.between(1, 60);
    std::set<std::string> open; // answers to come
    std::map<std::string, std::size_t> got;
    std::size_t sent = 0;
    while (sent < count || !open.empty()) {
        while (sent < count && open.size() < window) {
            std::string text = fmt::format("{}/{} ", from, sent++);
            text.resize(std::max(text.size(), r.chance(500) ? std::size_t{20} : r.below(140)), '.');
            open.insert("re " + text.substr(0, longest));
            post.send({.from = from, .to = port, .bytes = std::move(text)});
        }
        const bool answered = here().wait(
            "an answer", [&] { return !inbox.empty() || s->ending(); },
            here().now() + std::chrono::seconds(20));
        if (s->ending())
            return;
        if (!answered) {
            b->unanswered += open.size();
            open.clear();
        }
        for (; !inbox.empty(); inbox.pop_front()) {
            const std::string& answer = inbox.front().bytes;
            const std::size_t times = ++got[answer];
            here().require((times > 1 || open.erase(answer) == 1) && times <= b->repeats,
                           "an answer is wrong, or comes too often");
        }
    }
}

} // namespace

void run_datagrams() {
    random& r = here().rng();
    simulation::here().post.draw(r);
    scenario s;
    book b;
    rota::io::datagram_server_options options;
    options.sockets = r.below(4);
    options.socket.batch_max = r.between(1, 40);
    options.socket.datagram_bytes_max = longest;
    b.max_batch = options.socket.batch_max;
    b.repeats = r.chance(300) ? 5 : 1;
    constexpr std::uint64_t datagram_seeds = 42; // from one to the next: see main.cpp
    b.throws = here().seed() / datagram_seeds % 3 == 2;
    rota::io::datagram_server server(
        s.context(), [&b](datagram_socket socket) { return answer_all(std::move(socket), &b); },
        address, options);
    for (std::size_t i = r.between(1, 5); i != 0; --i) {
        const auto from = static_cast<std::uint16_t>(50'000 + i);
        s.client([&s, &b, from] { client(&s, &b, from); });
    }
    s.serve({.run = [&server, &s, &b] { return run(&server, &s, &b); },
             .drain = [&server] { server.drain(); },
             .connections = [] { return std::size_t{0}; }});
    const std::size_t refused = simulation::here().post.refused();
    here().require(memory::was_short() || b.thrown != 0 || b.unanswered <= refused,
                   "a question is not answered");
    here().require(memory::was_short() || b.failed <= refused, "more has failed than did");
}

} // namespace sim
