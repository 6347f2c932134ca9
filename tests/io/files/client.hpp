#pragma once

// A client of a directory, by way of a session of HTTP/1.1.

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <rota/http/files.hpp>
#include <rota/http/router.hpp>

#include "session_driver.hpp"
#include "tree.hpp"

namespace rota::http::test {

struct file_reply {
    int status = 0;
    std::map<std::string, std::string> fields;
    std::string body;

    [[nodiscard]] std::string field(const std::string& name) const {
        const auto found = fields.find(name);
        return found == fields.end() ? "" : found->second;
    }
};

class file_client {
public:
    explicit file_client(const tree& files, files_options options = {})
        : driver_(mounted(files, std::move(options))) {}

    file_reply ask(const std::string& method, const std::string& path,
                   const std::string& fields = "") {
        const std::string text =
            driver_.exchange(method + " /f" + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
        return parse(text);
    }
    file_reply get(const std::string& path, const std::string& fields = "") {
        return ask("GET", path, fields);
    }
    session_driver& driver() noexcept { return driver_; }

private:
    static router mounted(const tree& files, files_options options) {
        options.types_file = "";
        router routes;
        routes.mount("/f", http::files(files.root(), std::move(options)));
        return routes;
    }
    static file_reply parse(std::string_view text) {
        file_reply r;
        const std::size_t end = text.find("\r\n\r\n");
        if (!text.starts_with("HTTP/1.1 ") || end == std::string_view::npos)
            return r;
        r.status = std::stoi(std::string(text.substr(9, 3)));
        r.body = text.substr(end + 4);
        std::string_view head = text.substr(0, end + 2);
        for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
            const std::size_t line = head.find("\r\n", at);
            const std::string_view field = head.substr(at, line - at);
            const std::size_t colon = field.find(": ");
            r.fields.emplace(field.substr(0, colon), field.substr(colon + 2));
            at = line + 2;
        }
        return r;
    }

    session_driver driver_;
};

} // namespace rota::http::test
