// Names to numbers over UDP, as DNS does it: "name" is answered by "name 192.0.2.1", an unknown one
// by "name ?". A socket on each worker, datagrams in batches.
#include <map>
#include <string>

#include <rota/io/datagram_server.hpp>

using namespace rota;

using names = std::map<std::string, std::string, std::less<>>;

std::string answer_to(const names& known, std::string_view name) {
    const auto found = known.find(name);
    return std::string(name) + " " + (found != known.end() ? found->second : "?");
}

task<void> serve(const names* known, io::datagram_socket socket) {
    while (auto batch = co_await socket.receive()) {
        for (const io::datagram& question : *batch) {
            if (question.truncated())
                continue;
            const std::string answer = answer_to(*known, question.bytes());
            while (!socket.queue(question.from(), answer))
                co_await socket.flush();
        }
        co_await socket.flush();
    }
}

int main(int count, char** arguments) {
    const names known{{"ada", "192.0.2.1"}, {"bob", "192.0.2.2"}, {"cyd", "192.0.2.3"}};
    const auto handler = [&](io::datagram_socket s) { return serve(&known, std::move(s)); };
    return io::serve_datagrams(handler, count > 1 ? arguments[1] : "127.0.0.1:5353");
}
