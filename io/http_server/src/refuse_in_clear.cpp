#include "refuse_in_clear.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include <rota/http/date.hpp>
#include <rota/http/detail/linger.hpp>

#include "idle_wait.hpp"

namespace rota::http {
namespace {

using time_point = std::chrono::steady_clock::time_point;

constexpr std::size_t dropped_bytes_max = 1'048'576;

/// Whether it is a HEAD, as soon as that can be told. Drops empty lines before it.
task<bool> asks_for_head(io::connection* client, time_point until, std::stop_token draining) {
    constexpr std::string_view head = "HEAD ";
    for (;;) {
        const std::string_view said = client->buffered();
        if (const std::size_t begin = said.find_first_not_of("\r\n"); begin != 0 && !said.empty()) {
            client->consume(std::min(begin, said.size())); // what came behind it shows then
            continue;
        }
        if (said.starts_with(head))
            co_return true;
        if (!head.starts_with(said))
            co_return false;
        const bool more = co_await wait_more(client, until, draining, drain_linger);
        if (!more)
            co_return false;
    }
}

} // namespace

task<void> refuse_in_clear(io::connection* client, std::string_view sentence, time_point until,
                           std::stop_token draining) {
    std::string answer = "HTTP/1.1 400 Bad Request\r\n"
                         "Content-Type: text/plain; charset=utf-8\r\n"
                         "Content-Length: ";
    answer.append(std::to_string(sentence.size())).append("\r\nConnection: close\r\n");
    answer.append(date_line()).append("\r\n");
    const bool head = co_await asks_for_head(client, until, draining);
    if (!head)
        answer += sentence;
    if (!client->try_write(answer))
        co_return;
    client->shutdown_write();
    std::size_t dropped = 0;
    bool more = true;
    while (more && dropped < dropped_bytes_max) {
        const std::size_t size = client->buffered().size();
        client->consume(size);
        dropped += size;
        more = co_await wait_more(client, until, draining, drain_linger);
    }
}

} // namespace rota::http
