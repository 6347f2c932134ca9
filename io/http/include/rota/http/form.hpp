#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <rota/http/multipart.hpp>
#include <rota/http/request.hpp>
#include <rota/http/urlencoded.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// Decides whether a form may keep more, where many at once would keep too much.
class form_memory {
public:
    /// Called when `bytes` bytes are kept in all, or are about to be; again for every 64 KiB or so.
    /// Throws, as http_error(503), if that is too much.
    virtual void reach(std::uint64_t bytes) = 0;

protected:
    ~form_memory() = default;
};

/// How much of a form is accepted; more is a 413.
struct form_limits {
    std::size_t parts_max = 1'000;           ///< fields and files
    std::size_t head_bytes_max = 16'384;     ///< of a part, and of a name in urlencoded content
    std::size_t value_bytes_max = 1'048'576; ///< of a field
    /// Names, values, and the files that form::read() keeps, in all.
    std::uint64_t kept_bytes_max = 16'777'216;
    /// If set, form::read() asks it instead of body_reader::keep(). Outlives the read.
    form_memory* memory = nullptr;
    /// The content, as for request::body().limit(); files that are not kept have no other bound.
    std::uint64_t content_bytes_max = std::numeric_limits<std::uint64_t>::max();
    /// Escapes in names of files stand for bytes, as RFC 7578 section 2 offers; else only "%22",
    /// "%0D" and "%0A", which is all that browsers write.
    bool percent_filenames = true;
};

/// What is known of a field or a file.
struct form_part {
    std::string name; ///< may be empty or have controls in it, and need not be UTF-8
    /// Of a file: the client's name for it, which may be anything ("../../etc/passwd", "", controls
    /// but NUL).
    std::optional<std::string> filename;
    /// Its Content-Type, without comments; "text/plain" if there is none (RFC 7578 section 4.4).
    std::string type = "text/plain";

    [[nodiscard]] bool is_file() const noexcept { return filename.has_value(); }

    /// Reads the lines of a part's head (multipart_parser::head()), as RFC 7578 section 4.2 and
    /// HTML have it: a backslash in quotes escapes a quote or another one, unless the field is
    /// malformed then; in that case none does, as in what browsers send. Throws http_error(400) for
    /// lines that are not fields, and where Content-Disposition is missing, there twice, not
    /// "form-data" or without a name.
    [[nodiscard]] static form_part parse(std::string_view head, bool percent_filenames = true);
};

/// Reads a form part by part, in memory that does not depend on how long it is:
///
///     http::form_reader parts(r);
///     while (const auto part = co_await parts.next()) {
///         std::string_view piece = co_await parts.read();
///         ...
///
/// Content is application/x-www-form-urlencoded or multipart/form-data (RFC 7578). Belongs to the
/// handler; the request outlives it.
///
/// All calls that read throw http_error (400 for content that is malformed, 413 beyond a limit) and
/// what body_reader::read() throws.
class form_reader {
public:
    /// Throws http_error: 415 for content of another type, 400 for a missing or invalid boundary.
    explicit form_reader(request& from, form_limits most = {});

    /// Returns the next part, past what is left of the one before; nothing at the end.
    task<std::optional<form_part>> next();
    /// Returns the next piece of the part's content; an empty one at its end, and in later calls.
    /// Valid until the next call.
    task<std::string_view> read();
    /// Returns what is left of it, whole; 413 for more than `bytes_max`. See body_reader::keep().
    task<std::string> text(std::size_t bytes_max);
    /// Does the same for a field: as long as its limit.
    task<std::string> text() { return text(limits_.value_bytes_max); }
    /// Writes what is left of it to a descriptor of a file, beside the workers (`blocking()`), and
    /// returns how much that was. Throws std::system_error, too: the disk is full.
    task<std::uint64_t> save(int descriptor);

    [[nodiscard]] bool is_multipart() const noexcept { return parser_.index() == 1; }

private:
    task<form_step> step();
    [[nodiscard]] std::string_view data() const noexcept;

    body_reader* body_;
    form_limits limits_;
    std::variant<urlencoded_parser, multipart_parser> parser_;
    std::string_view input_;
    std::uint64_t kept_bytes_ = 0; // by text()
    bool body_ended_ = false;
    bool in_part_ = false;
};

/// A form that is there as a whole.
struct form {
    struct field {
        std::string name;
        std::string value;
    };
    struct file {
        std::string name;
        std::string filename;
        std::string type;
        std::string content;
    };
    std::vector<field> fields; ///< in their order; a name may be there several times
    std::vector<file> files;

    /// Returns the first field of that name, or null.
    [[nodiscard]] const std::string* find(std::string_view name) const noexcept;
    /// Returns the first file of that name, or null.
    [[nodiscard]] const file* find_file(std::string_view name) const noexcept;
    /// Returns the field as a T, as request::query<T>() does. Throws http_error(400) for one that
    /// is there and is not that.
    template <class T>
    [[nodiscard]] std::optional<T> value(std::string_view name) const {
        const std::string* const text = find(name);
        if (text == nullptr)
            return std::nullopt;
        return detail::value_of<T>("field", name, *text);
    }
    /// Returns a field that has to be there: http_error(400) where there is none.
    template <class T>
    [[nodiscard]] T required(std::string_view name) const {
        std::optional<T> found = value<T>(name);
        if (!found)
            detail::fail_missing("field", name, text_value<T>::expected());
        return *std::move(found);
    }

    /// Called for files that are not to be kept: it reads, or saves, the content of the part at
    /// hand; what it leaves is skipped.
    using file_taker = std::function<task<void>(const form_part&, form_reader&)>;

    /// Does what request::form() does; with a taker `files` stays empty. Fields in the text that
    /// "_charset_" or their Content-Type names (ISO-8859-1, windows-1252) become UTF-8; others are
    /// as they came.
    static task<form> read(request* from, form_limits most = {}, file_taker on_file = {});
};

} // namespace rota::http
