#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct yyjson_doc;
struct yyjson_val;

namespace rota::json {

/// What is wrong with a text, and where: "... at byte 12". For the sender.
class parse_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

enum class kind : std::uint8_t { null, boolean, number, string, array, object };

[[nodiscard]] std::string_view to_string(kind k) noexcept;

/// A value in a document. A view: copies are cheap, and it lives as long as its document.
class value {
public:
    explicit value(yyjson_val* node) noexcept : node_(node) {}

    [[nodiscard]] json::kind kind() const noexcept;
    [[nodiscard]] bool is(json::kind k) const noexcept { return kind() == k; }
    /// Returns the characters of a string, UTF-8; empty for anything else.
    [[nodiscard]] std::string_view string() const noexcept;
    [[nodiscard]] std::optional<bool> boolean() const noexcept;
    /// Returns a number as it was written; empty for anything else.
    [[nodiscard]] std::string_view number_text() const noexcept;
    /// Returns a number that is written as an integer and fits; nothing for anything else.
    [[nodiscard]] std::optional<std::int64_t> integer() const noexcept;

    /// Returns the first member of that name; nothing if there is none, or if this is not an
    /// object.
    [[nodiscard]] std::optional<value> member(std::string_view name) const noexcept;
    /// Calls `visit(value)` for each element of an array, in order.
    template <class Visit>
    void each_element(Visit&& visit) const {
        std::size_t left = is(json::kind::array) ? size() : 0;
        for (yyjson_val* at = first(); left > 0; --left, at = after(at))
            visit(value(at));
    }
    /// Calls `visit(name, value)` for each member of an object, in the order in which they were
    /// written.
    template <class Visit>
    void each_member(Visit&& visit) const {
        std::size_t left = is(json::kind::object) ? size() : 0;
        for (yyjson_val* at = first(); left > 0; --left, at = after(of_name(at)))
            visit(value(at).string(), value(of_name(at)));
    }
    /// Returns how many elements an array has, or members an object; 0 for anything else.
    [[nodiscard]] std::size_t size() const noexcept;

    /// Appends it as JSON without white space; members in their order, numbers as they were
    /// written.
    void append_text(std::string& out) const { append(out, false); }
    /// Does what append_text() does, but the members of objects are sorted by their names' bytes:
    /// two texts of one value become the same (except for numbers, which stay as they were
    /// written).
    void append_canonical(std::string& out) const { append(out, true); }

private:
    [[nodiscard]] yyjson_val* first() const noexcept;
    [[nodiscard]] static yyjson_val* after(yyjson_val* node) noexcept;
    [[nodiscard]] static yyjson_val* of_name(yyjson_val* name) noexcept;
    void append(std::string& out, bool sorted) const;
    void append_members(std::string& out, bool sorted) const;

    yyjson_val* node_;
};

/// The most that is parsed. A text takes up to 16 bytes of memory for each of its own.
struct limits {
    std::size_t bytes_max = std::size_t{64} << 20;
    std::size_t depth_max = 100; ///< arrays and objects inside each other
};

/// A parsed JSON text (RFC 8259). The one place that knows the parser behind it.
class document {
public:
    /// Parses `text`, which is not kept. Throws parse_error for what is not JSON, not UTF-8, or
    /// beyond the limits.
    static document parse(std::string_view text, const limits& most = {});

    [[nodiscard]] value root() const noexcept;

private:
    struct release {
        void operator()(yyjson_doc* doc) const noexcept;
    };
    explicit document(yyjson_doc* doc) noexcept : doc_(doc) {}
    std::unique_ptr<yyjson_doc, release> doc_;
};

} // namespace rota::json
