// libmicrohttpd with epoll, a daemon for each worker. The answers are made once and shared.
#include <microhttpd.h>
#include <poll.h>

#include <unordered_map>

#include "common.hpp"

namespace {

constexpr unsigned connections_max = 16384;

using answers = std::unordered_map<std::string_view, MHD_Response*>;

MHD_Response* make_answer(const std::string& body, const char* type) {
    // It is never written to; the interface is older than the thought.
    void* data = const_cast<char*>(body.data());
    MHD_Response* made = MHD_create_response_from_buffer(body.size(), data, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(made, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return made;
}

MHD_Result send_once(MHD_Connection* client, unsigned status, MHD_Response* made) {
    const MHD_Result result = MHD_queue_response(client, status, made);
    MHD_destroy_response(made);
    return result;
}

MHD_Result echo(MHD_Connection* client, const std::string& body) {
    const char* type =
        MHD_lookup_connection_value(client, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
    type = type ? type : peers::default_type.data();
    return send_once(client, MHD_HTTP_OK, make_answer(body, type)); // the body is kept: forget()
}

/// Content of a request that has none, and of any that is not to be echoed.
std::string nothing;

/// Called when the head of a request is there, then with each piece of its content, then once more.
/// An answer to the first of these calls would be the last of the connection.
MHD_Result answer(void* all, MHD_Connection* client, const char* path, const char* method,
                  const char*, const char* data, std::size_t* size, void** of_request) {
    const bool to_echo =
        std::string_view(method) == MHD_HTTP_METHOD_POST && std::string_view(path) == "/echo";
    if (!*of_request) {
        *of_request = to_echo ? new std::string : &nothing;
        return MHD_YES;
    }
    auto* body = static_cast<std::string*>(*of_request);
    if (*size != 0) {
        if (to_echo)
            body->append(data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (to_echo)
        return echo(client, *body);
    const auto& known = *static_cast<const answers*>(all);
    const auto found = known.find(path);
    if (found != known.end() && std::string_view(method) == MHD_HTTP_METHOD_GET)
        return MHD_queue_response(client, MHD_HTTP_OK, found->second);
    return send_once(client, MHD_HTTP_NOT_FOUND, make_answer(nothing, "text/plain"));
}

void forget(void*, MHD_Connection*, void** of_request, MHD_RequestTerminationCode) {
    if (*of_request != &nothing)
        delete static_cast<std::string*>(*of_request);
    *of_request = nullptr;
}

/// The library's own thread waits once more when 128 connections are ready at once, before it looks
/// at any of them, and for ever if no other becomes ready. Told to run, it does not wait.
void work(answers* all, int listener) {
    MHD_Daemon* daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_TURBO, 0, nullptr, nullptr, answer, all, MHD_OPTION_LISTEN_SOCKET,
        listener, MHD_OPTION_CONNECTION_LIMIT, connections_max, MHD_OPTION_CONNECTION_TIMEOUT, 75U,
        MHD_OPTION_NOTIFY_COMPLETED, forget, nullptr, MHD_OPTION_END);
    const MHD_DaemonInfo* info =
        daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD) : nullptr;
    if (!info) {
        std::fprintf(stderr, "libmicrohttpd does not start\n");
        std::exit(1);
    }
    for (pollfd ready{info->epoll_fd, POLLIN, 0};;) {
        MHD_UNSIGNED_LONG_LONG ms = 0;
        const bool timed = MHD_get_timeout(daemon, &ms) == MHD_YES;
        poll(&ready, 1, timed ? static_cast<int>(ms) : -1);
        MHD_run(daemon);
    }
}

} // namespace

int main(int argc, char** argv) {
    const std::string version = std::string("libmicrohttpd ") + MHD_get_version();
    const peers::arguments arguments = peers::parse_arguments(argc, argv, version);
    answers all;
    for (const peers::page& page : peers::pages())
        all.emplace(page.path, make_answer(page.body, page.type.c_str()));
    peers::run_workers(arguments, [&all](int listener) { work(&all, listener); });
}
