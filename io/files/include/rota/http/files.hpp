#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <rota/http/router.hpp>

namespace rota::http {

/// A value of Cache-Control for the files whose path, without a slash in front, matches `pattern`:
/// '*' stands for anything, slashes too, '?' for one character.
struct cache_rule {
    std::string pattern; ///< "assets/*", "*.css"
    std::string value;   ///< "public, max-age=31536000, immutable"
};

struct files_options {
    /// The file that a directory shows, if it is there; "": none.
    std::string index = "index.html";
    /// A directory without an index shows what is in it. Else it is a 404.
    bool listing = false;
    /// Names that begin with a dot are served, too.
    bool dotfiles = false;
    /// "a.js.zst", "a.js.br" and "a.js.gz" are sent in place of "a.js" to clients that accept the
    /// coding, if they are not older than it.
    bool precompressed = true;
    /// The first that matches counts.
    std::vector<cache_rule> cache_control{};
    /// Media types by what follows the last dot of a name, consulted before those that are known
    /// anyway: {"wasm", "application/wasm"}.
    std::vector<std::pair<std::string, std::string>> types{};
    /// Path of a further mime.types(5) file; ignored if it does not exist.
    std::string types_file = "/etc/mime.types";
    /// Descriptors that are kept open for files and what stands beside them, each until its file
    /// has not been asked for for a minute. 0: 4096, or an eighth of those that are allowed.
    std::size_t open_max = 0;
    /// How long what is known of a file is believed.
    std::chrono::milliseconds believed{1000};
};

/// Serves the files below a directory: GET and HEAD, with validators, preconditions, ranges and
/// precompressed siblings (RFC 9110 sections 8.8, 12, 13, 14). To be mounted:
///
///     routes.mount("/static", http::files("/srv/site"));
///
/// What leaves the directory, however it is spelled, does not exist: 404; nor does what is not a
/// regular file. Symbolic links that stay inside are followed. A directory is redirected to itself
/// with a slash. If no descriptor is available it is a 503.
///
/// Files are opened, and what is not in memory is read, by blocking(); what is open is kept so and
/// shared by all workers. Replace files by rename(2): one that is written in place while it is sent
/// ends the connections that it is sent on.
///
/// Throws std::system_error if `directory` cannot be opened, std::invalid_argument for an invalid
/// option.
[[nodiscard]] router files(const std::string& directory, files_options options = {});

} // namespace rota::http
