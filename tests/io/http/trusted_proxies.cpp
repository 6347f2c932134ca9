#include <rota/http/trusted_proxies.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/error.hpp>
#include <rota/http/guard.hpp>
#include <rota/inline_scheduler.hpp>

#include "field_list.hpp"
#include "memory_stream.hpp"
#include "session_driver.hpp"

namespace rota::http {
namespace {

const io::network_list inside({"10.0.0.0/8", "2001:db8::/32", "unix"});

/// Lines that end in CRLF each.
test::some_fields fields_of(std::string_view lines) {
    std::vector<std::pair<std::string, std::string>> all;
    while (!lines.empty()) {
        const std::size_t end = lines.find("\r\n");
        const std::size_t colon = lines.find(": ");
        all.emplace_back(lines.substr(0, colon), lines.substr(colon + 2, end - colon - 2));
        lines.remove_prefix(end + 2);
    }
    return test::some_fields(all);
}

/// "peer host scheme", "-" where nothing is said; "400" for what is refused.
std::string origin(std::string_view peer, std::string_view text,
                   proxy_fields kind = proxy_fields::either, bool host = true) {
    const test::some_fields fields = fields_of(text);
    try {
        const request_origin got = find_origin(peer, fields.list(), {inside, kind, host});
        return got.peer.value_or("-") + ' ' + got.host.value_or("-") + ' ' +
               (got.secure ? *got.secure ? "https" : "http" : "-");
    } catch (const http_error& e) {
        return std::to_string(e.status());
    }
}

} // namespace

TEST_CASE("only proxies that are trusted are asked") {
    const char* const said = "X-Forwarded-For: 192.0.2.1\r\n";
    CHECK(origin("10.0.0.1:80", said) == "192.0.2.1 - -");
    CHECK(origin("[::ffff:10.0.0.1]:80", said) == "192.0.2.1 - -");
    CHECK(origin("[2001:db8::5]:80", said) == "192.0.2.1 - -");
    CHECK(origin("unix:", said) == "192.0.2.1 - -");
    for (const char* const other : {"11.0.0.1:80", "[::1]:80", "", "unknown", "peer", "_a"})
        CHECK(origin(other, said) == "- - -");
    CHECK(origin("11.0.0.1:80", "Forwarded: nonsense\r\nX-Forwarded-For: nonsense\r\n") == "- - -");
    CHECK(origin("10.0.0.1:80", "") == "- - -");
}

TEST_CASE("the way is followed back to the first that is no proxy") {
    const auto by = [](std::string_view fields) { return origin("10.0.0.1:80", fields); };
    CHECK(by("X-Forwarded-For: 198.51.100.1, 192.0.2.1, 10.0.0.2\r\n") == "192.0.2.1 - -");
    CHECK(by("X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 192.0.2.1\r\n") == "192.0.2.1 - -");
    CHECK(by("X-Forwarded-For: 10.0.0.3, 10.0.0.2\r\n") == "10.0.0.3 - -");
    CHECK(by("X-Forwarded-For: <script>, 192.0.2.1\r\n") == "192.0.2.1 - -"); // the client's own
    CHECK(by("X-Forwarded-For: 10.0.0.9, unknown, 10.0.0.2\r\n") == "unknown - -");
    CHECK(by("X-Forwarded-For: 192.0.2.1:4711\r\n") == "192.0.2.1:4711 - -");
    CHECK(by("X-Forwarded-For: 2001:db9::1\r\n") == "[2001:db9::1] - -");
    CHECK(by("X-Forwarded-For: , ,\r\n") == "- - -");
    CHECK(by("Forwarded: for=198.51.100.1, for=192.0.2.1;proto=https;host=a.example, "
             "for=10.0.0.2;proto=http\r\n") == "192.0.2.1 a.example https");
    CHECK(by("Forwarded: for=\"[2001:db9::1]:4711\"\r\n") == "[2001:db9::1]:4711 - -");
    CHECK(by("Forwarded: for=_secret\r\n") == "_secret - -");
    CHECK(by("Forwarded: for=192.0.2.1, proto=https\r\n") == "- - https");
    for (const char* const wrong :
         {"X-Forwarded-For: name\r\n", "X-Forwarded-For: 192.0.2.1, 10.0.0.256\r\n",
          "X-Forwarded-For: name, 10.0.0.2\r\n", "Forwarded: for=1:2\r\n",
          "Forwarded: for=name\r\n", "Forwarded: for=192.0.2.1;proto=ftp\r\n",
          "Forwarded: for=192.0.2.1;host=\"a b\"\r\n",
          "Forwarded: for=\"x\r\nForwarded: for=192.0.2.1\r\n", "X-Forwarded-Proto: gopher\r\n",
          "X-Forwarded-Host: a/b\r\n", "Forwarded: for=192.0.2.1\r\nX-Forwarded-For: 192.0.2.1\r\n",
          "Forwarded: for=192.0.2.1\r\nX-Forwarded-Proto: https\r\n"}) {
        CAPTURE(wrong);
        CHECK(by(wrong) == "400");
    }
}

TEST_CASE("scheme and host of X-Forwarded fields") {
    const auto by = [](std::string_view fields) { return origin("10.0.0.1:80", fields); };
    CHECK(by("X-Forwarded-Proto: https\r\n") == "- - https");
    CHECK(by("X-Forwarded-Proto: WSS\r\n") == "- - https");
    CHECK(by("X-Forwarded-Proto: http\r\nX-Forwarded-Host: a.example:8443\r\n") ==
          "- a.example:8443 http");
    // As many as there are steps: one for each; else the last, which the nearest has said.
    CHECK(by("X-Forwarded-For: 192.0.2.1, 10.0.0.2\r\nX-Forwarded-Proto: https, http\r\n") ==
          "192.0.2.1 - https");
    CHECK(by("X-Forwarded-For: 198.51.100.1, 192.0.2.1\r\nX-Forwarded-Proto: https, http\r\n") ==
          "192.0.2.1 - http");
    CHECK(by("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https, http\r\n") ==
          "192.0.2.1 - http");
    CHECK(origin("10.0.0.1:80", "X-Forwarded-Host: a\r\n", proxy_fields::either, false) == "- - -");
    CHECK(origin("10.0.0.1:80", "Forwarded: for=192.0.2.1;host=a\r\n", proxy_fields::either,
                 false) == "192.0.2.1 - -");
}

TEST_CASE("of one kind of fields the other is not looked at") {
    const char* const both = "Forwarded: for=192.0.2.1\r\nX-Forwarded-For: 198.51.100.1\r\n";
    CHECK(origin("10.0.0.1:80", both, proxy_fields::forwarded) == "192.0.2.1 - -");
    CHECK(origin("10.0.0.1:80", both, proxy_fields::x_forwarded) == "198.51.100.1 - -");
    CHECK(origin("10.0.0.1:80", "Forwarded: nonsense\r\n", proxy_fields::x_forwarded) == "- - -");
}

namespace {

/// A session with a proxy at 10.0.0.1:80.
class behind_proxy {
public:
    explicit behind_proxy(router routes) : routes_(std::move(routes)) {
        hooks_.on_access = [this](const access_entry& entry) { logged_ = entry.peer; };
        session_control control;
        control.hooks = &hooks_;
        control.peer = "10.0.0.1:80";
        routine_ = scheduler_.spawn(
            serve_connection(&stream_, &routes_, &limits_, std::move(control)), {.name = "client"});
        scheduler_.run();
    }
    ~behind_proxy() {
        routine_->request_stop();
        scheduler_.run();
    }
    behind_proxy(const behind_proxy&) = delete;
    behind_proxy& operator=(const behind_proxy&) = delete;

