// An echo server on a free port of the loopback address; says which one.
#include <cstdio>
#include <thread>

#include <rota/io/context.hpp>
#include <rota/io/server.hpp>

namespace {

rota::task<void> echo(rota::io::connection client) {
    while (auto piece = co_await client.read())
        co_await client.write(*piece);
}

} // namespace

int main() {
    rota::io::context context({.workers = 2});
    rota::io::server_options options;
    options.listen = {rota::io::endpoint::ip("127.0.0.1", 0)};
    rota::io::server server(context, echo, options);
    std::jthread announcer([&server] {
        std::printf("port %d\n", server.listening().front().port());
        std::fflush(stdout);
    });
    rota::io::run_until_signalled(context, server);
}
