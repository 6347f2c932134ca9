// The README's first server by Boost.Beast: a parameter, and content that is sent back. A coroutine
// for each client, on one thread.
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

http::response<http::string_body> answer(const http::request<http::string_body>& r) {
    http::response<http::string_body> made(http::status::ok, r.version());
    made.keep_alive(r.keep_alive());
    constexpr std::string_view hello = "/hello/";
    const std::string target(r.target());
    if (r.method() == http::verb::get && target.starts_with(hello)) {
        made.body() = "Hello, " + target.substr(hello.size()) + "!\n";
    } else if (r.method() == http::verb::post && target == "/echo") {
        made.body() = r.body();
    } else {
        made.result(http::status::not_found);
    }
    made.prepare_payload();
    return made;
}

asio::awaitable<void> serve(tcp::socket socket) {
    beast::tcp_stream client(std::move(socket));
    beast::flat_buffer buffer;
    try {
        for (;;) {
            http::request<http::string_body> r;
            co_await http::async_read(client, buffer, r, asio::use_awaitable);
            http::response<http::string_body> made = answer(r);
            co_await http::async_write(client, made, asio::use_awaitable);
            if (!made.keep_alive())
                break;
        }
    } catch (const boost::system::system_error&) { // it has gone
    }
}

asio::awaitable<void> accept() {
    const tcp::endpoint where(asio::ip::make_address("127.0.0.1"), 8080);
    tcp::acceptor acceptor(co_await asio::this_coro::executor, where);
    for (;;) {
        tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
        asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)), asio::detached);
    }
}

int main() {
    asio::io_context context(1);
    asio::co_spawn(context, accept(), asio::detached);
    context.run();
}
