#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <rota/io/shared_file.hpp>

namespace rota::http {

inline constexpr std::string_view varies_by_coding = "Vary: Accept-Encoding\r\n";

/// What is sent of a file: itself, or one that stands beside it, compressed.
struct representation {
    io::shared_file file;
    io::file_facts facts;
    std::chrono::sys_seconds modified;
    std::string tag;          ///< without its quotes
    std::string stays;        ///< the fields that a 304 has, too, as lines
    std::string fields;       ///< the others
    bool settled = true;      ///< a write would show in the facts; if not, the tag is a weak one
    bool shares_date = false; ///< another content had it, too, that was there before
    bool coded = false;       ///< it has a Content-Encoding
    bool varies = false;      ///< which one is sent depends on the codings that are accepted

    [[nodiscard]] io::file_slice whole() const { return {file, facts, 0, facts.size}; }
};

/// A coding that a file may be there in, beside it.
struct sibling_kind {
    std::string_view ending;
    std::string_view coding;
};
/// What is preferred comes first.
inline constexpr std::array<sibling_kind, 3> sibling_kinds{{
    {".zst", "zstd"},
    {".br", "br"},
    {".gz", "gzip"},
}};

/// A file as it was found. Immutable, but for when it was last looked for; shared by all workers.
struct site_file {
    struct sibling {
        bool there = false; ///< it is a regular file
        bool fits = false;  ///< and neither older nor empty
        representation of;
    };

    representation plain;
    std::array<sibling, sibling_kinds.size()> siblings;
    std::string_view type;
    bool has_siblings = false; ///< one of them fits: it depends on Accept-Encoding
    mutable std::atomic<std::int64_t> looked_at_ns{0};

    /// Whether it can be told for longer than an answer.
    [[nodiscard]] bool settled() const {
        return plain.settled &&
               std::ranges::all_of(siblings, [](const sibling& s) { return s.of.settled; });
    }
};

using site_file_ptr = std::shared_ptr<const site_file>;

} // namespace rota::http
