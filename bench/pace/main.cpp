// rota-pace: requests at a constant rate, over HTTP/1.1, from one thread.
//
// Each request has a time at which it is due, which does not depend on the answers. If its
// connection still waits for an answer then, it is sent when that has come, and its latency counts
// from when it was due: what a client would have waited that cannot know how busy the server is.
//
//   settings.cpp   the command line
//   run.cpp        the loop: sends what is due, sleeps, reads what has come
//   traffic.cpp    one stream of requests: schedule, connections, what became of them
//   answer.cpp     whether an answer is right, and where it ends
//   histogram.cpp  latencies
//   report.cpp     the JSON
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "report.hpp"
#include "run.hpp"
#include "settings.hpp"

int main(int argc, char** argv) {
    try {
        pace::settings asked;
        if (const auto code = pace::read_command_line(argc, argv, asked))
            return *code;
        fmt::print("{}", pace::as_json(asked, pace::run(asked)));
    } catch (const std::exception& error) {
        fmt::print(stderr, "rota-pace: {}\n", error.what());
        return 1;
    }
    return 0;
}
