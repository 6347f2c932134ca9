#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace rota::io {

/// Bytes that do not change, and that any number of queues share: one allocation, however many
/// copies there are, freed with the last copy. Copying counts references; any thread.
class shared_bytes {
public:
    /// Holds no bytes.
    shared_bytes() noexcept = default;
    /// Copies `bytes`, or `pieces` as if they were one. Throws std::bad_alloc.
    explicit shared_bytes(std::string_view bytes) : shared_bytes({bytes}) {}
    explicit shared_bytes(std::initializer_list<std::string_view> pieces);
    /// Refers to the `size` bytes that begin at `bytes`, whatever holds them; they must not change
    /// any more.
    shared_bytes(std::shared_ptr<const char[]> bytes, std::size_t size) noexcept
        : bytes_(std::move(bytes)), size_(size) {}
    /// Takes over a string, without a copy of its content. Throws std::bad_alloc, and leaves
    /// `bytes` as it was.
    [[nodiscard]] static shared_bytes take(std::string&& bytes);
    /// Refers to bytes in static storage, which are not copied.
    [[nodiscard]] static shared_bytes of_static(std::string_view bytes) noexcept {
        return {std::shared_ptr<const char[]>(std::shared_ptr<void>(), bytes.data()), bytes.size()};
    }

    [[nodiscard]] std::string_view view() const noexcept { return {bytes_.get(), size_}; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Returns some of them, which keep all of them alive: `some` is a part of view().
    [[nodiscard]] shared_bytes part(std::string_view some) const noexcept {
        return {std::shared_ptr<const char[]>(bytes_, some.data()), some.size()};
    }

private:
    std::shared_ptr<const char[]> bytes_;
    std::size_t size_ = 0;
};

} // namespace rota::io
