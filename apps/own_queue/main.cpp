// rota-own-queue: a server of one's own with the job queues in it. Clients add jobs over HTTP; the
// program does them itself, beside consumers over HTTP. A job of "greetings" is a name.
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/http/guard.hpp>
#include <rota/http/server.hpp>
#include <rota/io/context.hpp>
#include <rota/io/end_signals.hpp>
#include <rota/sleep.hpp>

#include "jobs/open_store.hpp"
#include "jobs/queue.hpp"
#include "jobs/routes.hpp"
#include "jobs/service.hpp"

using namespace std::chrono_literals;

namespace {

/// The work: takes as long as it needs, and fails by an exception.
rota::task<void> greet(const std::vector<jobs::taken_job>& names) {
    for (const jobs::taken_job& name : names) {
        if (name.key.empty())
            throw std::runtime_error("nobody to greet");
        co_await rota::sleep_for(10ms);
        std::printf("Hello, %s! (attempt %u)\n", name.key.c_str(), name.attempt);
        std::fflush(stdout);
    }
}

/// One after the other until the server drains; what fails is tried again a second later.
rota::task<void> consume(jobs::queue* greetings) {
    bool more = true;
    while (more) {
        bool store_failed = false;
        try {
            auto working = greetings->with_taken(1, greet, {.retry_delay = 1s});
            const auto done = co_await std::move(working);
            more = done.has_value();
        } catch (const jobs::store_error& e) {
            std::fprintf(stderr, "rota-own-queue: the store: %s\n", e.what());
            store_failed = true;
        } catch (const std::runtime_error& e) {
            std::fprintf(stderr, "rota-own-queue: a greeting: %s\n", e.what());
        }
        if (store_failed)
            co_await rota::sleep_for(1s);
    }
}

/// A routine that does not outlive the block it is in.
struct scoped_routine {
    rota::routine_ptr running;
    ~scoped_routine() {
        running->request_stop();
        running->wait_stopped();
    }
};

void serve(const std::string& address, const std::string& store_name) {
    rota::http::server_options options;
    options.listen = {rota::io::endpoint::parse(address)};
    rota::io::end_signals signals(options.drain_timeout); // around all that may hang
    rota::io::context context;
    const auto store = jobs::open_store(store_name, {}, context);
    jobs::service service(*store);
    jobs::queue greetings(service, "greetings");

    rota::http::router routes;
    routes.get("/",
               [] { return rota::http::response::text("POST to /v1/queues/greetings/jobs\n"); });
    // A page of another site, open in a browser on this machine, must not add jobs.
    const auto guard = std::make_shared<const rota::http::guard>(
        rota::http::guard_options{.beyond_loopback = !rota::http::is_local(options.listen[0])});
    routes.mount("/v1", std::move(jobs::routes(service).use(
                            rota::http::guard::around(guard, jobs::describe_failure))));
    rota::http::server server(context, std::move(routes), std::move(options));

    const std::stop_callback on_drain(server.drain_token(), [&] { service.drain(); });
    rota::runtime& workers = context.workers();
    const scoped_routine leases{workers.spawn(service.end_leases(), {.name = "end of leases"})};
    const scoped_routine consumer{workers.spawn(consume(&greetings), {.name = "greetings"})};
    server.run_until_signalled(signals);
    consumer.running->wait_stopped(); // it finishes what it has begun
}

} // namespace

int main(int argc, char** argv) {
    const bool asked = argc > 1 && std::string_view(argv[1]) == "--help";
    if (asked || argc > 3) {
        std::fputs("usage: rota-own-queue [ADDRESS [STORE]], by default 127.0.0.1:8080 memory;\n"
                   "a STORE is memory, sqlite:PATH or postgres://USER@HOST/DATABASE\n",
                   asked ? stdout : stderr);
        return asked ? 0 : 2;
    }
    try {
        serve(argc > 1 ? argv[1] : "127.0.0.1:8080", argc > 2 ? argv[2] : "memory");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "rota-own-queue: %s\n", e.what());
        return 1;
    }
}
