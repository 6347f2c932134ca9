#include "refuse_in_clear.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include <rota/errors.hpp>
#include <rota/http/date.hpp>
#include <rota/http/detail/linger.hpp>
#include <rota/linked_stop.hpp>

namespace rota::http {
namespace {

constexpr std::size_t dropped_bytes_max = 1'048'576;

} // namespace

task<void> refuse_in_clear(io::connection* client, std::string_view sentence,
                           std::chrono::milliseconds linger, std::stop_token draining) {
    std::string answer = "HTTP/1.1 400 Bad Request\r\n"
                         "Content-Type: text/plain; charset=utf-8\r\n"
                         "Content-Length: ";
    answer.append(std::to_string(sentence.size())).append("\r\nConnection: close\r\n");
    answer.append(date_line()).append("\r\n");
    if (!client->buffered().starts_with("HEAD "))
        answer += sentence;
    if (!client->try_write(answer))
        co_return;
    client->shutdown_write();
    const std::stop_token stop = co_await current_stop_token;
    const linked_stop either(stop, std::move(draining));
    const auto until = std::chrono::steady_clock::now() + linger;
    std::size_t dropped = 0;
    bool more = true;
    while (more && dropped < dropped_bytes_max) {
        const std::size_t size = client->buffered().size();
        client->consume(size);
        dropped += size;
        const auto now = std::chrono::steady_clock::now();
        const bool drains = either.token().stop_requested();
        const auto end = drains ? std::min(until, now + drain_linger) : until;
        const std::stop_token token = drains ? stop : either.token();
        try {
            task<bool> filling = client->fill(end);
            more = co_await filling.under(token);
        } catch (const timed_out&) { // it had its time
            more = false;
        } catch (const operation_cancelled&) {
            if (stop.stop_requested())
                throw;
        }
    }
}

} // namespace rota::http
