#include "port_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "units.hpp"

namespace rota_http {
namespace {

/// The number of a file may be used again once it is gone.
bool same(const struct stat& one, const struct stat& other) noexcept {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino &&
           one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
           one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

/// Nothing there, an empty file, or one with a port may be replaced. What holds something else was
/// not meant.
void refuse_others(const std::string& path) {
    const auto refuse = [&path](int error, const char* why) {
        throw std::system_error(error, std::system_category(), "cannot write " + path + why);
    };
    struct stat there {};
    if (::lstat(path.c_str(), &there) != 0)
        return;
    if (!S_ISREG(there.st_mode)) // it would take the place of a device, and be removed in the end
        refuse(EINVAL, ", which is no regular file");
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        refuse(errno, ", for it is there and cannot be read");
    std::array<char, sizeof "65535\n"> start{};
    const ssize_t bytes = ::read(fd, start.data(), start.size());
    const int error = errno;
    ::close(fd);
    if (bytes < 0)
        refuse(error, ", for it is there and cannot be read");
    std::string_view text(start.data(), static_cast<std::size_t>(bytes));
    if (text.ends_with('\n'))
        text.remove_suffix(1);
    const std::optional<std::uint64_t> port = parse_number(text);
    if (bytes != 0 && (!port || *port > std::numeric_limits<std::uint16_t>::max()))
        refuse(EEXIST, ", which holds something else than a port");
}

/// Writes it all and closes it.
bool write_and_close(int fd, const std::string& text, struct stat& written) noexcept {
    // A port is not a secret: any user that may look into the directory may read it.
    constexpr mode_t readable = 0644;
    const bool whole = ::fchmod(fd, readable) == 0 &&
                       ::write(fd, text.data(), text.size()) == std::ssize(text) &&
                       ::fstat(fd, &written) == 0;
    const int error = errno;
    const bool closed = ::close(fd) == 0;
    if (!whole)
        errno = error;
    return whole && closed;
}

} // namespace

port_file::port_file(std::string path, std::uint16_t port) : path_(std::move(path)) {
    refuse_others(path_);
    std::string half = path_ + ".XXXXXX"; // a name that is nobody else's
    const int fd = ::mkostemp(half.data(), O_CLOEXEC);
    if (fd < 0 || !write_and_close(fd, std::to_string(port) + '\n', written_) ||
        std::rename(half.c_str(), path_.c_str()) != 0) {
        const int error = errno;
        if (fd >= 0)
            ::unlink(half.c_str());
        throw std::system_error(error, std::system_category(), "cannot write " + path_);
    }
}

port_file::~port_file() {
    struct stat there {};
    if (::lstat(path_.c_str(), &there) == 0 && same(there, written_))
        ::unlink(path_.c_str());
}

} // namespace rota_http
