// rota-three-questions: a dialogue whose state is a coroutine, driven by a console or by sockets.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <rota/io/context.hpp>
#include <rota/io/server.hpp>

#include "dialogue.hpp"

namespace {

using namespace three_questions;

/// Returns exit code 0 for a traveller who gets across, 1 for one who does not or has left.
int on_console() {
    auto keeper = ask_three_questions();
    std::string answer;
    while (keeper.has_more()) {
        std::cout << keeper.next() << "\n> " << std::flush;
        if (!std::getline(std::cin, answer))
            return 1;
        keeper.send(answer);
    }
    const outcome result = keeper.result();
    std::cout << farewell(result) << '\n';
    return result == outcome::traveller_falls ? 1 : 0;
}

rota::task<void> on_socket(rota::io::connection client) {
    auto keeper = ask_three_questions();
    while (keeper.has_more()) {
        const std::string question = keeper.next();
        co_await client.write_line(question);
        std::optional<std::string> answer = co_await client.read_line(1000);
        if (!answer)
            co_return;
        keeper.send(std::move(*answer));
    }
    const std::string last_words = farewell(keeper.result());
    co_await client.write_line(last_words);
}

void serve(const std::string& host, std::uint16_t port) {
    rota::io::server_options options;
    options.listen = {rota::io::endpoint::ip(host, port)};
    rota::io::context context;
    rota::io::server server(context, on_socket, options);
    rota::io::run_until_signalled(context, server);
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Asks three questions at a bridge, here or for everybody who connects.",
                 "rota-three-questions");
    std::string host = "127.0.0.1";
    std::optional<std::uint16_t> port;
    app.add_option("--port", port, "Serve on this port instead of asking here; 0: a free one");
    app.add_option("--host", host, "Address to serve on")->capture_default_str();
    app.footer("Examples:\n  rota-three-questions\n  rota-three-questions --port 7008 & "
               "nc 127.0.0.1 7008");
    try {
        app.parse(argc, argv);
        if (!port)
            return on_console();
        serve(host, *port);
    } catch (const CLI::Success& e) {
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        std::fprintf(stderr, "rota-three-questions: %s\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "rota-three-questions: %s\n", e.what());
        return 1;
    }
}
