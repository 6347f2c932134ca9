#include "settings.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace rota_http;
using namespace std::chrono_literals;

namespace {

struct reading {
    explicit reading(std::vector<const char*> arguments) {
        arguments.insert(arguments.begin(), "rota-http");
        std::ostringstream output;
        std::ostringstream errors;
        code = read_command_line(static_cast<int>(arguments.size()), arguments.data(), result,
                                 output, errors);
        out = output.str();
        err = errors.str();
    }
    settings result;
    std::optional<int> code;
    std::string out;
    std::string err;
};

} // namespace

TEST_CASE("without options the defaults hold") {
    const reading r({});
    CHECK_FALSE(r.code);
    CHECK(r.result.host == "127.0.0.1");
    CHECK(r.result.port == 8080);
    CHECK(r.result.topology == rota::io::topology::automatic);
    CHECK(r.result.store == "sqlite:rota-jobs.db");
    CHECK_FALSE(r.result.store_given);
}

TEST_CASE("every option is read") {
    const reading r({"--host",
                     "::1",
                     "--port",
                     "0",
                     "--unix",
                     "/tmp/x",
                     "--port-file",
                     "p",
                     "--allowed-host",
                     "a.example",
                     "b.example:81",
                     "--token-file",
                     "t",
                     "--workers",
                     "3",
                     "--topology",
                     "per_worker",
                     "--backend",
                     "epoll",
                     "--max-connections",
                     "7",
                     "--max-body",
                     "64K",
                     "--max-memory",
                     "1G",
                     "--header-timeout",
                     "1s",
                     "--body-timeout=2m",
                     "--idle-timeout",
                     "500ms",
                     "--send-timeout",
                     "3",
                     "--send-rate-min",
                     "1K",
                     "--drain-timeout",
                     "0",
                     "--stall-limit",
                     "0",
                     "--store",
                     "sqlite:/tmp/jobs.db",
                     "--lease",
                     "5s",
                     "--max-jobs",
                     "9",
                     "--log-level",
                     "debug",
                     "--access-log",
                     "--no-console"});
    CAPTURE(r.err);
    REQUIRE_FALSE(r.code);
    const settings& s = r.result;
    CHECK(s.host == "::1");
    CHECK(s.port == 0);
    CHECK(s.unix_path == "/tmp/x");
    CHECK(s.port_file == "p");
    CHECK(s.allowed_hosts == std::vector<std::string>{"a.example", "b.example:81"});
    CHECK(s.token_file == "t");
    CHECK(s.workers == 3);
    CHECK(s.workers_max == 0);
    CHECK(s.topology == rota::io::topology::per_worker);
    CHECK(s.backend == rota::io::backend_kind::epoll);
    CHECK(s.max_connections == 7);
    CHECK(s.max_body == 65'536);
    CHECK(s.max_memory == 1'073'741'824);
    CHECK(s.header_timeout == 1s);
    CHECK(s.body_timeout == 2min);
    CHECK(s.idle_timeout == 500ms);
    CHECK(s.send_timeout == 3s);
    CHECK(s.send_rate_min == 1024);
    CHECK(s.drain_timeout == 0s);
    CHECK(s.stall_limit == 0s);
    CHECK(s.store == "sqlite:/tmp/jobs.db");
    CHECK(s.store_given);
    CHECK(s.lease == 5s);
    CHECK(s.max_jobs == 9);
    CHECK(s.log_level == spdlog::level::debug);
    CHECK(s.access_log);
    CHECK(s.no_console);
}

TEST_CASE("HTTPS has a port and pairs of files") {
    const reading r({"--tls-port", "8443", "--tls-cert", "a.pem", "--tls-key", "a.key",
                     "--tls-cert", "b.pem", "--tls-key", "b.key", "--tls-client-ca", "ca.pem",
                     "--tls-tickets", "t", "--tls-watch", "30s", "--handshake-timeout", "3s"});
    CAPTURE(r.err);
    REQUIRE_FALSE(r.code);
    const tls_settings& s = r.result.tls;
    CHECK(s.port == 8443);
    CHECK(s.certificates == std::vector<std::string>{"a.pem", "b.pem"});
    CHECK(s.keys == std::vector<std::string>{"a.key", "b.key"});
    CHECK(s.client_ca == "ca.pem");
    CHECK(s.ticket_keys == "t");
    CHECK(s.watch == 30s);
    CHECK(s.handshake_timeout == 3s);
    CHECK_FALSE(reading({}).result.tls.port);
    CHECK(reading({"--tls-port", "1", "--tls-cert", "a"}).code == 2);
    CHECK(reading({"--tls-port", "1"}).code == 2);
    CHECK(reading({"--tls-cert", "a", "--tls-key", "a"}).code == 2);
}

TEST_CASE("no least rate of sending") {
    const reading r({"--send-rate-min", "0"});
    CAPTURE(r.err);
    REQUIRE_FALSE(r.code);
    CHECK(r.result.send_rate_min == 0);
}

TEST_CASE("origins of pages") {
    const reading r({"--allowed-origin", "https://app.example:8443", "http://[::1]", "*", "null"});
    CAPTURE(r.err);
    REQUIRE_FALSE(r.code);
    CHECK(r.result.allowed_origins.size() == 4);
}

TEST_CASE("words of lists are taken as they are") {
    const reading r({"--allowed-host", "[::1]", "[2001:db8::1]:80", "a.example", "--allowed-host",
                     "b.example", "--allowed-origin", "null", "--trusted-proxy", "::1",
                     "--trusted-proxy", "10.0.0.0/8", "--tls-port", "0", "--tls-cert", "[a]",
                     "--tls-key", "[b,c]"});
    CAPTURE(r.err);
    REQUIRE_FALSE(r.code);
    CHECK(r.result.allowed_hosts ==
          std::vector<std::string>{"[::1]", "[2001:db8::1]:80", "a.example", "b.example"});
    CHECK(r.result.allowed_origins == std::vector<std::string>{"null"});
    CHECK(r.result.proxies.trusted == std::vector<std::string>{"::1", "10.0.0.0/8"});
    CHECK(r.result.tls.certificates == std::vector<std::string>{"[a]"});
    CHECK(r.result.tls.keys == std::vector<std::string>{"[b,c]"});
}

TEST_CASE("a range of workers") {
    const reading r({"--workers", "2-16"});
    REQUIRE_FALSE(r.code);
    CHECK(r.result.workers == 2);
    CHECK(r.result.workers_max == 16);
}

TEST_CASE("what is wrong is told in one line") {
    const std::vector<std::vector<const char*>> wrong{{"--port", "x"},
                                                      {"--port", "70000"},
                                                      {"--port", "-1"},
                                                      {"--port", "0x10"},
                                                      {"--port", "+80"},
                                                      {"--port", " 0"},
                                                      {"--tls-port", "0x10"},
                                                      {"--max-jobs", "0"},
                                                      {"--max-jobs", "0x10"},
                                                      {"--max-connections", "1e3"},
                                                      {"--store-connections", "65"},
                                                      {"--alt-svc", "garbage"},
                                                      {"--access-log", "--log-level", "warning"},
                                                      {"--allowed-host", "*"},
                                                      {"--allowed-host", "*.a"},
                                                      {"--allowed-host", "a,b"},
                                                      {"--allowed-host", "[a,b]"},
                                                      {"--allowed-host", "[::1,::2]"},
                                                      {"--allowed-host", ".a.example"},
                                                      {"--trusted-proxy", "[::1]"},
                                                      {"--allowed-origin", "[null]"},
                                                      {"--port"},
                                                      {"--nonsense"},
                                                      {"word"},
                                                      {"--workers", "257"},
                                                      {"--workers", "4-2"},
                                                      {"--workers", "1-"},
                                                      {"--topology", "ring"},
                                                      {"--backend", "kqueue"},
                                                      {"--log-level", "loud"},
                                                      {"--idle-timeout", "soon"},
                                                      {"--idle-timeout", "0"},
                                                      {"--header-timeout", ""},
                                                      {"--max-body", "1T"},
                                                      {"--max-body", "0"},
                                                      {"--max-memory", "1M"},
                                                      {"--max-connections", "0"},
                                                      {"--host", "not an address"},
                                                      {"--allowed-host"},
                                                      {"--allowed-host", "http://a.example"},
                                                      {"--token-file"},
                                                      {"--token-file", ""},
                                                      {"--token-file="},
                                                      {"--tls-client-ca", ""},
                                                      {"--access-log-file", ""},
                                                      {"--files", ""},
                                                      {"--unix", ""},
                                                      {"--allowed-origin", ""},
                                                      {"--allowed-origin", "app.example"},
                                                      {"--allowed-origin", "https://app.example/"},
                                                      {"--allowed-origin", "https://App.example"},
                                                      {"--allowed-origin", "https://a b"},
                                                      {"--send-rate-min", "-1"},
                                                      {"--store", "sqlite:"},
                                                      {"--store", "postgres"},
                                                      {"--lease", "-5s"},
                                                      {"--lease", "13h"},
                                                      {"--allowed-host", "--token-file", "t"},
                                                      {"--allowed-host", "a", "--token-file", "--"},
                                                      {"--token-file", "--no-console"},
                                                      {"--port", "1", "--port", "2"},
                                                      {"--tls-port", "-1"},
                                                      {"--workers", "1-300"},
                                                      {"--store", "sqlite::memory:"},
                                                      {"--alt-svc", "a\r\n\x1b[1mb"},
                                                      {"--files", "--no-http2"}};
    for (const auto& arguments : wrong) {
        const reading r(arguments);
        CAPTURE(arguments.front(), r.err);
        CHECK(r.code == 2);
        CHECK(r.err.starts_with("rota-http: "));
        CHECK(std::ranges::count(r.err, '\n') == 1);
        CHECK(r.err.ends_with("(see --help)\n"));
        CHECK(std::ranges::none_of(r.err, [](char c) { return c == '\r' || c == '\x1b'; }));
        CHECK(std::ranges::any_of(arguments, [&r](const std::string& each) {
            return r.err.find(each.substr(0, each.find('='))) != std::string::npos;
        }));
        CHECK(r.out.empty());
    }
}

TEST_CASE("what two options write to is not one file") {
    const reading r({"--access-log-file", "no_such/../x", "--port-file", "./x"});
    CHECK(r.code == 2);
    CHECK(r.err == "rota-http: --access-log-file and --port-file are one file (see --help)\n");
    const reading other({"--access-log-file", "x", "--port-file", "y/x"});
    CHECK_FALSE(other.code);
}

TEST_CASE("what is wrong with a value is told with the option, and with which there are") {
    const auto says = [](const char* option, const char* value, const char* what) {
        const reading r({option, value});
        CAPTURE(r.err);
        return r.code == 2 && r.err.find(what) != std::string::npos;
    };
    CHECK(says("--trusted-proxy", "10.0.0.0/33", "--trusted-proxy: "));
    CHECK(says("--allowed-host", "2001:db8::1", "--allowed-host: "));
    CHECK(says("--host", "x", "--host: "));
    CHECK(says("--unix", std::string(200, 'x').c_str(), "--unix: "));
    CHECK(says("--port", "", "http: --port: needs a value (see"));
    CHECK(says("--tls-port", "-1", "\"-1\" is no number from 0 to 65535"));
    CHECK(says("--workers", "4-1", "\"4-1\" is neither a number nor MIN-MAX, up to 256"));
    CHECK(says("--store", "sqlite::memory:", "that store is called memory"));
    CHECK(reading({"--port", "1", "--port", "2"}).err ==
          "rota-http: --port is given more than once: once is enough (see --help)\n");
    CHECK(says("--stall-limit", "999999h", "is no time up to 8784h"));
    CHECK(says("--max-body", "99999999999G", "is no size from 1 to below 8589934592G"));
    CHECK(says("--max-body", "0", "is no size from 1 to below"));
    CHECK(says("--send-rate-min", "-1", "is no size below"));
    CHECK(says("--header-timeout", "0", "is no time from 1ms up to 8784h"));
    CHECK(says("--lease", "0", "is no time from 1ms up to 12h"));
    for (const char* option : {"--tls-cert", "--tls-key", "--tls-client-ca", "--tls-tickets"})
        CHECK(says(option, "f", (std::string(option) + " requires --tls-port").c_str()));
    CHECK_FALSE(reading({"--stall-limit", "8784h"}).code);
    CHECK_FALSE(reading({"--max-body", "8589934591G"}).code);
}

TEST_CASE("an option whose value was left out does not take the next one for it") {
    const reading r({"--allowed-host", "--token-file", "t"});
    CHECK(r.code == 2);
    CHECK(r.err.find("--allowed-host: needs a value, and --token-file is none") !=
          std::string::npos);
    const reading longest({"--lease", "12h"});
    CHECK_FALSE(longest.code);
}

TEST_CASE("help and version") {
    const reading help({"--help"});
    CHECK(help.code == 0);
    CHECK(help.out.find("Examples:") != std::string::npos);
    // The default behind the option: "=10s" or " [10s]", as CLI11's version has it.
    const std::size_t option = help.out.find("--drain-timeout TIME");
    REQUIRE(option != std::string::npos);
    const std::string line = help.out.substr(option, help.out.find('\n', option) - option);
    CHECK(line.find("10s") != std::string::npos);
    CHECK(help.err.empty());
    const reading version({"--version"});
    CHECK(version.code == 0);
    CHECK(version.out.starts_with("rota-http "));
    CHECK(std::ranges::count(version.out, '\n') == 1);
}
