#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "session_driver.hpp"

namespace rota::http::test {

/// An answer of a session, as text.
struct answered {
    std::string text;
    [[nodiscard]] std::string status() const { return text.substr(9, 3); }
    /// "-" for one that is not there; "TWICE" for one that is there twice.
    [[nodiscard]] std::string field(std::string_view name) const {
        const std::string begin = "\r\n" + std::string(name) + ": ";
        const std::size_t at = text.find(begin);
        if (at == std::string::npos)
            return "-";
        if (text.find(begin, at + 1) != std::string::npos)
            return "TWICE";
        return text.substr(at + begin.size(), text.find("\r\n", at + 2) - at - begin.size());
    }
    [[nodiscard]] std::string content() const { return text.substr(text.find("\r\n\r\n") + 4); }
};

/// Sends a request without content; `fields` end in CRLF each.
inline answered ask(session_driver& to, std::string_view line, std::string_view fields = "") {
    return {
        to.exchange(std::string(line) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n")};
}

} // namespace rota::http::test
