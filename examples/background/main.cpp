// A server with work beside its clients: what they send is worked off by a queue, figures are
// published every second, and SIGTERM loses nothing that was accepted.
#include <atomic>
#include <cstdio>
#include <string>

#include <rota/channel.hpp>
#include <rota/every.hpp>
#include <rota/http/server.hpp>
#include <rota/sleep.hpp>

using namespace rota;

struct shop {
    channel<std::string> orders{100}; // bounded: one that finds no place is refused
    std::atomic<int> accepted{0};
    std::atomic<int> packed{0};
};

/// Until no more orders come and those that were accepted are packed.
task<void> pack(shop* s) {
    while (const auto order = co_await s->orders.pop()) {
        co_await sleep_for(std::chrono::milliseconds(2)); // it takes a while
        ++s->packed;
    }
}

http::router routes_of(shop& s) {
    http::router routes;
    routes.post("/orders", [&s](http::request& r) -> task<http::response> {
        std::string order = co_await r.text();
        if (!s.orders.try_push(std::move(order)))
            co_return http::response::text("come again\n").status(503);
        ++s.accepted;
        co_return http::response::text("accepted\n").status(202);
    });
    routes.get("/packed", [&s](const http::request&) {
        return http::response::text(std::to_string(s.packed) + "\n");
    });
    return routes;
}

void run(const char* address) {
    shop s;
    io::context ctx;
    http::server server(ctx, routes_of(s), {.listen = {address}});
    // When the last handler has ended no more orders come, and the packer may finish.
    server.attach([&s] { return pack(&s); },
                  {.name = "packer", .finish = [&s] { s.orders.close(); }});
    server.attach(every(std::chrono::seconds(1), [&s] {
        std::printf("%d accepted, %d packed\n", s.accepted.load(), s.packed.load());
        std::fflush(stdout);
    }));
    server.run_until_signalled();
    std::printf("the end: %d accepted, %d packed\n", s.accepted.load(), s.packed.load());
}

int main(int count, char** arguments) {
    return io::exit_code_of([&] { run(count > 1 ? arguments[1] : "8080"); });
}
