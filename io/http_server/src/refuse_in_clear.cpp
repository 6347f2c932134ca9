#include "refuse_in_clear.hpp"

#include <cstddef>
#include <string>

#include <rota/errors.hpp>
#include <rota/http/date.hpp>

namespace rota::http {
namespace {

constexpr std::size_t dropped_bytes_max = 1'048'576;

} // namespace

task<void> refuse_in_clear(io::connection* client, std::string_view sentence,
                           std::chrono::milliseconds linger) {
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
    const auto until = std::chrono::steady_clock::now() + linger;
    std::size_t dropped = 0;
    try {
        bool more = true;
        while (more && dropped < dropped_bytes_max) {
            const std::size_t size = client->buffered().size();
            client->consume(size);
            dropped += size;
            more = co_await client->fill(until);
        }
    } catch (const timed_out&) {
        // It had its time.
    }
}

} // namespace rota::http
