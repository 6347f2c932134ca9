#include "settings.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include <rota/http/guard.hpp>

#include "alt_svc.hpp"
#include "complaints.hpp"
#include "jobs/open_store.hpp"
#include "jobs/service.hpp"
#include "option_files.hpp"
#include "units.hpp"

namespace rota_http {
namespace {

constexpr std::uint64_t port_max = 65'535;

constexpr const char* description =
    "Serves the sample application of Rota: small pages to try a client on, a job queue,\n"
    "and a look into the server that serves them. Start it and open http://127.0.0.1:8080/.";

constexpr const char* examples = R"(Times are like 500ms, 10s, 5m, 1h; sizes like 64K, 16M, 1G.

Examples:
  rota-http                                   on http://127.0.0.1:8080/, this machine only
  rota-http --host 0.0.0.0 --token-file t     for all who have one of its tokens
  rota-http --unix /run/rota.sock             also there; curl has --unix-socket
  rota-http --port 0 --port-file port.txt     a free port, written to a file
  rota-http --workers 1 --log-level debug     on one worker, and with more words
  rota-http --tls-port 8443 --tls-cert c.pem --tls-key k.pem   HTTPS, too
  rota-http --store memory                    job queues that end with the program
  rota-http --store postgres://me@db/jobs     queues shared by several servers
  rota-http --topology per_worker             a ring for each worker instead of two for all
  rota-http --files /srv/site                 files of a directory at /files/

SIGTERM, SIGINT or SIGHUP: no new clients, requests in flight are answered, then exit
code 0; once more: at once. With --tls-port SIGHUP reads the certificates again instead.
Other exit codes: 1 it cannot serve, 2 the command line is wrong.
SIGUSR1: what every routine waits for is written to the log, and --access-log-file is
opened anew.)";

/// Of an option that is a list: its words are taken as they are. Else CLI11 takes brackets off, as
/// those of [::1], and parts what is in them at commas.
CLI::Option* take_literally(CLI::Option* list) { return list->allow_extra_args(false); }

/// The same, of one that takes several words at once, too.
CLI::Option* take_several(CLI::Option* list) {
    constexpr int words_max = 1'000'000; // of what CLI11 takes for endless it takes one at a time
    return take_literally(list->expected(1, words_max));
}

/// An empty text would be taken for an option that was not given: no tokens, no CA of clients. So
/// would the option behind one whose value was left out.
void refuse_lost_values(CLI::App& app) {
    for (CLI::Option* each : app.get_options()) {
        each->check([](const std::string& text) { // what is said has the option before it
            if (text.empty())
                return std::string("needs a value");
            if (text.starts_with("--"))
                return "needs a value, and " + text + " is none";
            return std::string();
        });
    }
}

/// An option whose text is handed to `take`, which throws CLI::ValidationError for what it does not
/// like.
CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& help,
                      std::function<void(const std::string&)> take) {
    CLI::callback_t callback = [take = std::move(take)](const CLI::results_t& words) {
        take(words.back());
        return true;
    };
    return app.add_option(name, std::move(callback), help);
}

/// An option with a value that is read by `parse`, which gives an optional.
template <class Value, class Parse, class Show>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, Value& into, Parse parse, Show show,
                        const std::string& type, const std::string& help,
                        const std::string& complaint, Value least = Value{1},
                        std::optional<Value> most = std::nullopt) {
    return add_text(app, name, help,
                    [&into, parse, name, complaint, least, most](const std::string& text) {
                        const auto value = parse(text);
                        if (!value || *value < least || (most && *value > *most))
                            throw CLI::ValidationError(name, '"' + text + "\" is " + complaint);
                        into = *value;
                    })
        ->type_name(type)
        ->default_str(show(into));
}

/// A number in decimal digits alone.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& into, const char* help,
                        std::uint64_t least, std::uint64_t most) {
    return add_text(app, name, help,
                    [&into, name, least, most](const std::string& text) {
                        const auto number = parse_number(text);
                        if (!number || *number < least || *number > most)
                            throw CLI::ValidationError(name, '"' + text + "\" is no number from " +
                                                                 std::to_string(least) + " to " +
                                                                 std::to_string(most));
                        into = static_cast<Number>(*number);
                    })
        ->type_name("NUMBER")
        ->default_str(std::to_string(into));
}

