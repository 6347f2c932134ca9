// h2o as a library: what it answers is in memory. An event loop, a listening socket and a thread
// for each worker; what they are told to answer is shared.
#define H2O_USE_LIBUV 0
#include <h2o.h>
#include <h2o/http1.h>

#include <cerrno>

#include "common.hpp"

namespace {

constexpr std::size_t body_bytes_max = std::size_t{2} << 20;
constexpr int accepted_at_once = 16;

h2o_iovec_t to_iovec(std::string_view text) { return h2o_iovec_init(text.data(), text.size()); }

/// Sends a body that stays where it is until the request ends.
int send(h2o_req_t* request, std::string_view type, h2o_iovec_t body) {
    static h2o_generator_t whole{nullptr, nullptr};
    request->res.status = 200;
    request->res.reason = "OK";
    request->res.content_length = body.len;
    h2o_add_header(&request->pool, &request->res.headers, H2O_TOKEN_CONTENT_TYPE, nullptr,
                   type.data(), type.size());
    h2o_start_response(request, &whole);
    h2o_send(request, &body, 1, H2O_SEND_STATE_FINAL);
    return 0;
}

struct page_handler {
    h2o_handler_t base;
    const peers::page* page;
};

int answer_page(h2o_handler_t* self, h2o_req_t* request) {
    const peers::page& page = *reinterpret_cast<page_handler*>(self)->page;
    if (!h2o_memis(request->method.base, request->method.len, "GET", 3))
        return -1;
    return send(request, page.type, to_iovec(page.body));
}

int answer_spin(h2o_handler_t*, h2o_req_t* request) {
    if (!h2o_memis(request->method.base, request->method.len, "GET", 3))
        return -1;
    const h2o_iovec_t path = request->path_normalized;
    const peers::page* page = peers::spin_page({path.base, path.len});
    return page ? send(request, page->type, to_iovec(page->body)) : -1;
}

int echo(h2o_handler_t*, h2o_req_t* request) {
    if (!h2o_memis(request->method.base, request->method.len, "POST", 4))
        return -1;
    const ssize_t at = h2o_find_header(&request->headers, H2O_TOKEN_CONTENT_TYPE, -1);
    std::string_view type = peers::default_type;
    if (at != -1)
        type = {request->headers.entries[at].value.base, request->headers.entries[at].value.len};
    return send(request, type, request->entity);
}

void configure(h2o_globalconf_t* config) {
    h2o_config_init(config);
    config->server_name = {};
    config->max_request_entity_size = body_bytes_max;
    config->http1.req_timeout = 75'000;
    config->http1.upgrade_to_http2 = 0;
    h2o_hostconf_t* host = h2o_config_register_host(config, to_iovec("default"), 65535);
    for (const peers::page& page : peers::pages()) {
        h2o_pathconf_t* path = h2o_config_register_path(host, page.path.c_str(), 0);
        auto* handler =
            reinterpret_cast<page_handler*>(h2o_create_handler(path, sizeof(page_handler)));
        handler->base.on_req = answer_page;
        handler->page = &page;
    }
    h2o_pathconf_t* spin = h2o_config_register_path(host, bench::spin_path.data(), 0);
    h2o_create_handler(spin, sizeof(h2o_handler_t))->on_req = answer_spin;
    h2o_pathconf_t* path = h2o_config_register_path(host, "/echo", 0);
    h2o_create_handler(path, sizeof(h2o_handler_t))->on_req = echo;
}

void accept_some(h2o_socket_t* listener, const char* error) {
    if (error)
        return;
    for (int i = 0; i < accepted_at_once; ++i) {
        h2o_socket_t* client = h2o_evloop_socket_accept(listener);
        if (!client)
            return;
        h2o_accept(static_cast<h2o_accept_ctx_t*>(listener->data), client);
    }
}

void work(h2o_globalconf_t* config, int fd) {
    h2o_evloop_t* loop = h2o_evloop_create();
    h2o_context_t context{};
    h2o_context_init(&context, loop, config);
    h2o_accept_ctx_t to_accept{};
    to_accept.ctx = &context;
    to_accept.hosts = config->hosts;
    h2o_socket_t* listener = h2o_evloop_socket_create(loop, fd, H2O_SOCKET_FLAG_DONT_READ);
    listener->data = &to_accept;
    h2o_socket_read_start(listener, accept_some);
    while (h2o_evloop_run(loop, INT32_MAX) == 0 || errno == EINTR) {
    }
}

} // namespace

int main(int argc, char** argv) {
    const peers::arguments arguments = peers::parse_arguments(argc, argv, "h2o " H2O_VERSION);
    h2o_globalconf_t config;
    configure(&config);
    peers::run_workers(arguments, [&config](int fd) { work(&config, fd); });
}
