#include <rota/http/serve_http2.hpp>

#include <memory>
#include <stop_token>
#include <system_error>

#include <rota/routine.hpp>

#include "connection.hpp"

namespace rota::http {

task<void> serve_http2(io::stream* stream, const router* routes, const server_limits* limits,
                       session_control control, std::string_view begun) {
    routine& self = co_await current_routine;
    const std::stop_token stop = co_await current_stop_token;
    std::unique_ptr<worker_counters> own;
    worker_counters& counters = control.counters(self.home().index(), own);
    h2::connection client(*stream, *routes, *limits, control, self.home(), stop, counters,
                          !begun.empty());
    try {
        co_await client.serve(begun);
    } catch (const std::system_error&) { // the client is gone, or takes nothing
    }
}

} // namespace rota::http
