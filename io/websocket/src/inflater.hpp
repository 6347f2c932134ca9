#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <rota/coding/decoder.hpp>

namespace rota::http::ws {

/// Decompresses the messages of one peer (RFC 7692 section 7.2.2), which may be hostile. What it
/// holds it makes when it is needed, and rest() gives up what is not.
class inflater {
public:
    enum class result : std::uint8_t { good, corrupt, too_big };

    /// `window_bits` 8 to 15. `keeps`: messages may refer to those before.
    inflater(int window_bits, bool keeps) noexcept;
    ~inflater();

    /// Takes off `in` the next bytes of a message, and appends to `out` what they come to: of many,
    /// no more than a step's worth. Stops as soon as `out` has more than `most` bytes. Throws
    /// std::bad_alloc.
    [[nodiscard]] result put(std::string_view& in, std::string& out, std::size_t most);
    /// The same behind the last of them: all that is left.
    [[nodiscard]] result end(std::string& out, std::size_t most);
    /// Between two messages: keeps no more than what the next one may refer to.
    void rest();
    /// Whether that gives anything up.
    [[nodiscard]] bool may_rest() const noexcept { return decoder_ != nullptr && at_end_; }
    /// Whether it has nothing that messages could refer to.
    [[nodiscard]] bool is_new() const noexcept {
        return decoder_ == nullptr && at_end_ && window_.empty();
    }
    /// About how many bytes of memory it holds.
    [[nodiscard]] std::size_t memory() const noexcept;

private:
    void make();

    const int window_bits_;
    const bool keeps_;
    bool at_end_ = true; // nothing of a block has come, so none is to be ended
    std::unique_ptr<coding::decoder> decoder_;
    std::string window_; // while it rests: what decoder_ may refer to
};

} // namespace rota::http::ws
