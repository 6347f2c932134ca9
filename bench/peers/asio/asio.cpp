// Boost.Asio with a coroutine for each connection, and no more HTTP than the benchmark needs: all
// requests that have arrived are answered with one write. An io_context of its own for each worker.
#include <utility> // Boost 1.74 forgets it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/version.hpp>

#include <charconv>
#include <optional>

#include "common.hpp"

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using executor = asio::io_context::executor_type;
using acceptor = asio::basic_socket_acceptor<asio::ip::tcp, executor>;
using connection = asio::basic_stream_socket<asio::ip::tcp, executor>;
template <typename T>
using awaitable = asio::awaitable<T, executor>;
constexpr asio::use_awaitable_t<executor> use_awaitable;

constexpr std::size_t copied_bytes_max = 4096;
constexpr std::size_t request_bytes_max = std::size_t{4} << 20;

/// What a connection has read and not answered, and what it is to write.
struct state {
    std::string in;
    std::size_t in_size = 0; // of in, what has been read
    std::string out;
    std::string_view tail; // follows out; too large to be copied
    bool close = false;
};

/// Whether a name, or a word, is this one, which is in lower case.
bool same_name(std::string_view name, std::string_view lower) {
    if (name.size() != lower.size())
        return false;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if ((name[i] | 0x20) != lower[i])
            return false;
    }
    return true;
}

/// The value of the header with this name in lower case, or nothing.
std::optional<std::string_view> header(std::string_view head, std::string_view lower) {
    const std::size_t fields = head.find("\r\n");
    std::size_t begin = fields == head.npos ? head.size() : fields + 2;
    while (begin < head.size()) {
        const std::size_t end = std::min(head.find("\r\n", begin), head.size());
        const std::string_view line = head.substr(begin, end - begin);
        const std::size_t colon = line.find(':');
        if (colon != line.npos && same_name(line.substr(0, colon), lower)) {
            const std::size_t value = line.find_first_not_of(" \t", colon + 1);
            return value == line.npos ? std::string_view() : line.substr(value);
        }
        begin = end + 2;
    }
    return std::nullopt;
}

void begin_answer(state& s, std::string_view head, std::string_view type, std::size_t length) {
    std::string& out = s.out;
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), length).ptr;
    out.append("HTTP/1.1 200 OK\r\nDate: ").append(peers::http_date());
    if (same_name(header(head, "connection").value_or(""), "close")) {
        s.close = true;
        out.append("\r\nConnection: close");
    }
    out.append("\r\nContent-Type: ").append(type);
    out.append("\r\nContent-Length: ").append(digits.data(), end).append("\r\n\r\n");
}

void refuse(state& s, std::string_view status) {
    s.out.append("HTTP/1.1 ").append(status);
    s.out.append("\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    s.close = true;
}

/// Answers the first request of `data`. Returns its size, or 0 if some of it has yet to come.
std::size_t answer_one(state& s, std::string_view data) {
    const std::size_t end = data.find("\r\n\r\n");
    if (end == data.npos)
        return 0;
    const std::string_view head = data.substr(0, end);
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const std::size_t space = line.find(' ');
    const std::size_t version = line.rfind(' ');
    const std::string_view method = line.substr(0, space);
    if (version <= space || version == line.npos || line.substr(version) != " HTTP/1.1") {
        refuse(s, "400 Bad Request");
        return data.size();
    }
    const std::string_view path = line.substr(space + 1, version - space - 1);
    if (method == "GET") {
        const peers::page* page = peers::find_page(path);
        if (!page) {
            refuse(s, "404 Not Found");
            return data.size();
        }
        begin_answer(s, head, page->type, page->body.size());
        if (page->body.size() <= copied_bytes_max)
            s.out.append(page->body);
        else
            s.tail = page->body;
        return end + 4;
    }
    const std::string_view length_text = header(head, "content-length").value_or("");
    std::size_t length = 0;
    const auto [rest, error] =
        std::from_chars(length_text.data(), length_text.data() + length_text.size(), length);
    if (method != "POST" || path != "/echo" || error != std::errc() ||
        rest != length_text.data() + length_text.size() || length > request_bytes_max / 2) {
        refuse(s, "400 Bad Request");
        return data.size();
    }
    if (data.size() - (end + 4) < length)
        return 0;
    begin_answer(s, head, header(head, "content-type").value_or(peers::default_type), length);
    s.out.append(data.substr(end + 4, length));
    return end + 4 + length;
}

/// Answers what has arrived, up to an answer that is not copied. Returns how much that was.
std::size_t answer_all(state& s) {
    const std::string_view data = std::string_view(s.in).substr(0, s.in_size);
    std::size_t done = 0;
    while (done < data.size() && s.tail.empty() && !s.close) {
        const std::size_t size = answer_one(s, data.substr(done));
        if (size == 0)
            break;
        done += size;
    }
    return done;
}

awaitable<void> serve(connection client) {
    state s;
    s.in.resize(8192);
    error_code error;
    while (!s.close) {
        const std::size_t room = s.in.size() - s.in_size;
        const auto space = asio::buffer(s.in.data() + s.in_size, room);
        auto token = asio::redirect_error(use_awaitable, error);
        const std::size_t got = co_await client.async_read_some(space, token);
        if (error)
            co_return;
        s.in_size += got;
        while (const std::size_t done = answer_all(s)) {
            const std::array<asio::const_buffer, 2> answers{asio::buffer(s.out),
                                                            asio::buffer(s.tail)};
            if (s.tail.empty())
                co_await asio::async_write(client, answers[0], token);
            else
                co_await asio::async_write(client, answers, token);
            if (error)
                co_return;
            s.out.clear();
            s.tail = {};
            s.in_size -= done;
            if (s.in_size != 0)
                s.in.replace(0, s.in_size, s.in, done, s.in_size);
        }
        if (s.in_size == s.in.size()) {
            if (s.in.size() >= request_bytes_max)
                co_return;
            s.in.resize(s.in.size() * 2);
        }
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
