#include "port_file.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace rota_http {
namespace {

/// The number of a file may be used again once it is gone.
bool same(const struct stat& one, const struct stat& other) noexcept {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino &&
           one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
           one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

} // namespace

port_file::port_file(std::string path, std::uint16_t port) : path_(std::move(path)) {
    struct stat there {};
    if (::lstat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
        // It would take the place of a device, and be removed in the end.
        throw std::system_error(EINVAL, std::system_category(),
                                "cannot write " + path_ + ", which is no regular file");
    }
    const std::string half = path_ + ".new";
    ::unlink(half.c_str()); // of a program that was killed; nothing is written through a link
    std::FILE* const file = std::fopen(half.c_str(), "wxe");
    bool written = file != nullptr && std::fprintf(file, "%u\n", unsigned{port}) > 0 &&
                   std::fflush(file) == 0 && ::fstat(::fileno(file), &written_) == 0;
    if (file != nullptr)
        written &= std::fclose(file) == 0;
    if (!written || std::rename(half.c_str(), path_.c_str()) != 0) {
        const int error = errno;
        if (file != nullptr)
            ::unlink(half.c_str());
        throw std::system_error(error, std::system_category(), "cannot write " + path_);
    }
}

port_file::~port_file() {
    struct stat there {};
    if (::stat(path_.c_str(), &there) == 0 && same(there, written_))
        ::unlink(path_.c_str());
}

} // namespace rota_http
