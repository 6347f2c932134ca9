#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota::http {

/// Media types by what is behind the last dot of a name, in any case. Text is UTF-8. Set up once,
/// then any thread.
class content_types {
public:
    /// `own` come before those that are known anyway, and these before those in the file
    /// `types_file` (mime.types(5)), which need not be there. Throws std::invalid_argument for one
    /// of `own` that is no media type.
    content_types(const std::vector<std::pair<std::string, std::string>>& own,
                  const std::string& types_file);

    /// As it stands in Content-Type: "text/css; charset=utf-8"; application/octet-stream for a name
    /// that says nothing. Lives as long as this.
    [[nodiscard]] std::string_view of(std::string_view path) const;
    /// What stands in Content-Encoding, where of() is the type of what is inside: "gzip" for
    /// "a.svgz"; empty for all others. Static.
    [[nodiscard]] std::string_view coding_of(std::string_view path) const;

private:
    void add(std::string_view extension, std::string_view type);
    void read_file(const std::string& path);

    std::map<std::string, std::string, std::less<>> types_;
};

} // namespace rota::http