CLI::Option* add_time(CLI::App& app, const std::string& name, std::chrono::milliseconds& into,
                      const std::string& help, std::chrono::milliseconds least,
                      std::chrono::milliseconds most = duration_max) {
    const auto show = [](std::chrono::milliseconds t) { return to_text(t); };
    const std::string from = least.count() > 0 ? " from " + to_text(least) : "";
    return add_parsed(app, name, into, parse_duration, show, "TIME", help,
                      "no time" + from + " up to " + to_text(most) + ": try 500ms, 10s or 5m",
                      least, std::optional(most))
        ->group("Limits");
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& into,
                      const std::string& help, const std::string& some, std::uint64_t least = 1) {
    const std::string from = least > 0 ? " from " + bytes_to_text(least) + " to" : "";
    return add_parsed(app, name, into, parse_bytes, bytes_to_text, "SIZE", help,
                      "no size" + from + " below 8589934592G: try " + some, least)
        ->group("Limits");
}

template <class Enum>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Enum& into,
                        const std::map<std::string, Enum>& choices, const std::string& help) {
    std::string shown;
    for (const auto& [word, value] : choices) {
        if (value == into)
            shown = word;
    }
    return add_text(app, name, help,
                    [&into, choices, name](const std::string& text) {
                        const auto found = choices.find(text);
                        if (found != choices.end()) {
                            into = found->second;
                            return;
                        }
                        std::string words;
                        for (const auto& choice : choices)
                            words += (words.empty() ? "" : ", ") + choice.first;
                        throw CLI::ValidationError(name, '"' + text + "\" is none of " + words);
                    })
        ->type_name("WORD")
        ->default_str(shown);
}

void add_listening(CLI::App& app, settings& s) {
    app.add_option("--host", s.host, "IPv4 or IPv6 address to listen on; * is every one")
        ->capture_default_str()
        ->type_name("ADDRESS");
    add_number(app, "--port", s.port, "Port to listen on; 0 takes a free one", 0, port_max);
    app.add_option("--unix", s.unix_path, "Listen on this Unix socket too")->type_name("PATH");
    app.add_option("--port-file", s.port_file, "Write the port to this file once it listens")
        ->type_name("PATH");
}

void add_tls(CLI::App& app, tls_settings& s) {
    CLI::Option* const port =
        add_text(app, "--tls-port", "Port to listen on for HTTPS; 0 takes a free one",
                 [&s](const std::string& text) {
                     const auto number = parse_number(text);
                     if (!number || *number > port_max)
                         throw CLI::ValidationError("--tls-port", '"' + text +
                                                                      "\" is no number from 0 to " +
                                                                      std::to_string(port_max));
                     s.port = static_cast<std::uint16_t>(*number);
                 })
            ->type_name("NUMBER");
    take_literally(app.add_option("--tls-cert", s.certificates,
                                  "Certificate and chain (PEM); again for another name, the first "
                                  "is the default"))
        ->type_name("PATH")
        ->expected(1)
        ->take_all()
        ->needs(port);
    take_literally(app.add_option("--tls-key", s.keys, "Its key (PEM), as often as --tls-cert"))
        ->type_name("PATH")
        ->expected(1)
        ->take_all()
        ->needs(port);
    app.add_option("--tls-client-ca", s.client_ca, "Clients need a certificate by one of these")
        ->type_name("PATH")
        ->needs(port);
    app.add_option("--tls-tickets", s.ticket_keys,
                   "Keys of session tickets, 80 random bytes each; else its own, for an hour")
        ->type_name("PATH")
        ->needs(port);
    add_time(app, "--tls-watch", s.watch,
             "Look so often whether files of HTTPS have changed, and read them again; 0: never",
             std::chrono::milliseconds(0))
        ->needs(port);
    app.add_option("--alt-svc", s.alt_svc,
                   "What answers in clear say in Alt-Svc, as h2=\":8443\"; ma=3600")
        ->type_name("TEXT")
        ->check([](const std::string& text) {
            return is_alt_svc(text) ? ""
                                    : '"' + text + "\" is no Alt-Svc: try h2=\":8443\"; ma=3600";
        });
    add_time(app, "--handshake-timeout", s.handshake_timeout, "For a client of HTTPS to agree",
             std::chrono::milliseconds(1))
        ->needs(port);
}

