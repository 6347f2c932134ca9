#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <rota/http/server.hpp>

#include "peer.hpp"

namespace sim {

struct answer {
    int status = 0;
    std::string body;
    bool closes = false; ///< "Connection: close"
    std::string head{};  ///< without its end

    /// The value of a field, by the server's own spelling of its name; empty if there is none.
    [[nodiscard]] std::string_view field(std::string_view name) const;
};

/// So many bytes, of which no two parts of some length are alike.
std::string pattern(std::size_t size);

/// Takes answers out of the bytes of a connection. A reader of its own, so that what the server
/// writes is not judged by the server's own code.
class answer_reader {
public:
    void feed(std::string_view bytes) {
        unread_.erase(0, std::exchange(taken_, 0));
        unread_ += bytes;
    }
    /// The next whole answer. What is no answer fails the run.
    std::optional<answer> next();
    /// The next head alone, to its end: of an answer behind which there may be anything.
    std::optional<std::string> head();
    /// All that has not been taken, which is taken so.
    std::string rest();
    [[nodiscard]] bool empty() const noexcept { return unread_.size() == taken_; }

private:
    std::string unread_;
    std::size_t taken_ = 0; // of that
};

/// One request of HTTP/1.1, its content in chunks if it is to be.
std::string request_text(std::string_view method, std::string_view target,
                         std::string_view content = {}, bool chunked = false,
                         std::string_view fields = {});

/// The next answer of the server to `p`; nothing if the connection ends first, or `until` comes.
std::optional<answer> next_answer(peer& p, answer_reader& reader, nanoseconds pause,
                                  time_point until = never);

/// Options of a server of so many connections that has all the time there is, but for a drain.
rota::http::server_options patient_options(std::size_t connections_max);

} // namespace sim
