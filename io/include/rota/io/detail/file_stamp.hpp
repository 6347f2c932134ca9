#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <sys/stat.h>

namespace rota::io::detail {

/// What a file looks like: shows that it has been written to, or that another is in its place (man
/// 3 stat). Two changes within a tick of the file system's clock look like one (man 7 inode).
struct file_stamp {
    /// Reads that of the file that is there now; all 0 if there is none.
    explicit file_stamp(const std::string& path) noexcept;
    explicit file_stamp(const struct stat& of) noexcept;
    bool operator==(const file_stamp&) const = default;

    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::array<std::int64_t, 2> modified{}; // seconds, nanoseconds: its content
    std::array<std::int64_t, 2> changed{};  // the same: whatever of it
};

} // namespace rota::io::detail
