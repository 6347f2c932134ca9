#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rota/http/form_step.hpp>

namespace rota::http {

/// Reads application/x-www-form-urlencoded content (WHATWG URL, "urlencoded parsing") from bytes
/// that come in pieces, cut anywhere: names and values, decoded. '+' is a space, what is not a
/// valid escape stays as it is, nothing between two '&' is skipped; so no content is malformed.
/// Bytes need not be UTF-8. Knows no socket, and holds one name at most. Used by one thread at a
/// time, as multipart_parser is.
class urlencoded_parser {
public:
    /// More parts, or a longer name, is a failure with 413.
    struct limits {
        std::size_t parts_max = 1'000;
        std::size_t name_bytes_max = 16'384; ///< decoded
    };

    urlencoded_parser() : urlencoded_parser(limits()) {}
    explicit urlencoded_parser(limits most) : limits_(most) {}

    /// Goes on to the next step, and takes what it used off the front of `input`.
    form_step next(std::string_view& input);
    /// Does the same, once there is no more input; call it until it returns `end` or `failed`.
    form_step finish();

    /// Returns, at `part`, its name. Valid until the next call.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Returns, at `data`, the piece. Valid until the next call.
    [[nodiscard]] std::string_view data() const noexcept { return data_; }
    [[nodiscard]] form_failure failure() const noexcept { return failure_; }

private:
    enum class state : std::uint8_t { between, name, value, ended, failed };

    form_step begin_name(std::string_view& input);
    form_step read_name(std::string_view& input);
    form_step read_value(std::string_view& input);
    form_step end_name();
    form_step end_value();
    void decode(std::string_view text);
    void decode_rest();
    form_step fail(const char* reason) noexcept;

    limits limits_;
    std::string name_;
    std::string text_;   // decoded, to be handed out or to become a name
    std::string escape_; // the beginning of one, at the end of the input so far
    std::string_view data_;
    form_failure failure_;
    std::size_t parts_ = 0;
    state state_ = state::between;
};

} // namespace rota::http
