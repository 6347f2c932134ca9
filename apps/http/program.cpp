#include "program.hpp"

#include <array>
#include <chrono>
#include <exception>
#include <limits>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <rota/http/detail/request_access.hpp>
#include <rota/http/headers.hpp>
#include <rota/io/log.hpp>

#include "codings.hpp"
#include "console.hpp"
#include "cookies.hpp"
#include "dump_signal.hpp"
#include "events.hpp"
#include "files.hpp"
#include "forms.hpp"
#include "jobs/open_store.hpp"
#include "jobs/routes.hpp"
#include "process.hpp"
#include "proxies.hpp"
#include "samples.hpp"
#include "tls.hpp"
#include "tracking.hpp"
#include "websockets.hpp"

namespace rota_http {
namespace {

std::uint64_t memory_ceiling(const settings& from) {
    return from.max_memory != 0 ? from.max_memory : memory_allowed() / 4 * 3;
}

/// A store that nobody has asked for is done without, if need be.
std::unique_ptr<jobs::store> open_store(const settings& from, rota::io::context& on) {
    jobs::store_limits limits;
    limits.lease_ms = from.lease.count();
    limits.jobs_max = from.max_jobs;
    // Above the ceiling no request is answered, not even one that would take jobs away.
    limits.memory_bytes_max = memory_ceiling(from) / 2;
    try {
        return jobs::open_store(from.store, limits, on, from.store_connections);
    } catch (const jobs::store_error& e) {
        if (from.store_given)
            throw;
        rota::log::warn("{}; job queues live in memory and end with this program", e.what());
    }
    return jobs::open_store("memory", limits, on);
}

rota::io::context_options context_options(const settings& from) {
    rota::io::context_options options;
    options.workers = from.workers;
    options.workers_max = from.workers_max;
    options.stall_limit = from.stall_limit;
    options.reactor.topology = from.topology;
    options.reactor.backend = from.backend;
    options.reactor.linger_rate_min_bytes_per_s = from.send_rate_min;
    return options;
}

void log_tasks(rota::runtime& workers) {
    const auto now = std::chrono::steady_clock::now();
    for (const std::string& line : tasks_lines(list_tasks(workers), tasks_listed_max, now))
        rota::log::info("{}", line);
}

/// As many as there can be descriptors for.
std::size_t possible_connections(std::size_t wanted) {
    const std::size_t limit = raise_descriptor_limit();
    const std::size_t possible = connections_within(limit, open_descriptors());
    if (wanted <= possible)
        return wanted;
    if (possible == 0) {
        throw std::runtime_error(
            fmt::format("{} descriptors are allowed: too few to serve anybody (raise the limit of "
                        "open files: ulimit -n)",
                        limit));
    }
    rota::log::warn("{} descriptors are allowed (ulimit -n): {} connections at once instead of {}",
                    limit, possible, wanted);
    return possible;
}

/// What listens beyond this machine and asks for no tokens is open to all: said once.
rota::http::guard_options guard_options(const settings& from) {
    rota::http::guard_options options;
    options.beyond_loopback = !rota::http::is_local(rota::io::endpoint::ip(from.host, from.port));
    options.allowed_hosts = from.allowed_hosts;
    options.host_advice = "Host is neither localhost nor a loopback address; another name, as a "
                          "proxy passes it on, is allowed by --allowed-host NAME";
    if (!from.token_file.empty()) {
        options.tokens = std::make_shared<rota::http::token_file>(
            from.token_file, [](std::string_view line) { rota::log::warn("{}", line); });
    } else if (options.beyond_loopback) {
        rota::log::warn(
            "{} is open to other machines: whoever reaches it can use the queues and the "
            "console, unless there is a --token-file",
            from.host);
    }
    return options;
}

/// Has every answer, errors among them, kept by nobody and taken for nothing else than it is.
rota::http::middleware of_now() {
    rota::http::headers made;
    made.add("Cache-Control", "no-store");
    made.add("X-Content-Type-Options", "nosniff");
    return [line = std::string(made.wire())](rota::http::request& req, rota::http::next proceed) {
        rota::http::request_access::facts(req).answer_fields += line;
        return proceed(req);
    };
}

struct drain_queues {
    jobs::service* queues;
    void operator()() const noexcept { queues->drain(); }
};

} // namespace

program::program(const settings& from, rota::http::router more)
    : settings_(from), access_log_(open_access_log(from)), context_(context_options(from)),
      store_(open_store(from, context_)), queues_(*store_),
      server_(context_, routes(from, std::move(more)), server_options(from)),
      guard_(memory_ceiling(from), {.in_use = [this] { return gauge_.in_use(); },
                                    .refuse = [this](bool on) { server_.refuse(on); },
                                    .return_memory = [this] { context_.return_memory(); }}) {
    inspected_ = {.context = &context_, .server = &server_, .queues = &queues_};
}

program::~program() = default;

rota::http::server_options program::server_options(const settings& from) const {
    rota::http::server_options options;
    options.listen.push_back(rota::io::endpoint::ip(from.host, from.port));
    if (!from.unix_path.empty())
        options.listen.push_back(rota::io::endpoint::unix_path(from.unix_path));
    add_tls(options, from);
    options.http2 = !from.no_http2;
    add_proxies(options, from);
    options.max_connections = possible_connections(from.max_connections);
    options.drain_timeout = from.drain_timeout;
    options.content_memory_bytes_max = memory_ceiling(from) / 4;
    rota::http::server_limits& limits = options.limits;
    limits.header_timeout = from.header_timeout;
    limits.body_timeout = from.body_timeout;
    limits.idle_timeout = from.idle_timeout;
    limits.send_timeout = from.send_timeout;
    limits.send_rate_min_bytes_per_s = from.send_rate_min;
    // Handlers that read content say how much they take; what adds jobs line by line takes any
    // amount, in constant memory.
    limits.parser.body_bytes_max = std::numeric_limits<std::uint64_t>::max();
    log_requests(options.hooks, from, access_log_);
    options.hooks.on_error = [](std::string_view message) { rota::log::error("{}", message); };
    options.hooks.on_warning = [](std::string_view message) { rota::log::warn("{}", message); };
    return options;
}

rota::http::router program::routes(const settings& from, rota::http::router more) {
    using rota::http::guard;
    const auto by = std::make_shared<const guard>(guard_options(from));
    const codings coded(from);
    rota::http::router all = std::move(more);
    trust_proxies(all, from);
    track_requests(all, from);
    if (!from.no_console)
        add_console(all, by, coded);
    add_samples(
        all, from.max_body, [this] { context_.return_memory(); }, coded);
    add_events(all, inspected_);
    add_cookies(all);
    add_websockets(all, from, [this] { context_.return_memory(); });
#ifdef ROTA_WITH_CRYPTO
    add_forms(
        all, from.max_body, [this] { context_.return_memory(); }, coded);
#endif
    add_files(all, from, coded);
    add_inspection(all, inspected_);
    all.mount("/debug", std::move(debug_routes(inspected_).use(of_now()).use(guard::around(by))));
    all.mount("/v1", std::move(jobs::routes(queues_)
                                   .use(of_now())
                                   .use(guard::around(by, jobs::describe_failure))
                                   .use(coded.of_answers(jobs::describe_failure))));
    add_alternatives(all, from);
    return all;
}

std::unique_ptr<port_file> program::announce() const {
    std::unique_ptr<port_file> told;
    const std::vector<rota::io::endpoint> where = server_.listening();
    if (where.empty())
        return told;
    if (!settings_.port_file.empty())
        told = std::make_unique<port_file>(settings_.port_file, where.front().port());
    rota::log::info("rota-http " ROTA_VERSION " serves http://{}/", where.front().to_string());
    if (settings_.tls.port)
        rota::log::info("HTTPS: https://{}/", where.back().to_string());
    return told;
}

void program::run(rota::io::end_signals& signals) {
    std::exception_ptr unannounced;
    std::unique_ptr<port_file> port_told;
    const dump_signal on_dump([this] {
        log_tasks(context_.workers());
        if (access_log_)
            access_log_->reopen();
    });
    const std::stop_callback on_drain(server_.drain_token(), drain_queues{&queues_});
    rota::runtime& workers = context_.workers();
    std::array<rota::routine_ptr, 5> beside; // whatever happens, those that run end here
    std::exception_ptr error;
    try {
        beside[0] = workers.spawn(queues_.end_leases(), {.name = "end of leases"});
        beside[1] = workers.spawn(queues_.watch().probe(), {.name = "probe of the job store"});
        beside[2] = workers.spawn(queues_.watch().list(), {.name = "list of queues"});
        beside[3] = workers.spawn(guard_.watch(), {.name = "memory guard"});
        if (settings_.tls.watch.count() != 0) {
            beside[4] = workers.spawn(watch_certificates(&server_, settings_.tls.watch),
                                      {.name = "watch of certificates"});
        }
        // Last of all: only a server that runs, or has failed to, lets it end.
        const std::jthread announcer([this, &unannounced, &port_told] {
            try {
                port_told = announce();
            } catch (...) { // what looks for the file would wait for ever
                unannounced = std::current_exception();
                server_.drain();
                server_.drain();
            }
        });
        if (settings_.tls.port)
            signals.call_on_hangup([this] { reload_certificates(server_); });
        server_.run_until_signalled(signals);
    } catch (...) {
        error = std::current_exception();
    }
    if (settings_.tls.port)
        signals.call_on_hangup({});
    for (const rota::routine_ptr& r : beside) {
        if (!r)
            continue;
        r->request_stop();
        r->wait_stopped();
    }
    for (const std::exception_ptr& e : {unannounced, error}) {
        if (e)
            std::rethrow_exception(e);
    }
}

} // namespace rota_http
