// Boost.Beast on Asio with a coroutine for each connection. An io_context of its own for each
// worker; the header fields of an answer are made in a buffer of the connection.
#include <utility> // Boost 1.74 forgets it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/version.hpp>

#include <memory_resource>

#include "common.hpp"

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using executor = asio::io_context::executor_type;
using acceptor = asio::basic_socket_acceptor<asio::ip::tcp, executor>;
using connection = asio::basic_stream_socket<asio::ip::tcp, executor>;
template <typename T>
using awaitable = asio::awaitable<T, executor>;
constexpr asio::use_awaitable_t<executor> use_awaitable;

using allocator = std::pmr::polymorphic_allocator<char>;
using fields = http::basic_fields<allocator>;
using request_parser = http::request_parser<http::string_body, allocator>;
using answer = http::response<http::span_body<const char>, fields>;

constexpr std::size_t body_bytes_max = std::size_t{2} << 20;

boost::beast::string_view to_view(std::string_view text) { return {text.data(), text.size()}; }

/// The answer to `asked`, whose content is kept by the page or by the request.
void fill(answer& reply, const http::request<http::string_body, fields>& asked) {
    std::string_view type = "text/plain; charset=utf-8";
    std::string_view body;
    const std::string_view target(asked.target().data(), asked.target().size());
    const peers::page* page =
        asked.method() == http::verb::get ? peers::find_page(target) : nullptr;
    if (page) {
        type = page->type;
        body = page->body;
    } else if (asked.method() == http::verb::post && target == "/echo") {
        const auto given = asked[http::field::content_type];
        type = given.empty() ? peers::default_type : std::string_view(given.data(), given.size());
        body = asked.body();
    } else {
        reply.result(http::status::not_found);
    }
    reply.version(11);
    reply.set(http::field::date, peers::http_date());
    reply.set(http::field::content_type, to_view(type));
    reply.body() = {body.data(), body.size()};
    reply.content_length(body.size());
    reply.keep_alive(asked.keep_alive());
}

awaitable<void> serve(connection client) {
    boost::beast::flat_buffer buffer(body_bytes_max);
    std::array<char, 4096> memory;
    error_code error;
    for (bool more = true; more;) {
        std::pmr::monotonic_buffer_resource pool(memory.data(), memory.size());
        auto token = asio::redirect_error(use_awaitable, error);
        request_parser parser(std::piecewise_construct, std::make_tuple(),
                              std::make_tuple(allocator(&pool)));
        parser.body_limit(body_bytes_max);
        co_await http::async_read(client, buffer, parser, token);
        if (error)
            co_return;
        answer reply(std::piecewise_construct, std::make_tuple(),
                     std::make_tuple(allocator(&pool)));
        fill(reply, parser.get());
        more = reply.keep_alive();
        http::response_serializer<http::span_body<const char>, fields> serializer(reply);
        co_await http::async_write(client, serializer, token);
        if (error)
            co_return;
    }
}

awaitable<void> accept(acceptor* listener) {
    for (;;) {
        error_code error;
        auto token = asio::redirect_error(use_awaitable, error);
        connection client = co_await listener->async_accept(token);
        if (!error)
            asio::co_spawn(listener->get_executor(), serve(std::move(client)), asio::detached);
    }
}

void work(int fd) {
    asio::io_context context(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
    acceptor listener(context, asio::ip::tcp::v4(), fd);
    asio::co_spawn(context, accept(&listener), asio::detached);
    context.run();
}

} // namespace

int main(int argc, char** argv) {
    const std::string version = std::to_string(BOOST_VERSION / 100000) + "." +
                                std::to_string(BOOST_VERSION / 100 % 1000) + "." +
                                std::to_string(BOOST_VERSION % 100);
    peers::run_workers(peers::parse_arguments(argc, argv, "Boost " + version), work);
}
