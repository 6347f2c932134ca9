#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "io/coding/coders.hpp"

namespace rota::http::test {

/// An answer as it came, its content without chunks and codings.
struct answer_read {
    std::string head;
    std::string raw; // without chunks
    int status = 0;

    explicit answer_read(std::string_view bytes)
        : head(bytes.substr(0, bytes.find("\r\n\r\n") + 2)),
          raw(bytes.substr(bytes.find("\r\n\r\n") + 4)), status(std::stoi(head.substr(9, 3))) {
        if (field("Transfer-Encoding") == "chunked")
            raw = unchunked(raw);
    }

    /// "-" for one that is not there; "TWICE" for one that is there twice.
    [[nodiscard]] std::string field(std::string_view name) const {
        const std::string begin = "\r\n" + std::string(name) + ": ";
        const std::size_t at = head.find(begin);
        if (at == std::string::npos)
            return "-";
        if (head.find(begin, at + 1) != std::string::npos)
            return "TWICE";
        return head.substr(at + begin.size(), head.find("\r\n", at + 2) - at - begin.size());
    }

    [[nodiscard]] std::string text() const {
        const std::string how = field("Content-Encoding");
        for (const coding::format each : coding::test::available_formats()) {
            if (how == coding::to_string(each)) {
                const auto found = coding::test::decode(*coding::make_decoder({.from = each}), raw);
                return found.now == coding::decoder::state::ended ? found.text : "CUT";
            }
        }
        return raw;
    }

    static std::string unchunked(std::string_view rest) {
        std::string all;
        while (!rest.empty()) {
            const std::size_t size = std::stoul(std::string(rest), nullptr, 16);
            rest.remove_prefix(rest.find("\r\n") + 2);
            if (size == 0)
                return all + std::string(rest.substr(2)); // nothing, if all is right
            all.append(rest.substr(0, size));
            rest.remove_prefix(size + 2);
        }
        return all + "<no end>";
    }
};

} // namespace rota::http::test
