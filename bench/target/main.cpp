// rota-target: what the load benchmark asks when handlers are to have work to do.
//
//   GET /plaintext   what rota-http answers
//   GET /spin/{us}   after so many microseconds of CPU time in the handler
//   GET /heavy/{us}  the same as work that takes long is meant to be done: by blocking()
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include <rota/blocking.hpp>
#include <rota/http/error.hpp>
#include <rota/http/server.hpp>

#include "spin.hpp"

namespace {

using rota::http::request;
using rota::http::response;
using rota::io::backend_kind;
using rota::io::topology;

unsigned microseconds(const request& asked) {
    const std::optional<unsigned> us = bench::parse_spin(asked.param("us"));
    if (!us)
        throw rota::http::http_error(400, "it takes 0 to 10000 microseconds");
    return *us;
}

response spin(const request& asked) {
    bench::spin(microseconds(asked));
    return response::fixed("spun");
}

rota::task<response> spin_apart(request& asked) {
    const unsigned us = microseconds(asked);
    co_await rota::blocking([&] { bench::spin(us); });
    co_return response::fixed("spun");
}

int serve(std::uint16_t port, const rota::io::context_options& options) {
    rota::http::router routes;
    routes.get("/plaintext", [] { return response::fixed("Hello, World!"); })
        .get("/spin/{us}", spin)
        .get("/heavy/{us}", spin_apart);
    return rota::http::serve(std::move(routes), "127.0.0.1:" + std::to_string(port), {}, options);
}

} // namespace

int main(int argc, char** argv) {
    std::uint16_t port = 8080;
    rota::io::context_options options;
    CLI::App app("Serves /plaintext and /spin/{us} on 127.0.0.1, for the load benchmark.",
                 "rota-target");
    const std::map<std::string, topology> topologies{{"split", topology::split},
                                                     {"per_worker", topology::per_worker},
                                                     {"dedicated", topology::dedicated}};
    const std::map<std::string, backend_kind> backends{{"auto", backend_kind::automatic},
                                                       {"io_uring", backend_kind::io_uring},
                                                       {"epoll", backend_kind::epoll}};
    app.add_option("--port", port, "Port to listen on")->check(CLI::Range(1, 65535));
    app.add_option("--workers", options.workers, "Threads that run handlers; 0: one for each core")
        ->check(CLI::Range(0, 256));
    std::string chosen_topology = "split";
    std::string chosen_backend = "auto";
    app.add_option(
           "--topology", chosen_topology,
           "split: rings for all workers; per_worker: each has its own; dedicated: as split, "
           "each thread keeps to its part")
        ->check(CLI::IsMember(&topologies));
    app.add_option("--backend", chosen_backend, "What carries the bytes")
        ->check(CLI::IsMember(&backends));
    CLI11_PARSE(app, argc, argv);
    options.reactor.topology = topologies.at(chosen_topology);
    options.reactor.backend = backends.at(chosen_backend);
    return serve(port, options);
}
