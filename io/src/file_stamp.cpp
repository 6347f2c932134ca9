#include <rota/io/detail/file_stamp.hpp>

namespace rota::io::detail {

file_stamp::file_stamp(const struct stat& of) noexcept
    : device(of.st_dev), inode(of.st_ino),
      size(of.st_size), modified{of.st_mtim.tv_sec, of.st_mtim.tv_nsec}, changed{
                                                                             of.st_ctim.tv_sec,
                                                                             of.st_ctim.tv_nsec} {}

file_stamp::file_stamp(const std::string& path) noexcept {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0)
        *this = file_stamp(found);
}

} // namespace rota::io::detail
