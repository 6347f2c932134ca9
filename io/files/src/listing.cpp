#include "listing.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rota/http/percent.hpp>

#include "clean_path.hpp"

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

/// Those that can be asked for: what is neither a file nor a directory is left out.
std::vector<std::string> names_in(DIR* all, bool dotfiles) {
    std::vector<std::string> names;
    while (const dirent* const each = ::readdir(all)) {
        std::string name = each->d_name;
        struct stat found {};
        if (!is_clean_path(name, dotfiles) || ::fstatat(::dirfd(all), each->d_name, &found, 0) != 0)
            continue;
        if (S_ISDIR(found.st_mode))
            name += '/';
        else if (!S_ISREG(found.st_mode))
            continue;
        names.push_back(std::move(name));
        if (names.size() == names_max)
            break;
    }
    std::ranges::sort(names);
    return names;
}

} // namespace

std::string make_listing(int fd, std::string_view shown, bool dotfiles) {
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
    for (const std::string& name : names_in(all.get(), dotfiles)) {
        page +=
            "<li><a href=\"./" + percent_encoded(name, "/") + "\">" + escaped(name) + "</a></li>\n";
    }
    return page + "</ul>\n";
}

} // namespace rota::http
