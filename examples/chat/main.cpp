// A chat: each line that a client sends goes to all others. One that does not read is cut off.
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include <rota/io/outbox.hpp>
#include <rota/io/server.hpp>

using namespace rota;

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
    void say(const io::shared_bytes& line) {
        const std::lock_guard guard(in.lock);
        for (io::outbox* const other : in.there) {
            if (other != &out)
                other->try_send(line); // which never waits
        }
    }
    room& in;
    io::outbox out{};
};

task<void> listen_to(io::connection* client, guest* me) {
    while (const std::optional<std::string> line = co_await client->read_line())
        me->say(io::shared_bytes({*line, "\n"}));
}

task<void> talk(room* lobby, io::connection client) {
    guest me(*lobby);
    me.out.try_send(io::shared_bytes("welcome\n"));
    task<void> listening = listen_to(&client, &me);
    co_await me.out.serve(client, std::move(listening));
}

int main(int count, char** arguments) {
    room lobby;
    return io::serve([&](io::connection c) { return talk(&lobby, std::move(c)); },
                     count > 1 ? arguments[1] : "127.0.0.1:7000", {.max_connections = 20'000});
}
