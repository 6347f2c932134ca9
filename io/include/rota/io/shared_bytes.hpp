#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string_view>

namespace rota::io {

/// Bytes that do not change, and that any number of queues share: one allocation, however many
/// copies there are. Copying counts references; any thread.
class shared_bytes {
public:
    /// None.
    shared_bytes() noexcept = default;
    /// A copy of `bytes`, or of `pieces` as if they were one. Throws std::bad_alloc.
    explicit shared_bytes(std::string_view bytes) : shared_bytes({bytes}) {}
    explicit shared_bytes(std::initializer_list<std::string_view> pieces);

    [[nodiscard]] std::string_view view() const noexcept { return {bytes_.get(), size_}; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    std::shared_ptr<const char[]> bytes_;
    std::size_t size_ = 0;
};

} // namespace rota::io
