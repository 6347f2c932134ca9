#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <sys/types.h>

#include <rota/task.hpp>

namespace rota::io {

/// What distinguishes one content of a file from another (man 2 fstat).
struct file_facts {
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0; ///< since 1970
    std::int64_t changed_ns = 0;  ///< of the content or of the file's attributes
    std::uint64_t inode = 0;
    std::uint64_t device = 0;
    std::uint64_t links = 0; ///< names that it has

    /// Ignores the number of names: gaining or losing one is a change, which shows in the time of
    /// the change.
    bool operator==(const file_facts& other) const noexcept {
        return size == other.size && modified_ns == other.modified_ns &&
               changed_ns == other.changed_ns && inode == other.inode && device == other.device;
    }
};

/// An open regular file that any number of answers share: one descriptor, which is closed with the
/// last copy. Copying counts references; any thread.
class shared_file {
public:
    /// Holds no file.
    shared_file() noexcept = default;
    /// Takes over `fd`, a regular file that is open for reading; closes it on std::bad_alloc.
    /// Throws std::invalid_argument if it is negative.
    explicit shared_file(int fd);

    /// Returns the descriptor, -1 if there is none. Neither close it nor move its position.
    [[nodiscard]] int native_handle() const noexcept { return file_ ? *file_ : -1; }
    [[nodiscard]] explicit operator bool() const noexcept { return file_ != nullptr; }
    /// Returns the facts as they are now: a system call, which does not wait for a local file.
    /// Throws std::system_error.
    [[nodiscard]] file_facts facts() const;

private:
    std::shared_ptr<const int> file_;
};

/// Bytes of a file as it was at `facts`. Once it has changed they can no longer be read: a stream
/// that sends them ends its connection, so that no client takes wrong bytes for what was announced.
///
/// What a socket has taken of a file is the kernel's own copy of it, which changes with it until
/// the peer has it. Replace files by rename(2); what is written in place cannot be relied on.
struct file_slice {
    shared_file file;
    file_facts facts;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;

    /// Returns whether nothing was written to the file since. The time of the last write can be put
    /// back, so that of the last change (man 7 inode) counts, too, unless the file has lost its
    /// last name, as by rename(2) over it: any other change of it, of its mode or one of several
    /// names, counts as a write. In a file without a name, writes by a process that has kept it
    /// open, and has put the time back, do not show. A system call.
    [[nodiscard]] bool holds() const noexcept;
};

/// Takes up to `bytes_max` bytes off the front of `from`: at once if they are in memory, else in
/// blocking(). Throws std::system_error, ESTALE if the file has changed: with the last piece all of
/// it is known to be right. `from` outlives the task.
[[nodiscard]] task<std::string> read_piece(file_slice* from, std::size_t bytes_max);
/// Reads those bytes at its front that are in memory, as far as `into` has room, and returns how
/// many, at least one if there are any. Returns -EAGAIN if a disk has to be waited for
/// (read_piece() does), -ESTALE as above, or another -errno.
[[nodiscard]] ssize_t try_read(const file_slice& from, std::span<char> into) noexcept;

/// Brings these bytes into memory, so that sending them does not wait for a disk; in blocking() if
/// they are not there. Never fails: what is wrong shows when they are sent. `of` outlives the task.
[[nodiscard]] task<void> bring_in(const file_slice* of);
/// Does the same on a thread that may block.
void read_into_memory(const file_slice& part);
/// Returns whether they seem to be in memory: looks at the last byte, without waiting.
[[nodiscard]] bool is_in_memory(const file_slice& part) noexcept;

} // namespace rota::io
