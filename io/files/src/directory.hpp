#pragma once

#include <cerrno>
#include <string>
#include <utility>

namespace rota::http {

/// A descriptor that is closed with its owner.
class descriptor {
public:
    explicit descriptor(int fd = -1) noexcept : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
    descriptor& operator=(descriptor&& other) noexcept {
        descriptor taken(std::move(other)); // and goes with what was here
        std::swap(fd_, taken.fd_);
        return *this;
    }
    ~descriptor();
    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_;
};

/// What `open` returns, or -errno; it is called again when a signal has interrupted it.
template <class Open>
int uninterrupted(const Open& open) noexcept {
    for (;;) {
        const auto fd = open();
        if (fd >= 0)
            return static_cast<int>(fd);
        if (errno != EINTR)
            return -errno;
    }
}

/// The directory below which files are served. Any thread.
class directory {
public:
    /// Throws std::system_error. Without `by_openat2` it does as where the kernel, or a filter, has
    /// none.
    explicit directory(const std::string& path, bool by_openat2 = true);

    enum class effort : unsigned char { wait, only_cached };

    /// Opens what is at `path`, relative and without a "..", with `flags` of open(2): a descriptor,
    /// or -errno: -EXDEV if it is not below, -EAGAIN if it would have to wait and shall not.
    /// Symbolic links are followed.
    [[nodiscard]] int open(const std::string& path, int flags, effort how) const noexcept;

private:
    [[nodiscard]] int open_and_look(const char* path, int flags) const noexcept;
    [[nodiscard]] bool is_below(int fd) const noexcept;

    descriptor fd_;
    bool by_openat2_;
};

} // namespace rota::http
