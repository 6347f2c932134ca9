#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <rota/http/error.hpp>
#include <rota/http/files.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/task.hpp>
#include <rota/worker_local.hpp>

#include "content_types.hpp"
#include "directory.hpp"
#include "file_cache.hpp"
#include "site_file.hpp"

namespace rota::http {

/// Why there is no answer, by an error of open(2) or fstat(2).
[[nodiscard]] http_error refusal_of(int error);

/// What is served of a directory: finds files, and keeps them open. Any thread.
class site {
public:
    site(const std::string& directory, files_options options);

    /// The answer to GET or HEAD of what is at `path` below the directory, percent-decoded. The
    /// request outlives the task. Throws http_error, at once or out of the task.
    [[nodiscard]] task<response> answer(request& asked, std::string_view path);

    /// What has been found at a path.
    struct finding {
        enum class kind : std::uint8_t { nothing, file, directory, unknown };
        kind what = kind::nothing;
        std::shared_ptr<site_file> file{};
        int error = 0; ///< errno value, of nothing and of a directory
    };
    /// Opens what is there, with what stands beside it. Blocks.
    [[nodiscard]] finding open(const std::string& path);
    /// Whether it is still there as it was found, as far as that is known without waiting.
    [[nodiscard]] bool confirms(const std::string& path, const site_file& file) const;
    /// What it is, without opening it; `unknown` if that would have to wait.
    [[nodiscard]] finding peek(const std::string& path) const;

    [[nodiscard]] file_cache& cache() noexcept { return *cache_; }

private:
    [[nodiscard]] task<site_file_ptr> find_file(const std::string* path, finding* other);
    using time_point = file_cache::time_point;

    [[nodiscard]] bool holds(const std::string& path, const site_file& known, time_point now) const;
    [[nodiscard]] task<response> look_and_answer(request* asked, std::string name, bool slash);
    [[nodiscard]] task<response> answer_directory(const request* asked, std::string path);
    [[nodiscard]] std::string cache_line_of(std::string_view path) const;
    [[nodiscard]] finding open_once(const std::string& path) const;
    [[nodiscard]] int open_regular(const std::string& path, representation& into) const;
    void describe(representation& of, const std::string& path, std::string_view coding,
                  bool varies) const;

    const files_options options_;
    const content_types types_;
    const directory root_;
    const std::shared_ptr<file_cache> cache_; // of the sweepers, too
    worker_local<file_sweeper> sweepers_;
};

} // namespace rota::http
