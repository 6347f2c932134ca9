// A server on a free port of the loopback address that says which one, with job queues. It does the
// jobs of the queue "texts" itself: prints them.
#include <cstdio>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <jobs/open_store.hpp>
#include <jobs/queue.hpp>
#include <jobs/routes.hpp>
#include <jobs/service.hpp>
#include <rota/http/server.hpp>
#include <rota/io/context.hpp>
#include <rota/io/end_signals.hpp>

namespace {

void print(const std::vector<jobs::taken_job>& texts) {
    for (const jobs::taken_job& text : texts)
        std::printf("job %s\n", text.key.c_str());
    std::fflush(stdout);
}

rota::task<void> consume(jobs::queue* texts) {
    bool more = true;
    while (more) {
        auto working = texts->with_taken(10, print);
        const auto done = co_await std::move(working);
        more = done.has_value();
    }
}

} // namespace

int main() {
    rota::http::server_options options;
    options.listen = {rota::io::endpoint::ip("127.0.0.1", 0)};
    rota::io::end_signals signals(options.drain_timeout); // before any other thread
    rota::io::context context({.workers = 2});
    const auto store = jobs::open_store("memory", {}, context);
    jobs::service service(*store);
    jobs::queue texts(service, "texts");

    rota::http::router routes;
    routes.mount("/v1", jobs::routes(service));
    rota::http::server server(context, std::move(routes), std::move(options));
    const std::stop_callback on_drain(server.drain_token(), [&service] { service.drain(); });
    const auto leases = context.workers().spawn(service.end_leases(), {.name = "end of leases"});
    const auto consumer = context.workers().spawn(consume(&texts), {.name = "texts"});
    std::jthread announcer([&server] {
        std::printf("port %d\n", server.listening().front().port());
        std::fflush(stdout);
    });
    server.run_until_signalled(signals);
    consumer->wait_stopped();
    leases->request_stop();
    leases->wait_stopped();
}
