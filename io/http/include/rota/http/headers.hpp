#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rota/http/request_head.hpp>

namespace rota::http {

/// The header fields of a response, in the form in which they are sent. A value; used by one thread
/// at a time.
///
/// A name that is not a token, or a value with a control character other than a tab (so CR, LF and
/// NUL), throws std::invalid_argument: nothing that a client sent can be turned into a field or a
/// response of its own. The fields that say where a message ends and what happens to the connection
/// (Content-Length, Transfer-Encoding, Connection, Keep-Alive) are the server's and throw too;
/// Connection is decided by response::close(). TE and Proxy-Connection, which have no meaning in an
/// answer, are left out. Small sets of fields need no allocation.
class headers {
public:
    /// Adds a field, also if there is one of that name (Set-Cookie). Does what set() does for a
    /// field that has one value, such as Content-Type: two of it are malformed (RFC 9110 section
    /// 5.3).
    void add(std::string_view name, std::string_view value);
    /// Replaces every field of that name.
    void set(std::string_view name, std::string_view value);
    /// Removes every field of that name; returns true if there was one.
    bool remove(std::string_view name);

    /// Returns the value of the first field of that name; valid until the next change.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
    [[nodiscard]] bool empty() const noexcept { return wire().empty(); }
    /// Returns whether there is a Date; else the server adds it.
    [[nodiscard]] bool has_date() const noexcept { return has_date_; }
    /// Returns whether there is an Upgrade, which Connection has to name on its way (RFC 9110
    /// section 7.8).
    [[nodiscard]] bool has_upgrade() const noexcept { return has_upgrade_; }
    /// Returns every field as "Name: value\r\n".
    [[nodiscard]] std::string_view wire() const noexcept {
        return inline_size_ > 0 ? std::string_view(inline_.data(), inline_size_)
                                : std::string_view(overflow_);
    }

    /// Appends lines that are known to be well-formed: literals of this library.
    void append_trusted(std::string_view lines);
    /// Appends a Content-Type that is known to be well-formed.
    void append_trusted_type(std::string_view type);

private:
    /// Returns `size` bytes after the lines, or null where there is no room for them.
    char* room_inline(std::size_t size) noexcept {
        if (!overflow_.empty() || inline_size_ + size > inline_capacity)
            return nullptr;
        char* const at = inline_.data() + inline_size_;
        inline_size_ = static_cast<std::uint8_t>(inline_size_ + size);
        return at;
    }
    void append_checked(std::string_view name, std::string_view value);
    void put_checked(std::string_view name, std::string_view value);
    void note(std::string_view name, bool there) noexcept;

    struct position {
        std::size_t start;
        std::size_t end;
        std::string_view value;
    };
    [[nodiscard]] std::optional<position> locate(std::string_view name) const noexcept;

    static constexpr std::size_t inline_capacity = 119;

    std::string overflow_; // all of them, once they do not fit
    std::array<char, inline_capacity> inline_;
    std::uint8_t inline_size_ = 0;
    bool has_date_ = false;
    bool has_upgrade_ = false;
};

} // namespace rota::http
