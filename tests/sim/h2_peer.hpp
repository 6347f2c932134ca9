#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

/// A frame of HTTP/2 (RFC 9113 section 4.1).
struct h2_frame {
    enum kind : unsigned {
        data = 0,
        headers = 1,
        rst_stream = 3,
        settings = 4,
        ping = 6,
        goaway = 7,
        window_update = 8,
        continuation = 9,
    };
    enum flag : unsigned { ack = 1, end_stream = 1, end_headers = 4, padded = 8 };

    unsigned what = data;
    unsigned flags = 0;
    std::uint32_t stream = 0;
    std::string payload{};

    /// Four bytes of the payload as a number, which have to be there.
    [[nodiscard]] std::uint32_t number(std::size_t at = 0) const;
};

std::string h2_bytes(const h2_frame& f);
/// A number as it stands in payloads.
std::string h2_number(std::uint32_t value, std::size_t bytes = 4);

/// Takes a server's frames out of bytes: a reader of its own.
class h2_reader {
public:
    void feed(std::string_view bytes) {
        unread_.erase(0, std::exchange(taken_, 0));
        unread_ += bytes;
    }
    /// The next whole frame; one that is too long fails the run.
    std::optional<h2_frame> next();

private:
    std::string unread_;
    std::size_t taken_ = 0; // of that
};

// -- HPACK (RFC 7541), as much of it as is needed without a table that changes

/// A field as a literal without indexing.
std::string hpack_field(std::string_view name, std::string_view value);

struct hpack_head {
    int status = 0;
    std::optional<std::size_t> length; ///< content-length
    std::string id{};                  ///< x-request-id
};
/// What matters of an answer's fields, which must not use the dynamic table; else it fails the run.
hpack_head read_hpack(std::string_view block);

} // namespace sim
