#include "websockets.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <rota/http/error.hpp>
#include <rota/http/websocket.hpp>
#include <rota/io/outbox.hpp>

namespace rota_http {
namespace {

using rota::task;
using rota::http::http_error;
using rota::http::request;
using rota::http::websocket;
using rota::http::websocket_endpoint;
using rota::http::websocket_options;

constexpr std::size_t room_name_max = 128;
constexpr std::size_t unsent_max = 1'048'576;     // then a reader is cut off
constexpr std::size_t said_max = unsent_max - 10; // and its frame's head
constexpr std::size_t large_bytes = 1'048'576;
constexpr std::uint16_t unsupported = 1003; // RFC 6455 section 7.4.1
constexpr std::uint16_t too_big = 1009;

/// Rooms with clients in them. Any thread.
class chat_rooms {
public:
    using members = std::set<rota::io::outbox*>;

    /// A place in a room for as long as it lives.
    class place {
    public:
        place(chat_rooms& in, const std::string& room) : in_(in) {
            const std::lock_guard guard(in_.lock_);
            room_ = in_.rooms_.try_emplace(room).first;
            room_->second.insert(&out);
        }
        ~place() {
            const std::lock_guard guard(in_.lock_);
            room_->second.erase(&out);
            if (room_->second.empty())
                in_.rooms_.erase(room_);
        }
        place(const place&) = delete;
        place& operator=(const place&) = delete;

        /// To all others: which never waits.
        void say(const rota::io::shared_bytes& message) {
            const std::lock_guard guard(in_.lock_);
            for (rota::io::outbox* const other : room_->second) {
                if (other != &out)
                    other->try_send(message);
            }
        }

        rota::io::outbox out{{.bytes_max = unsent_max}};

    private:
        chat_rooms& in_;
        std::map<std::string, members>::iterator room_;
    };

private:
    std::mutex lock_;
    std::map<std::string, members> rooms_; // under the lock
};

/// Behind large messages much of what the allocator holds is free.
task<void> echo(const std::function<void()>* return_memory, websocket client) {
    bool was_large = false;
    while (const auto message = co_await client.read()) {
        was_large = was_large || message->data.size() >= large_bytes;
        co_await client.send(*message);
    }
    if (was_large || client.close_code() == too_big)
        (*return_memory)();
}

task<void> listen_to(websocket client, chat_rooms::place* in) {
    while (const auto message = co_await client.read()) {
        if (message->text)
            in->say(websocket::text_frame(message->data));
        else
            co_await client.close(unsupported, "a chat is text");
    }
}

task<void> chat(std::shared_ptr<chat_rooms> rooms, std::string room, websocket client) {
    chat_rooms::place mine(*rooms, room);
    task<void> listening = listen_to(client, &mine);
    co_await client.serve(mine.out, std::move(listening));
}

} // namespace

void add_websockets(rota::http::router& to, const settings& from,
                    std::function<void()> return_memory) {
    websocket_options options;
    options.message_bytes_max = from.max_message;
    options.allowed_origins = from.allowed_origins;
    options.ping_after = options.gone_after = from.ping_after;
    websocket_options of_chat = options;
    options.subprotocols = {"echo"};
    of_chat.message_bytes_max = std::min<std::size_t>(from.max_message, said_max);
    to.get("/ws/echo", rota::http::serve_websockets(
                           [return_memory = std::move(return_memory)](websocket client) {
                               return echo(&return_memory, client);
                           },
                           std::move(options)));
    to.get("/ws/chat", [rooms = std::make_shared<chat_rooms>(),
                        endpoint = websocket_endpoint(std::move(of_chat))](const request& r) {
        std::string room = r.query("room").value_or("");
        if (room.size() > room_name_max)
            throw http_error(400, "the name of a room has at most 128 bytes");
        return endpoint.upgrade(r, [rooms, room = std::move(room)](websocket client) {
            return chat(rooms, room, client);
        });
    });
}

} // namespace rota_http
