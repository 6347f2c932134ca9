// cpp-httplib: a thread for each connection as long as it lives, so as many as there may be
// connections; WORKERS changes nothing.
#include <httplib.h>

#include "common.hpp"

namespace {

constexpr std::size_t threads_max = 1024;
constexpr std::size_t body_bytes_max = std::size_t{2} << 20;

} // namespace

int main(int argc, char** argv) {
    const std::string version = std::string("cpp-httplib ") + CPPHTTPLIB_VERSION;
    const peers::arguments arguments = peers::parse_arguments(argc, argv, version);
    httplib::Server server;
    int listener = -1;
    server.new_task_queue = [] { return new httplib::ThreadPool(threads_max); };
    server.set_socket_options([&listener](int fd) {
        const int on = 1;
        listener = fd;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    server.set_tcp_nodelay(true);
    server.set_keep_alive_max_count(1'000'000'000);
    server.set_keep_alive_timeout(75);
    server.set_payload_max_length(body_bytes_max);
    for (const peers::page& page : peers::pages()) {
        server.Get(page.path, [&page](const httplib::Request&, httplib::Response& to) {
            to.set_header("Date", peers::http_date());
            to.set_content(page.body, page.type);
        });
    }
    server.Post("/echo", [](const httplib::Request& from, httplib::Response& to) {
        const std::string type = from.get_header_value("Content-Type");
        to.set_header("Date", peers::http_date());
        to.set_content(from.body, type.empty() ? std::string(peers::default_type) : type);
    });
    if (!server.bind_to_port("127.0.0.1", arguments.port)) {
        std::perror("listen");
        return 1;
    }
    listen(listener, 4096); // again: the library has a backlog of 5 compiled in
    return server.listen_after_bind() ? 0 : 1;
}
