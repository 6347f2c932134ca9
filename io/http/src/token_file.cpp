#include <rota/http/token_file.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rota/http/detail/syntax.hpp>
#include <rota/http/fields.hpp>
#include <rota/io/detail/file_stamp.hpp>

#include "constant_time.hpp"

namespace rota::http {
namespace {

constexpr std::size_t file_bytes_max = 65'536;
/// A file that is changed twice within a tick of its clock looks the same (man 7 inode), so what
/// was young when it was read is not relied upon. Seconds.
constexpr std::int64_t young_s = 2;

struct descriptor {
    explicit descriptor(int opened) noexcept : fd(opened) {}
    ~descriptor() {
        if (fd >= 0)
            ::close(fd);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    const int fd;
};

std::string said_of(const std::string& path) { return "token file " + path + ": "; }

[[noreturn]] void fail(const std::string& path, int error) {
    throw std::runtime_error(said_of(path) + std::system_category().message(error));
}

std::string read_all(int fd, const std::string& path) {
    std::string text(file_bytes_max + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
        if (got < 0 && errno != EINTR)
            fail(path, errno);
        if (got == 0)
            break;
        size += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    if (size > file_bytes_max)
        throw std::runtime_error(said_of(path) + "more than 64 KiB");
    text.resize(size);
    return text;
}

bool is_visible(char c) noexcept { return c > ' ' && c < '\x7f'; }

std::vector<std::string> tokens_in(std::string_view text, const std::string& path) {
    std::vector<std::string> tokens;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = fields::trim(syntax::without_last_cr(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.starts_with('#'))
            continue;
        if (!std::ranges::all_of(line, is_visible)) // and never say what it is
            throw std::runtime_error(said_of(path) + "line " + std::to_string(number) +
                                     " is no token");
        tokens.emplace_back(line);
    }
    if (tokens.empty())
        throw std::runtime_error(said_of(path) + "no token in it");
    return tokens;
}

} // namespace

token_file::token_file(std::string path, std::function<void(std::string_view)> log)
    : path_(std::move(path)), log_(std::move(log)) {
    read_anew();
}

token_file::~token_file() = default;

void token_file::read_anew() {
    read_.reset();
    // Not to wait for a writer if it is a pipe (man 2 open).
    const descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat found {};
    if (file.fd < 0 || ::fstat(file.fd, &found) != 0)
        fail(path_, errno);
    if (!S_ISREG(found.st_mode))
        throw std::runtime_error(said_of(path_) + "no regular file");
    const std::int64_t now = std::time(nullptr);
    tokens_ = std::make_shared<const list>(tokens_in(read_all(file.fd, path_), path_));
    if (now - std::max(found.st_mtim.tv_sec, found.st_ctim.tv_sec) > young_s)
        read_ = std::make_unique<io::detail::file_stamp>(found);
}

bool token_file::contains(std::string_view token) {
    struct stat found {};
    const bool there = ::stat(path_.c_str(), &found) == 0;
    std::shared_ptr<const list> tokens;
    std::string news;
    {
        const std::lock_guard lock(mutex_);
        if (!there || !read_ || *read_ != io::detail::file_stamp(found)) {
            try {
                read_anew();
                if (std::exchange(failing_, false))
                    news = said_of(path_) + "its tokens can be read again";
            } catch (const std::exception& e) {
                if (!std::exchange(failing_, true))
                    news = std::string(e.what()) + "; the tokens that it had are kept";
            }
        }
        tokens = tokens_;
    }
    if (!news.empty() && log_)
        log_(news);
    unsigned found_one = 0;
    for (const std::string& each : *tokens)
        found_one |= static_cast<unsigned>(difference(each, token) == 0);
    return found_one != 0;
}

} // namespace rota::http
