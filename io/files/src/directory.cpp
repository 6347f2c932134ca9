#include "directory.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rota::http {
namespace {

int open_at(int directory, const char* path, int flags, std::uint64_t resolve) noexcept {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags);
    how.resolve = resolve;
    return uninterrupted([&] { return ::syscall(SYS_openat2, directory, path, &how, sizeof how); });
}

/// The name by which a descriptor's file is opened anew.
struct link_of {
    explicit link_of(int fd) noexcept {
        std::snprintf(text.data(), text.size(), "/proc/self/fd/%d", fd);
    }
    [[nodiscard]] const char* name() const noexcept { return text.data(); }
    std::array<char, 32> text;
};

/// Where the file behind a descriptor is; false if that is not known.
bool read_place(int fd, std::array<char, PATH_MAX>& buffer, std::string_view& place) noexcept {
    const ssize_t size = ::readlink(link_of(fd).name(), buffer.data(), buffer.size());
    if (size <= 0 || static_cast<std::size_t>(size) == buffer.size())
        return false;
    place = {buffer.data(), static_cast<std::size_t>(size)};
    return true;
}

} // namespace

descriptor::~descriptor() {
    if (fd_ >= 0)
        ::close(fd_);
}

directory::directory(const std::string& path, bool by_openat2) : by_openat2_(by_openat2) {
    fd_ = descriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd_.get() < 0)
        throw std::system_error(errno, std::system_category(), "cannot serve " + path);
    if (::faccessat(fd_.get(), ".", X_OK, AT_EACCESS) != 0) // nothing in it could be opened
        throw std::system_error(errno, std::system_category(), "cannot serve " + path);
    if (!by_openat2)
        return;
    const int probe = open_at(fd_.get(), ".", O_PATH | O_CLOEXEC, RESOLVE_BENEATH);
    by_openat2_ = probe >= 0;
    if (probe >= 0)
        ::close(probe);
}

int directory::open(const std::string& path, int flags, effort how) const noexcept {
    flags |= (flags & O_PATH) != 0 ? O_CLOEXEC : O_CLOEXEC | O_NOCTTY; // openat2 is strict
    const char* const name = path.empty() ? "." : path.c_str();
    if (!by_openat2_)
        return how == effort::only_cached ? -EAGAIN : open_and_look(name, flags);
    constexpr std::uint64_t beneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    const std::uint64_t resolve = how == effort::only_cached ? beneath | RESOLVE_CACHED : beneath;
    for (int tries = 0; tries < 8; ++tries) {
        const int fd = open_at(fd_.get(), name, flags, resolve);
        if (how == effort::only_cached)
            return fd == -EXDEV || fd == -EINVAL ? -EAGAIN : fd;
        if (fd == -EXDEV) // perhaps a link by an absolute path, which may stay inside
            return open_and_look(name, flags);
        if (fd != -EAGAIN) // a rename went on elsewhere
            return fd;
    }
    return open_and_look(name, flags);
}

/// Opens without a look at where it leads, so that nothing happens to what is there; then looks
/// where that is, and opens that very file.
int directory::open_and_look(const char* path, int flags) const noexcept {
    const descriptor there(
        uninterrupted([&] { return ::openat(fd_.get(), path, O_PATH | O_CLOEXEC); }));
    if (there.get() < 0)
        return there.get();
    if (!is_below(there.get()))
        return -EXDEV;
    const link_of link(there.get());
    return uninterrupted([&] { return ::open(link.name(), flags); });
}

bool directory::is_below(int fd) const noexcept {
    std::array<char, PATH_MAX> root_buffer;
    std::array<char, PATH_MAX> buffer;
    std::string_view root;
    std::string_view place;
    if (!read_place(fd_.get(), root_buffer, root) || !read_place(fd, buffer, place))
        return false;
    if (root == "/")
        return place.starts_with('/');
    return place == root || (place.starts_with(root) && place.substr(root.size()).starts_with('/'));
}

} // namespace rota::http
