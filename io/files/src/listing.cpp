#include "listing.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rota/http/percent.hpp>

#include "clean_path.hpp"
#include "directory.hpp"

namespace rota::http {
namespace {

constexpr std::size_t names_max = 10'000;

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
        case '&':
            result += "&amp;";
            break;
        case '<':
            result += "&lt;";
            break;
        case '>':
            result += "&gt;";
            break;
        case '"':
            result += "&quot;";
            break;
        default:
            result += c;
        }
    }
    return result;
}

struct closing {
    void operator()(DIR* d) const noexcept { ::closedir(d); }
};

using link_follower = std::function<int(const std::string&)>;

/// Of what is asked for by that name; 0 if it cannot be.
mode_t mode_of(DIR* in, const std::string& name, const link_follower& follow) {
    struct stat found {};
    if (::fstatat(::dirfd(in), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    if (!S_ISLNK(found.st_mode))
        return found.st_mode;
    const descriptor there(follow(name));
    return there.get() >= 0 && ::fstat(there.get(), &found) == 0 ? found.st_mode : 0;
}

/// Those that can be asked for: what is neither a file nor a directory is left out.
std::vector<std::string> names_in(DIR* all, bool dotfiles, const link_follower& follow) {
    std::vector<std::string> names;
    while (const dirent* const each = ::readdir(all)) {
        std::string name = each->d_name;
        if (!is_clean_path(name, dotfiles))
            continue;
        const mode_t mode = mode_of(all, name, follow);
        if (S_ISDIR(mode))
            name += '/';
        else if (!S_ISREG(mode))
            continue;
        names.push_back(std::move(name));
        if (names.size() == names_max)
            break;
    }
    std::ranges::sort(names);
    return names;
}

} // namespace

std::string make_listing(int fd, std::string_view shown, bool dotfiles,
                         const link_follower& follow) {
    const std::unique_ptr<DIR, closing> all(::fdopendir(fd));
    if (!all) {
        const int error = errno;
        ::close(fd);
        throw std::system_error(error, std::system_category(), "fdopendir");
    }
    const std::string title = escaped(shown);
    std::string page = "<!doctype html>\n<meta charset=\"utf-8\">\n<title>" + title +
                       "</title>\n<h1>" + title + "</h1>\n<ul>\n";
    if (shown != "/")
        page += "<li><a href=\"../\">../</a></li>\n";
    for (const std::string& name : names_in(all.get(), dotfiles, follow)) {
        page +=
            "<li><a href=\"./" + percent_encoded(name, "/") + "\">" + escaped(name) + "</a></li>\n";
    }
    return page + "</ul>\n";
}

} // namespace rota::http
