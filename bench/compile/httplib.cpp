// The README's first server by cpp-httplib: a parameter, and content that is sent back.
#include <httplib.h>

int main() {
    httplib::Server routes;
    routes.Get(R"(/hello/([^/]+))", [](const httplib::Request& r, httplib::Response& answer) {
        answer.set_content("Hello, " + r.matches[1].str() + "!\n", "text/plain");
    });
    routes.Post("/echo", [](const httplib::Request& r, httplib::Response& answer) {
        answer.set_content(r.body, "text/plain");
    });
    return routes.listen("127.0.0.1", 8080) ? 0 : 1;
}
