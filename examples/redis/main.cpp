// A server for Redis clients: strings, lists, sets, hashes, sorted sets, keys that expire. One
// worker runs all clients in turn, so the data needs no locks.
#include <utility>

#include <rota/io/server.hpp>

#include "commands.hpp"
#include "protocol.hpp"

using namespace rota;

task<void> serve_client(redis::database* data, io::connection client) {
    std::string out;
    redis::reply reply(out);
    while (auto piece = co_await client.read()) {
        redis::request_reader requests(*piece);
        while (auto request = requests.next()) {
            redis::run(*data, *request, reply);
            if (out.size() > 65'536)
                co_await client.write_owned(std::exchange(out, {}));
        }
        if (!requests.problem().empty())
            reply.error("ERR Protocol error: ", requests.problem());
        co_await client.write_owned(std::exchange(out, {}));
        if (!requests.problem().empty())
            co_return;
        client.unread(requests.rest()); // the beginning of the next one
    }
}

int main(int count, char** arguments) {
    redis::database data;
    return io::serve([&](io::connection c) { return serve_client(&data, std::move(c)); },
                     count > 1 ? arguments[1] : "127.0.0.1:6379", {}, {.workers = 1});
}
