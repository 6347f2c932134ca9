#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace jobload {

/// Appends one word of a command as Redis wants it; a command begins with command_of(words).
void append_word(std::string& to, std::string_view word);
[[nodiscard]] std::string command_of(std::size_t words);

/// Where the reply that begins at `from` ends; nothing if it is not whole yet. Throws
/// std::runtime_error for an error that the server tells, and for what is no reply.
[[nodiscard]] std::optional<std::size_t> reply_end(std::string_view text, std::size_t from);

/// The first string in a reply that is whole, in an array or not, that is longer than `longer`;
/// nothing if there is none.
[[nodiscard]] std::optional<std::string_view> bulk_of(std::string_view reply, std::size_t longer);

} // namespace jobload
