#include <rota/io/shared_file.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rota/blocking.hpp>

namespace rota::io {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

/// From 1677 to 2262; what is beyond is the first or the last of these.
std::int64_t in_ns(const timespec& t) noexcept {
    using limits = std::numeric_limits<std::int64_t>;
    constexpr std::int64_t seconds_max = limits::max() / ns_per_s;
    if (t.tv_sec >= seconds_max)
        return limits::max();
    if (t.tv_sec <= -seconds_max)
        return limits::min();
    return t.tv_sec * ns_per_s + t.tv_nsec;
}

int read_facts(int fd, file_facts& into) noexcept {
    struct stat now {};
    if (::fstat(fd, &now) != 0)
        return errno;
    into = {.size = static_cast<std::uint64_t>(now.st_size),
            .modified_ns = in_ns(now.st_mtim),
            .changed_ns = in_ns(now.st_ctim),
            .inode = now.st_ino,
            .device = now.st_dev,
            .links = now.st_nlink};
    return 0;
}

/// Reads until `into` is full, the file ends, or a byte would have to be waited for (`flags`).
/// Bytes, or -errno if there are none.
ssize_t read_at(int fd, std::uint64_t offset, std::span<char> into, int flags) noexcept {
    std::size_t done = 0;
    while (done < into.size()) {
        const iovec rest{.iov_base = into.data() + done, .iov_len = into.size() - done};
        const ssize_t got = ::preadv2(fd, &rest, 1, static_cast<off_t>(offset + done), flags);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && done == 0)
            return -errno;
        if (got <= 0)
            break;
        done += static_cast<std::size_t>(got);
    }
    return static_cast<ssize_t>(done);
}

[[noreturn]] void fail(int error) {
    throw std::system_error(error, std::system_category(), "reading a file");
}

} // namespace

shared_file::shared_file(int fd) {
    struct closing {
        void operator()(const int* held) const noexcept {
            ::close(*held);
            delete held;
        }
    };
    if (fd < 0)
        throw std::invalid_argument("shared_file: no descriptor");
    int* held = nullptr;
    try {
        held = new int(fd);
    } catch (...) {
        ::close(fd);
        throw;
    }
    file_ = std::shared_ptr<const int>(held, closing());
}

file_facts shared_file::facts() const {
    file_facts now;
    if (const int error = read_facts(native_handle(), now); error != 0)
        throw std::system_error(error, std::system_category(), "fstat");
    return now;
}

bool file_slice::holds() const noexcept {
    file_facts now;
    if (read_facts(file.native_handle(), now) != 0)
        return false;
    const bool lost_last_name = now.links == 0 && facts.links != 0;
    return now.size == facts.size && now.modified_ns == facts.modified_ns &&
           (now.changed_ns == facts.changed_ns || lost_last_name);
}

task<std::string> read_piece(file_slice* from, std::size_t bytes_max) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes_max, from->size));
    std::string piece(size, '\0');
    const int fd = from->file.native_handle();
    ssize_t got = read_at(fd, from->offset, piece, RWF_NOWAIT);
    if (got < 0 || static_cast<std::size_t>(got) < size) {
        const std::uint64_t offset = from->offset;
        const std::span<char> into = piece;
        const auto read = [fd, offset, into] { return read_at(fd, offset, into, 0); };
        got = co_await blocking(read);
    }
    if (got < 0)
        fail(static_cast<int>(-got));
    if (static_cast<std::size_t>(got) < size)
        fail(ESTALE); // it has become shorter
    from->offset += size;
    from->size -= size;
    if (from->size == 0 && !from->holds())
        fail(ESTALE);
    co_return piece;
}

ssize_t try_read(const file_slice& from, std::span<char> into) noexcept {
    into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), from.size)));
    if (into.empty())
        return 0;
    const ssize_t got = read_at(from.file.native_handle(), from.offset, into, RWF_NOWAIT);
    if (got == -EOPNOTSUPP)
        return -EAGAIN;
    const bool all = got >= 0 && static_cast<std::uint64_t>(got) == from.size;
    return got == 0 || (all && !from.holds()) ? -ESTALE : got;
}

bool is_in_memory(const file_slice& part) noexcept {
    if (part.size == 0)
        return true;
    char last = 0;
    const std::uint64_t at = part.offset + part.size - 1;
    return read_at(part.file.native_handle(), at, {&last, 1}, RWF_NOWAIT) != -EAGAIN;
}

void read_into_memory(const file_slice& part) {
    if (is_in_memory(part))
        return;
    std::array<char, 16'384> dropped;
    const std::uint64_t end = part.offset + part.size;
    for (std::uint64_t at = part.offset; at < end;) {
        const ssize_t got = read_at(part.file.native_handle(), at, dropped, 0);
        if (got <= 0)
            return;
        at += static_cast<std::uint64_t>(got);
    }
}

task<void> bring_in(const file_slice* of) {
    if (is_in_memory(*of))
        co_return;
    const auto read_all = [of] { read_into_memory(*of); };
    co_await blocking(read_all);
}

} // namespace rota::io
