// A chat in the browser: a page, and a WebSocket by which each line goes to all others. One that
// does not read is cut off.
//
//     web_chat [ADDRESS]
#include <mutex>
#include <unordered_set>

#include <rota/http/server.hpp>
#include <rota/http/websocket.hpp>

using namespace rota;

constexpr http::literal page = R"(<!doctype html>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Chat</title>
<style>#lines { overflow-wrap: anywhere }</style>
<h1>Chat</h1>
<p id="state" role="status">connecting</p>
<ol id="lines" aria-live="polite"></ol>
<form id="form"><label>Say <input id="say" autocomplete="off" maxlength="1000"></label>
<button>Send</button></form>
<script>
const show = (text) => {
  const line = document.createElement("li");
  line.textContent = text;
  document.getElementById("lines").append(line);
};
const state = document.getElementById("state");
const ws = new WebSocket(new URL("chat", location.href).href.replace(/^http/, "ws"));
ws.onopen = () => { state.textContent = "connected"; };
ws.onmessage = (event) => show(event.data);
ws.onclose = (event) => { state.textContent = `over (${event.code} ${event.reason})`; };
document.getElementById("form").onsubmit = (event) => {
  event.preventDefault();
  const say = document.getElementById("say");
  if (!say.value || ws.readyState !== WebSocket.OPEN) return;
  ws.send(say.value);
  show(`you: ${say.value}`);
  say.value = "";
};
</script>
)";

struct room {
    std::mutex lock;
    std::unordered_set<io::outbox*> there; // of all guests, on whatever worker; under the lock
};

struct guest {
    explicit guest(room& r) : in(r) {
        const std::lock_guard guard(in.lock);
        in.there.insert(&out);
    }
    ~guest() {
        const std::lock_guard guard(in.lock);
        in.there.erase(&out);
    }
    void say(const io::shared_bytes& message) {
        const std::lock_guard guard(in.lock);
        for (io::outbox* const other : in.there) {
            if (other != &out)
                other->try_send(message); // which never waits
        }
    }
    room& in;
    io::outbox out{};
};

task<void> listen_to(http::websocket client, guest* me) {
    while (const auto message = co_await client.read()) {
        if (message->text)
            me->say(http::websocket::text_frame(message->data)); // encoded once for all
        else
            co_await client.close(1003, "a chat is text"); // RFC 6455 section 7.4.1
    }
}

task<void> talk(room* lobby, http::websocket client) {
    guest me(*lobby);
    task<void> listening = listen_to(client, &me);
    co_await client.serve(me.out, std::move(listening));
}

int main(int count, char** arguments) {
    room lobby;
    http::websocket_options options;
    options.message_bytes_max = 4'000;
    http::router routes;
    routes.get("/", [] { return http::response::fixed(page, "text/html; charset=utf-8"); })
        .get("/chat", http::serve_websockets(
                          [&](http::websocket client) { return talk(&lobby, client); }, options));
    return http::serve(std::move(routes), count > 1 ? arguments[1] : "127.0.0.1:8080");
}
