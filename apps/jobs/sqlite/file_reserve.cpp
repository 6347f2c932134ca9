#include "file_reserve.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace jobs {
namespace {

constexpr std::uint64_t bytes_min = 65'536;

/// On the disk that `path` is to be on; nothing if that cannot be told.
std::filesystem::space_info space_at(const std::string& path) noexcept {
    try {
        return std::filesystem::space(("." / std::filesystem::path(path)).parent_path());
    } catch (const std::exception&) { // no memory is an answer, too
        return {};
    }
}

/// For this user.
std::uint64_t free_bytes(const std::string& path) noexcept { return space_at(path).available; }

/// This process may write (man 2 setrlimit): beyond it, it would be ended by SIGXFSZ.
std::uint64_t largest_file() noexcept {
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    return limit.rlim_cur;
}

} // namespace

file_reserve::file_reserve(std::string path, std::uint64_t bytes_max)
    : path_(std::move(path)), bytes_max_(std::min(bytes_max, largest_file() / 4)) {
    struct stat left {};
    const bool there = ::stat(path_.c_str(), &left) == 0 && S_ISREG(left.st_mode);
    const std::uint64_t size = there ? static_cast<std::uint64_t>(left.st_size) : 0;
    const std::uint64_t holds = there ? static_cast<std::uint64_t>(left.st_blocks) * 512 : 0;
    bytes_ = std::min(size, bytes_max_);
    plan(free_bytes(path_) + std::min(holds, size));
    // One that has been given up, or was not finished, has holes.
    held_ = there && size == bytes_ && holds >= bytes_;
}

/// It does not become smaller: where there is less room, it is not made.
void file_reserve::plan(std::uint64_t room) noexcept {
    const std::uint64_t share = std::clamp(room / 4, std::min(bytes_min, bytes_max_), bytes_max_);
    bytes_ = std::max(bytes_, share / reserve_unit_bytes * reserve_unit_bytes);
}

bool file_reserve::keep() noexcept {
    if (held_ || impossible_)
        return true;
    const std::uint64_t room = free_bytes(path_);
    plan(room);
    if (room < bytes_ + bytes_ / 4)
        return false;
    const int failed = make();
    held_ = failed == 0;
    impossible_ = !held_ && failed != ENOSPC && failed != EDQUOT && failed != EFBIG;
    return held_ || impossible_;
}

int file_reserve::make() noexcept {
    if (largest_file() < bytes_)
        return EFBIG;
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    const int failed = ::posix_fallocate(file, 0, static_cast<off_t>(bytes_));
    ::close(file);
    if (failed != 0)
        (void)empty();
    return failed;
}

/// What is left of the file holds nothing, and its size tells the next process what it is to be.
bool file_reserve::empty() noexcept {
    if (::truncate(path_.c_str(), 0) != 0)
        return ::unlink(path_.c_str()) == 0;
    if (largest_file() >= bytes_)
        (void)!::truncate(path_.c_str(), static_cast<off_t>(bytes_));
    return true;
}

bool file_reserve::give_up() noexcept {
    if (!held_)
        return false;
    held_ = !empty();
    return !held_;
}

bool file_reserve::grow(std::uint64_t bytes) noexcept {
    const std::uint64_t pages =
        (std::min(bytes, bytes_max_) + reserve_unit_bytes - 1) / reserve_unit_bytes;
    if (pages * reserve_unit_bytes <= bytes_ || !held_)
        return true;
    const std::uint64_t before = std::exchange(bytes_, pages * reserve_unit_bytes);
    if (free_bytes(path_) >= bytes_ - before + bytes_ / 4 && extend(before))
        return true;
    bytes_ = before;
    return false;
}

/// What it holds already it keeps, however that comes out.
bool file_reserve::extend(std::uint64_t from) noexcept {
    if (largest_file() < bytes_)
        return false;
    const int file = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const int failed =
        ::posix_fallocate(file, static_cast<off_t>(from), static_cast<off_t>(bytes_ - from));
    if (failed != 0)
        (void)!::ftruncate(file, static_cast<off_t>(from));
    ::close(file);
    return failed == 0;
}

bool file_reserve::fits(std::uint64_t size) const noexcept {
    const std::uint64_t largest = largest_file();
    return largest - std::min(largest, size) >= bytes_;
}

bool file_reserve::leaves_room(std::uint64_t size, std::uint64_t growth) const noexcept {
    if (held_)
        return fits(size);
    // `free` counts what the system keeps for root, which a process of root may use.
    const bool tight = !impossible_ && space_at(path_).free < growth + bytes_ / 4;
    return size <= largest_file() && !tight;
}

} // namespace jobs
