#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <rota/http/method.hpp>

namespace rota::http {

/// A piece of a request head, as an offset, so that the head can be moved without touching what
/// points into it.
struct text_span {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
};

struct field_span {
    text_span name;
    text_span value;
};

struct header_field {
    std::string_view name;
    std::string_view value;
};

/// The fields of a header or trailer section in the order of arrival. A view: copies are cheap, and
/// it lives as long as the request it came from. Names compare without regard to case (RFC 9110
/// section 5.1).
class header_list {
public:
    header_list(const char* base, const std::vector<field_span>& fields) noexcept
        : base_(base), fields_(fields.data()), size_(fields.size()) {}

    class iterator {
    public:
        using value_type = header_field;
        using difference_type = std::ptrdiff_t;
        iterator() = default;
        iterator(const char* base, const field_span* at) noexcept : base_(base), at_(at) {}
        header_field operator*() const noexcept {
            return {{base_ + at_->name.offset, at_->name.size},
                    {base_ + at_->value.offset, at_->value.size}};
        }
        iterator& operator++() noexcept {
            ++at_;
            return *this;
        }
        iterator operator++(int) noexcept {
            iterator old = *this;
            ++at_;
            return old;
        }
        bool operator==(const iterator& other) const noexcept { return at_ == other.at_; }

    private:
        const char* base_ = nullptr;
        const field_span* at_ = nullptr;
    };

    [[nodiscard]] iterator begin() const noexcept { return {base_, fields_}; }
    [[nodiscard]] iterator end() const noexcept { return {base_, fields_ + size_}; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Returns the value of the first field of that name.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;

private:
    const char* base_;
    const field_span* fields_;
    std::size_t size_;
};

/// The four forms of a request target (RFC 9112 section 3.2).
enum class target_form : std::uint8_t { origin, absolute, authority, asterisk };

/// The contents of a request head, except its fields. `base` is where its bytes are at the moment.
struct head_values {
    const char* base = nullptr;
    text_span target;
    text_span unknown_method; // as it was sent, if it is none of method's
    text_span path;           // still percent-encoded; empty means "/"
    text_span query;          // without the '?'
    text_span host;           // from an absolute target, else from the Host field
    std::uint64_t content_length = 0;
    http::method method = http::method::get;
    target_form form = target_form::origin;
    std::uint8_t major = 1;
    std::uint8_t minor = 1; // HTTP/1.minor; 1 in HTTP/2, which can do what 1.1 can
    bool has_content_length = false;
    bool chunked = false;
    bool keep_alive = true; // what the client wishes
    bool expects_continue = false;
    bool of_https = false;     // an absolute target of that scheme
    bool path_escaped = false; // the path holds percent-escapes, all of them valid
    // Read to its end and right, but not for any handler: with what status the router answers it,
    // 501 for an unknown method, 417 for an unknown expectation; or 0.
    std::uint16_t unfit = 0;
};

/// A parsed and checked request head. Owned by the parser.
struct request_head : head_values {
    std::vector<field_span> fields;

    /// Makes it new again, but the fields keep their memory.
    void reset() noexcept {
        static_cast<head_values&>(*this) = {};
        fields.clear();
    }

    [[nodiscard]] std::string_view text(text_span span) const noexcept {
        return {base + span.offset, span.size};
    }
    /// Returns the protocol's name: "HTTP/1.1".
    [[nodiscard]] std::string_view protocol() const noexcept {
        return major == 2 ? "HTTP/2" : minor == 0 ? "HTTP/1.0" : "HTTP/1.1";
    }
    [[nodiscard]] bool has_body() const noexcept { return chunked || content_length > 0; }
    [[nodiscard]] header_list headers() const noexcept { return {base, fields}; }
};

} // namespace rota::http
