// WebSockets of Boost.Beast with a coroutine for each connection: what comes to /ws/echo goes back,
// what comes to /ws/chat?room=NAME goes to all others, whatever the room. An io_context of its own
// for each worker, so a chat is of one worker's clients.
#include <utility> // Boost 1.74 forgets it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/version.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/version.hpp>

#include <deque>
#include <memory>
#include <unordered_set>

#include "common.hpp"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using boost::system::error_code;
using executor = asio::io_context::executor_type;
using acceptor = asio::basic_socket_acceptor<asio::ip::tcp, executor>;
using connection = beast::basic_stream<asio::ip::tcp, executor, beast::unlimited_rate_policy>;
template <typename T>
using awaitable = asio::awaitable<T, executor>;
constexpr asio::use_awaitable_t<executor> use_awaitable;

using message = std::shared_ptr<const std::string>;

/// A client of the chat: what it is to receive waits in its queue.
struct client {
    explicit client(asio::basic_stream_socket<asio::ip::tcp, executor> s) : ws(std::move(s)) {}

    websocket::stream<connection> ws;
    std::deque<message> to_send;
    bool sending = false;
};

thread_local std::unordered_set<std::shared_ptr<client>> room;

awaitable<void> send_all(std::shared_ptr<client> to) {
    error_code error;
    while (!to->to_send.empty() && !error) {
        const message next = to->to_send.front();
        co_await to->ws.async_write(asio::buffer(*next),
                                    asio::redirect_error(use_awaitable, error));
        to->to_send.pop_front();
    }
    to->sending = false;
}

void tell_others(const std::shared_ptr<client>& from, std::string text) {
    const auto shared = std::make_shared<const std::string>(std::move(text));
    for (const std::shared_ptr<client>& each : room) {
        if (each == from)
            continue;
        each->to_send.push_back(shared);
        if (!std::exchange(each->sending, true))
            asio::co_spawn(each->ws.get_executor(), send_all(each), asio::detached);
    }
}

awaitable<void> serve(std::shared_ptr<client> self) {
    websocket::stream<connection>& ws = self->ws;
    error_code error;
    auto token = asio::redirect_error(use_awaitable, error);
    beast::flat_buffer in;
    http::request<http::string_body> asked;
    co_await http::async_read(ws.next_layer(), in, asked, token);
    if (error)
        co_return;
    co_await ws.async_accept(asked, token);
    const bool chats = asked.target().starts_with("/ws/chat");
    ws.text(true);
    if (chats)
        room.insert(self);
    in.clear();
    while (!error) {
        co_await ws.async_read(in, token);
        if (error)
            break;
        if (chats)
            tell_others(self, beast::buffers_to_string(in.data()));
        else
            co_await ws.async_write(in.data(), token); // as text, which is what comes
        in.clear();
    }
    room.erase(self);
}

awaitable<void> accept(acceptor* listener) {
    for (;;) {
        error_code error;
        auto token = asio::redirect_error(use_awaitable, error);
        auto socket = co_await listener->async_accept(token);
        if (error)
            continue;
        asio::co_spawn(listener->get_executor(), serve(std::make_shared<client>(std::move(socket))),
                       asio::detached);
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
