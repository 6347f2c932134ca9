// A TCP tunnel: connects each client of one address to another. Each direction ends by itself, so a
// client that has sent all it has to send still gets the answer.
#include <cstdio>

#include <rota/io/server.hpp>
#include <rota/when_all.hpp>

using namespace rota;

task<void> pass_on(io::connection* from, io::connection* to) {
    while (auto piece = co_await from->read())
        co_await to->write(*piece);
    to->shutdown_write();
}

task<void> tunnel(io::context* ctx, io::endpoint where, io::connection client) {
    io::connection server = co_await io::connect(*ctx, where);
    co_await when_all(pass_on(&client, &server), pass_on(&server, &client));
}

int main(int count, char** arguments) {
    if (count != 3) {
        std::fputs("usage: tunnel LISTEN TO: addresses, as 8080 or 10.0.0.1:80\n", stderr);
        return 2;
    }
    return io::exit_code_of([&] {
        io::context ctx;
        const auto where = io::endpoint::parse(arguments[2]);
        io::server server(ctx, [&](io::connection c) { return tunnel(&ctx, where, std::move(c)); },
                          {.listen = {arguments[1]}});
        io::run_until_signalled(ctx, server);
    });
}
