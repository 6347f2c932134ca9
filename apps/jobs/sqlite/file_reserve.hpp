#pragma once

#include <cstdint>
#include <string>

namespace jobs {

/// What a reserve is counted in: a page of SQLite's, unless the file was made with others.
inline constexpr std::uint64_t reserve_unit_bytes = 4'096;

/// A file beside a database that holds room on the disk, to be given up when there is no other, and
/// made again when there is. Given up it is all hole and keeps its size, so that a process that
/// starts on a disk that is still full asks for as much room as the one before. One thread at a
/// time.
class file_reserve {
public:
    /// It is to hold `bytes_max`, or a quarter of what is free if that is less. Makes nothing yet;
    /// what an earlier process has left is used.
    file_reserve(std::string path, std::uint64_t bytes_max);

    /// Makes it unless it is there. True: it is there, or there can be none here for another reason
    /// than want of room. It is made only if something is left free then, so that it is not given
    /// up again because of the next byte.
    bool keep() noexcept;
    /// True: there was one.
    bool give_up() noexcept;
    /// It is to hold so much from now on, up to `bytes_max`. False if there is no room for that.
    bool grow(std::uint64_t bytes) noexcept;
    /// Whether the database may become so large and leave as much as this below what a file may
    /// have.
    [[nodiscard]] bool fits(std::uint64_t size) const noexcept;
    /// Whether the database may become so large by growing so much. While this is held, it stays as
    /// much below what a file may have (man 2 setrlimit), since room beside it is of no use there;
    /// once it is given up, a quarter of it stays free: what grows must not take the room that the
    /// log needs for what does not.
    [[nodiscard]] bool leaves_room(std::uint64_t size, std::uint64_t growth) const noexcept;
    /// What it is, or would be.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    [[nodiscard]] int make() noexcept;
    [[nodiscard]] bool extend(std::uint64_t from) noexcept;
    [[nodiscard]] bool empty() noexcept;
    void plan(std::uint64_t room) noexcept;

    const std::string path_;
    const std::uint64_t bytes_max_;
    std::uint64_t bytes_ = 0;
    bool held_ = false;
    bool impossible_ = false;
};

} // namespace jobs
