#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace rota::io::detail {
struct file_stamp;
}

namespace rota::http {

/// The bearer tokens that a file lists: one a line, without the white space around it. Empty lines
/// and those that begin with '#' are ignored. A token is printable ASCII without spaces, so that it
/// can stand in a field; the file has at least one, and at most 64 KiB.
///
/// Each look finds the file as it is now: a token that is taken out is refused from the next
/// request on. If it cannot be read, or has no tokens any more, the old ones stay, and that is
/// reported once. Any thread; a look costs a system call (stat), and reading when the file has
/// changed, so it belongs on a disk of this machine.
class token_file {
public:
    /// Reads `path`, and calls `log`, if it is set, when that fails later and when it works again.
    /// Throws std::runtime_error if the file cannot be used now.
    explicit token_file(std::string path, std::function<void(std::string_view)> log = {});
    ~token_file();
    token_file(const token_file&) = delete;
    token_file& operator=(const token_file&) = delete;

    /// Returns whether the file lists this token. The time that it takes tells how many tokens
    /// there are and how long the one in question is, and nothing of the others' characters.
    [[nodiscard]] bool contains(std::string_view token);

private:
    using list = std::vector<std::string>;

    void read_anew();

    const std::string path_;
    const std::function<void(std::string_view)> log_;

    std::mutex mutex_;
    std::shared_ptr<const list> tokens_;           // guarded, as what follows
    std::unique_ptr<io::detail::file_stamp> read_; // when it was read; null: read it again
    bool failing_ = false;                         // and it has been said
};

} // namespace rota::http
