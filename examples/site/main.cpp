// A small static site: files, precompressed siblings or compression as they are asked for, and how
// long browsers may keep what. What is named after its content (assets/) never changes; the pages
// are asked for each time, and are mostly 304. All answers but those to requests that could not be
// read tell browsers to be careful, and each request is a line of the access log.
//
//     site DIRECTORY [ADDRESS [LOG]]

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <rota/http/access_log.hpp>
#include <rota/http/coding.hpp>
#include <rota/http/files.hpp>
#include <rota/http/security_headers.hpp>
#include <rota/http/server.hpp>

using namespace rota;

http::response error_page(int status, std::string_view reason) {
    return http::response::html("<!doctype html><title>" + std::to_string(status) + "</title><p>" +
                                std::string(reason) + "\n");
}

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fputs("usage: site DIRECTORY [ADDRESS [LOG]]\n", stderr);
        return 2;
    }
    return io::exit_code_of([&] {
        http::files_options options;
        options.cache_control = {{"assets/*", "public, max-age=31536000, immutable"},
                                 {"*", "no-cache"}};
        http::router routes;
        routes.use(http::security_headers());
        routes.use(http::coding({}, error_page));
        routes.mount("", http::files(argv[1], std::move(options)));
        routes.error(error_page);
        http::server_options serving{.listen = {argc > 2 ? argv[2] : "127.0.0.1:8080"}};
        if (argc > 3) {
            auto log =
                std::make_shared<http::access_log>(http::access_log_options{.path = argv[3]});
            serving.hooks.on_access = http::access_log::hook(std::move(log));
        }
        io::context ctx;
        http::server server(ctx, std::move(routes), std::move(serving));
        server.run_until_signalled();
    });
}
