// rota-echo: sends every line back to its client. The smallest complete server.
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

#include <rota/io/server.hpp>

namespace {

constexpr const char* usage = "usage: rota-echo [address]\n"
                              "  address   127.0.0.1:7007 (the default), [::1]:7007, "
                              "unix:/tmp/echo.sock; port 0 takes a free one\n"
                              "  try it:   nc 127.0.0.1 7007\n";

/// Runs once for each client, on one worker; the connection closes when it returns.
rota::task<void> echo_lines(rota::io::connection client) {
    try {
        while (std::optional<std::string> line = co_await client.read_line()) {
            co_await client.write_line(*line);
        }
    } catch (const std::length_error&) {
        client.try_write("the line is too long\n");
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 2 || (argc == 2 && std::strcmp(argv[1], "--help") == 0)) {
        std::fputs(usage, argc > 2 ? stderr : stdout);
        return argc > 2 ? 2 : 0;
    }
    return rota::io::serve(echo_lines, argc == 2 ? argv[1] : "127.0.0.1:7007");
}
