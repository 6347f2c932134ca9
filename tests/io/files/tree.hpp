#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

namespace rota::http::test {

/// A directory that goes with its owner, to put files into.
class tree {
public:
    tree() {
        std::string name = "/tmp/rota-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::system_error(errno, std::system_category(), "mkdtemp");
        outer_ = name;
        std::filesystem::create_directory(root());
    }
    tree(const tree&) = delete;
    tree& operator=(const tree&) = delete;
    ~tree() { std::filesystem::remove_all(outer_); }

    [[nodiscard]] std::string root() const { return outer_ / "site"; }
    /// What is beside the root, and not to be had.
    [[nodiscard]] std::string outside() const { return outer_; }
    [[nodiscard]] std::string at(std::string_view path) const {
        return root() + '/' + std::string(path);
    }
    /// Makes a file, or writes it anew in its place.
    void put(std::string_view path, std::string_view bytes) const { write(at(path), bytes); }
    void put_outside(std::string_view path, std::string_view bytes) const {
        write(outer_ / path, bytes);
    }
    /// Puts another file into the place of one.
    void replace(std::string_view path, std::string_view bytes) const {
        put(std::string(path) + "~new", bytes);
        std::filesystem::rename(at(path) + "~new", at(path));
    }
    void make_directory(std::string_view path) const {
        std::filesystem::create_directories(at(path));
    }
    void link(std::string_view to, std::string_view path) const {
        std::filesystem::create_symlink(to, at(path));
    }
    void make_pipe(std::string_view path) const {
        if (::mkfifo(at(path).c_str(), 0600) != 0)
            throw std::system_error(errno, std::system_category(), "mkfifo");
    }
    void set_time(std::string_view path, std::int64_t seconds, long nanoseconds = 0) const {
        const timespec both[2] = {{seconds, nanoseconds}, {seconds, nanoseconds}};
        ::utimensat(AT_FDCWD, at(path).c_str(), both, 0);
    }
    void remove(std::string_view path) const { std::filesystem::remove_all(at(path)); }

private:
    static void write(const std::string& where, std::string_view bytes) {
        std::ofstream out(where, std::ios::binary | std::ios::trunc);
        out << bytes;
    }
    std::filesystem::path outer_;
};

} // namespace rota::http::test
