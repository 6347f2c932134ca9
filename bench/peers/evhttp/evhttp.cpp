// evhttp of libevent: an event_base, a listening socket and a thread for each worker.
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "common.hpp"

namespace {

constexpr ev_ssize_t body_bytes_max = ev_ssize_t{2} << 20;

void answer_page(evhttp_request* request, void* of_page) {
    const auto& page = *static_cast<const peers::page*>(of_page);
    evkeyvalq* headers = evhttp_request_get_output_headers(request);
    evbuffer* body = evhttp_request_get_output_buffer(request);
    evhttp_add_header(headers, "Content-Type", page.type.c_str());
    evbuffer_add_reference(body, page.body.data(), page.body.size(), nullptr, nullptr);
    evhttp_send_reply(request, HTTP_OK, "OK", nullptr);
}

void echo(evhttp_request* request, void*) {
    const evkeyvalq* asked = evhttp_request_get_input_headers(request);
    const char* type = evhttp_find_header(asked, "Content-Type");
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                      type ? type : peers::default_type.data());
    evbuffer* body = evhttp_request_get_output_buffer(request);
    evbuffer_add_buffer(body, evhttp_request_get_input_buffer(request));
    evhttp_send_reply(request, HTTP_OK, "OK", nullptr);
}

void work(int fd) {
    event_config* config = event_config_new();
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
    event_base* base = event_base_new_with_config(config);
    evhttp* server = evhttp_new(base);
    evhttp_set_max_body_size(server, body_bytes_max);
    evhttp_set_timeout(server, 75);
    for (const peers::page& page : peers::pages())
        evhttp_set_cb(server, page.path.c_str(), answer_page, const_cast<peers::page*>(&page));
    evhttp_set_cb(server, "/echo", echo, nullptr);
    if (evhttp_accept_socket(server, fd) != 0) {
        std::fprintf(stderr, "evhttp does not take the socket\n");
        std::exit(1);
    }
    event_base_dispatch(base);
}

} // namespace

int main(int argc, char** argv) {
    const std::string version = std::string("libevent ") + event_get_version();
    peers::run_workers(peers::parse_arguments(argc, argv, version), work);
}
