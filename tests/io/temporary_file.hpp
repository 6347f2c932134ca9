#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <rota/io/shared_file.hpp>

namespace rota::io::test {

/// A file that goes with its owner, open for both directions.
class temporary_file {
public:
    explicit temporary_file(std::string_view bytes) {
        const int fd = ::mkostemp(name_.data(), O_CLOEXEC);
        if (fd < 0)
            throw std::system_error(errno, std::system_category(), "mkostemp");
        file_ = shared_file(fd);
        write(bytes, 0);
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() {
        remove();
        ::unlink(second_name().c_str());
    }
    /// It loses its name.
    void remove() const { ::unlink(name_.c_str()); }
    /// It gets another name, too.
    void add_name() const {
        if (::link(name_.c_str(), second_name().c_str()) != 0)
            throw std::system_error(errno, std::system_category(), "link");
    }
    /// Another gets its name.
    void replace() const {
        const temporary_file other("other");
        if (::rename(other.name_.c_str(), name_.c_str()) != 0)
            throw std::system_error(errno, std::system_category(), "rename");
    }
    void write(std::string_view bytes, off_t at) const {
        while (!bytes.empty()) {
            const ssize_t put = ::pwrite(fd(), bytes.data(), bytes.size(), at);
            if (put <= 0)
                throw std::system_error(errno, std::system_category(), "pwrite");
            bytes.remove_prefix(static_cast<std::size_t>(put));
            at += put;
        }
    }
    void cut(off_t size) const {
        if (::ftruncate(fd(), size) != 0)
            throw std::system_error(errno, std::system_category(), "ftruncate");
    }
    /// Its pages leave memory, where the file system has another place for them.
    void forget() const {
        ::fsync(fd());
        ::posix_fadvise(fd(), 0, 0, POSIX_FADV_DONTNEED);
    }
    [[nodiscard]] int fd() const noexcept { return file_.native_handle(); }
    [[nodiscard]] const shared_file& file() const noexcept { return file_; }
    [[nodiscard]] file_slice slice() const {
        const file_facts now = file_.facts();
        return {.file = file_, .facts = now, .offset = 0, .size = now.size};
    }
    [[nodiscard]] file_slice slice(std::uint64_t offset, std::uint64_t size) const {
        return {.file = file_, .facts = file_.facts(), .offset = offset, .size = size};
    }

private:
    [[nodiscard]] std::string second_name() const { return name_ + ".2"; }

    std::string name_ = "/tmp/rota-test-XXXXXX";
    shared_file file_;
};

} // namespace rota::io::test
