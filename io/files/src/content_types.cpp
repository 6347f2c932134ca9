#include "content_types.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>

#include <rota/http/fields.hpp>
#include <rota/http/media_type.hpp>

namespace rota::http {
namespace {

using known_type = std::pair<std::string_view, std::string_view>;

/// What a web server meets, whatever the machine knows.
constexpr std::array<known_type, 65> known{{
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"apng", "image/apng"},
    {"atom", "application/atom+xml"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"br", "application/octet-stream"},
    {"bz2", "application/x-bzip2"},
    {"cjs", "text/javascript"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"deb", "application/vnd.debian.binary-package"},
    {"eot", "application/vnd.ms-fontobject"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ico", "image/x-icon"},
    {"ics", "text/calendar"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"jsonld", "application/ld+json"},
    {"jxl", "image/jxl"},
    {"log", "text/plain"},
    {"m4a", "audio/mp4"},
    {"m4v", "video/mp4"},
    {"map", "application/json"},
    {"md", "text/markdown"},
    {"mjs", "text/javascript"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpeg", "video/mpeg"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"rss", "application/rss+xml"},
    {"rtf", "application/rtf"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"ts", "video/mp2t"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain"},
    {"vtt", "text/vtt"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"webm", "video/webm"},
    {"webmanifest", "application/manifest+json"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
}};

/// What is gzip, though its type (and that in mime.types(5)) is of what is inside.
constexpr std::array<known_type, 3> zipped{{
    {"svgz", "image/svg+xml"},
    {"x3dvz", "model/x3d-vrml"},
    {"x3dz", "model/x3d+xml"},
}};

constexpr std::string_view unknown_type = "application/octet-stream";
constexpr std::size_t types_file_bytes_max = 1'048'576;

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), fields::to_lower);
    return result;
}

/// What is behind the last dot of its name, in lower case.
std::string extension_of(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos || dot == 0 ? std::string() : lower(name.substr(dot + 1));
}

/// Takes the next word off `line`.
std::string_view next_word(std::string_view& line) {
    constexpr std::string_view spaces = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(spaces), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(spaces));
    line.remove_prefix(word.size());
    return word;
}

} // namespace

content_types::content_types(const std::vector<std::pair<std::string, std::string>>& own,
                             const std::string& types_file) {
    for (const auto& [extension, type] : own) {
        if (!media_type::parse(type))
            throw std::invalid_argument("no media type: " + type);
        add(extension, type);
    }
    for (const auto& [extension, type] : known)
        add(extension, type);
    for (const auto& [extension, type] : zipped)
        add(extension, type);
    if (!types_file.empty())
        read_file(types_file);
}

/// The first one counts.
void content_types::add(std::string_view extension, std::string_view type) {
    std::string said(type);
    if (type.starts_with("text/") && type.find(';') == std::string_view::npos)
        said += "; charset=utf-8";
    types_.try_emplace(lower(extension), std::move(said));
}

void content_types::read_file(const std::string& path) {
    std::ifstream file(path);
    std::string text;
    for (std::size_t bytes = 0; std::getline(file, text); bytes += text.size()) {
        if (bytes > types_file_bytes_max)
            return;
        std::string_view line = std::string_view(text).substr(0, text.find('#'));
        const std::string_view type = next_word(line);
        if (type.empty() || !media_type::parse(type))
            continue;
        for (std::string_view word = next_word(line); !word.empty(); word = next_word(line))
            add(word, type);
    }
}

std::string_view content_types::of(std::string_view path) const {
    const auto found = types_.find(extension_of(path));
    return found != types_.end() ? std::string_view(found->second) : unknown_type;
}

std::string_view content_types::coding_of(std::string_view path) const {
    const auto found = std::ranges::find(zipped, extension_of(path), &known_type::first);
    return found != zipped.end() && of(path) == found->second ? "gzip" : "";
}

} // namespace rota::http