    std::string exchange(std::string_view bytes) {
        stream_.send(bytes);
        scheduler_.run();
        return stream_.receive();
    }
    [[nodiscard]] const std::string& logged() const { return logged_; }

private:
    router routes_;
    server_limits limits_;
    session_hooks hooks_;
    std::string logged_;
    inline_scheduler scheduler_;
    test::memory_stream stream_{scheduler_};
    routine_ptr routine_;
};

} // namespace

TEST_CASE("what proxies say is what the request says, in streams and logs too") {
    router routes;
    routes.use(trusted_proxies({.from = inside}));
    routes.get("/", [](const request& r) {
        return response::text(std::string(r.peer()) + ' ' + std::string(r.host()) +
                              (r.secure() ? " https" : " http") + '\n');
    });
    routes.get("/stream", [](const request& r) {
        return response::stream([&r](body_writer& out) -> task<void> {
            const std::string text(r.peer());
            co_await out.write(text);
        });
    });
    behind_proxy s(std::move(routes));
    CHECK(s.exchange("GET / HTTP/1.1\r\nHost: inner\r\n\r\n")
              .ends_with("\r\n10.0.0.1:80 inner http\n"));
    CHECK(s.logged() == "10.0.0.1:80");
    const std::string said = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n"
                             "X-Forwarded-Host: a.example\r\n\r\n";
    CHECK(s.exchange("GET / HTTP/1.1\r\nHost: inner\r\n" + said)
              .ends_with("\r\n192.0.2.1 a.example https\n"));
    CHECK(s.logged() == "192.0.2.1");
    CHECK(s.exchange("GET /stream HTTP/1.1\r\nHost: inner\r\n" + said)
              .ends_with("\r\n9\r\n192.0.2.1\r\n0\r\n\r\n"));
    CHECK(s.logged() == "192.0.2.1");
    CHECK(s.exchange("GET /none HTTP/1.1\r\nHost: inner\r\n" + said).starts_with("HTTP/1.1 404"));
    CHECK(s.logged() == "192.0.2.1");
    const std::string wrong =
        s.exchange("GET / HTTP/1.1\r\nHost: inner\r\nX-Forwarded-For: x\r\n\r\n");
    CHECK(wrong.starts_with("HTTP/1.1 400 Bad Request\r\n"));
    CHECK(s.logged() == "10.0.0.1:80");
    CHECK(s.exchange("GET / HTTP/1.1\r\nHost: inner\r\n\r\n")
              .ends_with("\r\n10.0.0.1:80 inner http\n"));
}

TEST_CASE("a page that says it came by another host is none the wiser for it") {
    const auto by = std::make_shared<const guard>(guard_options{.allowed_hosts = {"a.example"}});
    router api;
    api.get("/", [] { return response::text("in\n"); }).use(guard::around(by));
    router routes;
    routes.use(trusted_proxies({.from = inside})).mount("", std::move(api));
    behind_proxy s(std::move(routes));
    const auto status = [&s](std::string_view host, std::string_view said) {
        return s
            .exchange("GET / HTTP/1.1\r\nHost: " + std::string(host) +
                      "\r\nX-Forwarded-Host: " + std::string(said) + "\r\n\r\n")
            .substr(9, 3);
    };
    CHECK(status("localhost", "a.example") == "200");
    CHECK(status("localhost", "evil.example") == "421");
    CHECK(status("evil.example", "localhost") == "421");
}

} // namespace rota::http
