#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace rota::io {

/// Bytes that do not change, and that any number of queues share: one allocation, however many
/// copies there are. They go when the last copy does. Copying counts references; any thread.
class shared_bytes {
public:
    /// None.
    shared_bytes() noexcept = default;
    /// A copy of `bytes`, or of `pieces` as if they were one. Throws std::bad_alloc.
    explicit shared_bytes(std::string_view bytes) : shared_bytes({bytes}) {}
    explicit shared_bytes(std::initializer_list<std::string_view> pieces);
    /// The `size` bytes that begin at `bytes`, whatever holds them: nobody changes them any more.
    shared_bytes(std::shared_ptr<const char[]> bytes, std::size_t size) noexcept
        : bytes_(std::move(bytes)), size_(size) {}
    /// Takes a string over, without a copy of what is in it. Throws std::bad_alloc, and `bytes` is
    /// as it was.
    [[nodiscard]] static shared_bytes take(std::string&& bytes);
    /// Bytes in static storage, which are not copied.
    [[nodiscard]] static shared_bytes of_static(std::string_view bytes) noexcept {
        return {std::shared_ptr<const char[]>(std::shared_ptr<void>(), bytes.data()), bytes.size()};
    }

    [[nodiscard]] std::string_view view() const noexcept { return {bytes_.get(), size_}; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Some of them, which keep all of them: `some` is a part of view().
    [[nodiscard]] shared_bytes part(std::string_view some) const noexcept {
        return {std::shared_ptr<const char[]>(bytes_, some.data()), some.size()};
    }

private:
    std::shared_ptr<const char[]> bytes_;
    std::size_t size_ = 0;
};

} // namespace rota::io
