#include "option_files.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace rota_http {
namespace {

namespace fs = std::filesystem;

struct option_file {
    const char* option;
    fs::path path; ///< absolute, without links as far as it is there
    bool written;
    bool is_there;
    struct stat facts {};
};

/// Where what is created by that path comes to be: behind links, even such as lead to nothing yet.
fs::path place_of(const std::string& text) {
    std::error_code none; // then it is compared as it is
    fs::path path = fs::absolute(text, none);
    constexpr int links_max = 40; // as the kernel's (man 7 path_resolution)
    for (int i = 0; i < links_max && fs::is_symlink(path, none); ++i)
        path = path.parent_path() / fs::read_symlink(path, none);
    fs::path whole = fs::weakly_canonical(path, none);
    return whole.empty() ? path : whole;
}

bool is_same(const option_file& one, const option_file& other) {
    if (one.is_there && other.is_there)
        return one.facts.st_dev == other.facts.st_dev && one.facts.st_ino == other.facts.st_ino;
    return one.path == other.path;
}

/// All that options name, but terminals and their like: those keep nothing that could be lost.
std::vector<option_file> files_of(const settings& all) {
    std::vector<option_file> files;
    const auto add = [&files](const char* option, const std::string& path, bool written) {
        if (path.empty())
            return;
        option_file file{
            .option = option, .path = place_of(path), .written = written, .is_there = false};
        file.is_there = ::stat(path.c_str(), &file.facts) == 0;
        if (!file.is_there || !S_ISCHR(file.facts.st_mode))
            files.push_back(std::move(file));
    };
    add("--access-log-file", all.tracking.log_file, true);
    add("--port-file", all.port_file, true);
    if (!all.unix_path.starts_with('@'))
        add("--unix", all.unix_path, true);
    constexpr std::string_view sqlite = "sqlite:";
    if (all.store.starts_with(sqlite)) {
        for (const char* of_its_own : {"", "-wal", "-shm", "-journal", "-reserve"})
            add("--store", all.store.substr(sqlite.size()) + of_its_own, true);
    }
    add("--token-file", all.token_file, false);
    for (const std::string& each : all.tls.certificates) {
        for (const char* staple_too : {"", ".ocsp"})
            add("--tls-cert", each + staple_too, false);
    }
    for (const std::string& each : all.tls.keys)
        add("--tls-key", each, false);
    add("--tls-client-ca", all.tls.client_ca, false);
    add("--tls-tickets", all.tls.ticket_keys, false);
    return files;
}

} // namespace

std::string complaint_of_files(const settings& all) {
    const std::vector<option_file> files = files_of(all);
    for (auto one = files.begin(); one != files.end(); ++one) {
        for (auto other = one + 1; other != files.end(); ++other) {
            const bool own = std::string_view(one->option) == other->option;
            if (!own && (one->written || other->written) && is_same(*one, *other))
                return std::string(one->option) + " and " + other->option + " are one file";
        }
    }
    return "";
}

} // namespace rota_http