void add_guard(CLI::App& app, settings& s) {
    take_several(app.add_option("--allowed-host", s.allowed_hosts,
                                "Names by which /, /v1 and /debug may be asked for, beside "
                                "localhost"))
        ->type_name("NAME");
    take_several(app.add_option("--allowed-origin", s.allowed_origins,
                                "Origins of pages that may open a WebSocket here, beside this "
                                "host's own; * is any"))
        ->type_name("ORIGIN")
        ->check([](const std::string& text) {
            return text == "*" || rota::http::is_origin(text)
                       ? ""
                       : '"' + text + "\" is no origin: try https://app.example";
        });
    app.add_option("--token-file", s.token_file,
                   "/, /v1 and /debug need a bearer token of this file, one a line")
        ->type_name("PATH");
}

void add_proxies(CLI::App& app, proxy_settings& s) {
    using rota::http::proxy_fields;
    // By pointers: CLI11 ends the program where it finds options by name and there is no memory.
    CLI::Option* const trusted =
        take_literally(app.add_option("--trusted-proxy", s.trusted,
                                      "Proxies that are believed whom they speak for: 10.0.0.0/8, "
                                      "::1, unix; repeatable"))
            ->type_name("CIDR")
            ->expected(1)
            ->take_all();
    add_choice<proxy_fields>(app, "--proxy-fields", s.fields,
                             {{"x-forwarded", proxy_fields::x_forwarded},
                              {"forwarded", proxy_fields::forwarded},
                              {"either", proxy_fields::either}},
                             "What they say it in; either: a request with both kinds is a 400")
        ->needs(trusted);
    app.add_flag("--proxy-protocol", s.protocol,
                 "Connections of trusted proxies (else of this machine) begin with a PROXY header");
}

void add_tracking(CLI::App& app, tracking_settings& s) {
    using rota::http::access_log_format;
    CLI::Option* const file =
        app.add_option("--access-log-file", s.log_file,
                       "A line for each request in this file; SIGUSR1 opens it anew")
            ->type_name("PATH");
    add_choice<access_log_format>(
        app, "--access-log-format", s.log_format,
        {{"combined", access_log_format::combined}, {"json", access_log_format::json}},
        "combined, as Apache and nginx have it, or an object of JSON a line")
        ->needs(file);
    app.add_flag(
        "--request-id", s.request_ids,
        "Requests have an X-Request-Id: the client's if it is well-formed, else a new one");
    app.add_flag("--trace", s.traces,
                 "Requests go on with the trace of their traceparent, or "
                 "begin one: see it in the JSON log");
}

void add_running(CLI::App& app, settings& s) {
    using rota::io::backend_kind;
    using rota::io::topology;
    add_text(
        app, "--workers",
        "Threads that run handlers: a number, or MIN-MAX to follow the load; 0: one for each core",
        [&s](const std::string& text) {
            const std::optional<worker_range> range = parse_workers(text);
            if (!range)
                throw CLI::ValidationError("--workers", '"' + text +
                                                            "\" is neither a number "
                                                            "nor MIN-MAX, up to 256: try 4 or 1-8");
            s.workers = range->least;
            s.workers_max = range->most;
        })
        ->type_name("NUMBER")
        ->default_str("0");
    add_choice<topology>(
        app, "--topology", s.topology,
        {{"auto", topology::automatic},
         {"split", topology::split},
         {"per_worker", topology::per_worker},
         {"dedicated", topology::dedicated}},
        "split: one ring receives for all workers, one sends; per_worker: each has its own; "
        "dedicated: as split, and nothing runs or is sent on another's thread; auto: split, "
        "per_worker for one worker on one core");
    add_choice<backend_kind>(app, "--backend", s.backend,
                             {{"auto", backend_kind::automatic},
                              {"io_uring", backend_kind::io_uring},
                              {"epoll", backend_kind::epoll}},
                             "What carries the bytes; auto: io_uring if the kernel has it");
    add_choice<spdlog::level::level_enum>(app, "--log-level", s.log_level,
                                          {{"trace", spdlog::level::trace},
                                           {"debug", spdlog::level::debug},
                                           {"info", spdlog::level::info},
                                           {"warning", spdlog::level::warn},
                                           {"error", spdlog::level::err},
                                           {"off", spdlog::level::off}},
                                          "How much is said on stderr");
    app.add_flag("--access-log", s.access_log, "Log every request, at level info");
    app.add_flag("--no-console", s.no_console, "Do not serve the console at /");
    app.add_flag("--no-http2", s.no_http2, "Speak HTTP/1.1 only, in clear and by TLS");
    app.add_flag("--no-compress", s.no_compress,
                 "Neither compress answers by zstd, br, gzip nor take such content; compressed "
                 "siblings in --files are served all the same");
    app.add_option("--files", s.files, "A directory whose files are served at /files/")
        ->type_name("DIR");
}

