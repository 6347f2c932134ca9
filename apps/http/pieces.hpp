#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota_http {

/// Text that grows, in several strings: one that grows has room for up to twice of what it holds,
/// and leaves what it was behind. Here there is room for the next multiple of `step`, and no more.
/// Used by one thread at a time.
class pieces {
public:
    explicit pieces(std::size_t step) : step_(step) {}

    void append(std::string_view text) {
        if (all_.empty()) { // mostly this is all that comes
            all_.emplace_back(text.substr(0, step_));
            size_ = all_.back().size();
            text.remove_prefix(size_);
        }
        while (!text.empty()) {
            if (all_.back().size() == all_.back().capacity()) {
                all_.emplace_back();
                all_.back().reserve(step_ - size_ % step_);
            }
            std::string& last = all_.back();
            const std::size_t part = std::min(text.size(), last.capacity() - last.size());
            last.append(text.substr(0, part));
            text.remove_prefix(part);
            size_ += part;
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// All of it, in order; may be empty.
    [[nodiscard]] std::vector<std::string> take() && noexcept { return std::move(all_); }

private:
    std::size_t step_;
    std::size_t size_ = 0;
    std::vector<std::string> all_;
};

} // namespace rota_http
