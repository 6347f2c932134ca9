#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pace {

/// Reads the answers of one connection, in whatever pieces they come. It takes nothing but status
/// 200 with a Content-Length, and no byte more than that.
class answer_reader {
public:
    /// Takes what has arrived. True if the answer is whole now; the next piece begins another one.
    /// Throws std::runtime_error if it is not what it should be.
    bool take(std::string_view piece);

    /// Whether the last whole answer said that the connection ends with it.
    [[nodiscard]] bool last() const noexcept { return last_; }

private:
    void read_head(std::string_view head);

    std::string head_;                 // as much as there is of it
    std::optional<std::uint64_t> due_; // of the content, once the head was read
    bool last_ = false;
};

} // namespace pace