void add_store(CLI::App& app, settings& s) {
    add_text(app, "--store", "Where job queues live: memory, sqlite:PATH, or postgres://...",
             [&s](const std::string& text) {
                 try {
                     jobs::check_store_name(text);
                 } catch (const std::invalid_argument& e) {
                     throw CLI::ValidationError("--store", e.what());
                 }
                 s.store = text;
                 s.store_given = true;
             })
        ->type_name("STORE")
        ->default_str(s.store);
    add_number(app, "--store-connections", s.store_connections, "To a store that is a database", 1,
               64);
}

void add_limits(CLI::App& app, settings& s) {
    using std::chrono::milliseconds;
    add_number(app, "--max-connections", s.max_connections,
               "Connections at once; more clients wait to be accepted", 1, 10'000'000)
        ->group("Limits");
    add_size(app, "--max-body", s.max_body, "Content of a request to /echo or /form", "64K or 16M");
    add_size(app, "--max-message", s.max_message, "A message of a WebSocket, decompressed",
             "64K or 16M");
    add_time(app, "--ping-after", s.ping_after,
             "Of silence, a WebSocket gets a ping, and is gone after as long again; 0: never",
             milliseconds(0));
    add_size(app, "--max-memory", s.max_memory,
             "In use, then requests are refused; else three quarters of what there is",
             "512M or 2G", std::uint64_t{64} << 20)
        ->default_str("");
    add_time(app, "--header-timeout", s.header_timeout, "For the head of a request to arrive",
             milliseconds(1));
    add_time(app, "--body-timeout", s.body_timeout, "Waiting for the content of a request, in all",
             milliseconds(1));
    add_time(app, "--idle-timeout", s.idle_timeout, "Between two requests of a connection",
             milliseconds(1));
    add_time(app, "--send-timeout", s.send_timeout, "For a client to take some of its answer",
             milliseconds(1));
    add_size(app, "--send-rate-min", s.send_rate_min,
             "Bytes a second that a client has to take of its answers; 0: any", "240 or 1K", 0);
    add_time(app, "--drain-timeout", s.drain_timeout,
             "For requests in flight when the server is to end", milliseconds(0));
    add_time(app, "--stall-limit", s.stall_limit,
             "A handler that holds its thread longer is logged, with its stack; 0: none is",
             milliseconds(0));
    add_time(app, "--lease", s.lease, "Until a job that was taken and not acknowledged comes back",
             milliseconds(1), jobs::service_options{}.lease_max);
    add_number(app, "--max-jobs", s.max_jobs, "Jobs in one queue", 1, 1'000'000'000)
        ->group("Limits");
}

} // namespace

std::optional<int> read_command_line(int argc, const char* const* argv, settings& into,
                                     std::ostream& out, std::ostream& err) {
    CLI::App app(description, "rota-http");
    app.get_formatter()->column_width(32);
    add_listening(app, into);
    add_tls(app, into.tls);
    add_guard(app, into);
    add_proxies(app, into.proxies);
    add_tracking(app, into.tracking);
    add_running(app, into);
    add_store(app, into);
    add_limits(app, into);
    refuse_lost_values(app);
    app.set_version_flag("--version", "rota-http " ROTA_VERSION);
    app.footer(examples);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForVersion& e) {
        out << e.what() << '\n' << std::flush;
        return out ? 0 : 1;
    } catch (const CLI::Success&) {
        out << app.help() << std::flush;
        return out ? 0 : 1;
    } catch (const CLI::ParseError& e) {
        return refuse(in_our_words(e.what()), err);
    }
    const std::string wrong = complaint_of(into);
    return wrong.empty() ? std::nullopt : std::optional(refuse(wrong, err));
}

} // namespace rota_http
