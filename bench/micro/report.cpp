#include "report.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

namespace rota::bench {
namespace {

std::string cpu_model() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("model name")) {
            const std::size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
            return at == std::string::npos ? std::string() : line.substr(at);
        }
    }
    return {};
}

/// A JSON string (RFC 8259, section 7).
std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    return out + '"';
}

/// Three digits that count, or all of a large number.
std::string digits(double value) {
    const int after_point = value < 10 ? 2 : value < 100 ? 1 : 0;
    return fmt::format("{:.{}f}", value, after_point);
}

} // namespace

setting setting::of(std::span<char* const> arguments) {
    setting s;
    for (const char* argument : arguments) {
        if (!s.command.empty()) {
            s.command += ' ';
        }
        s.command += argument;
    }
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    s.when = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
    s.cpu = cpu_model();
    s.cores = std::thread::hardware_concurrency();
    utsname name{};
    if (::uname(&name) == 0) {
        s.kernel = fmt::format("{} {}", name.sysname, name.release);
    }
#ifdef __clang__
    s.compiler = "Clang " __clang_version__;
#else
    s.compiler = "GCC " __VERSION__;
#endif
#ifdef __OPTIMIZE__
    s.optimized = true;
#endif
    return s;
}

std::string as_table(const setting& s, const std::vector<figure>& figures) {
    std::string out;
    auto to = std::back_inserter(out);
    fmt::format_to(to, "- command: `{}`\n", s.command);
    fmt::format_to(to, "- machine: {}, {} cores; {}\n", s.cpu, s.cores, s.kernel);
    fmt::format_to(to, "- compiler: {}{}\n", s.compiler,
                   s.optimized ? "" : ", NOT OPTIMIZED: these figures mean nothing");
    fmt::format_to(to, "- {}; medians of repeats\n\n", s.when);

    std::size_t width = 4;
    for (const figure& f : figures) {
        width = std::max(width, f.name.size());
    }
    fmt::format_to(to, "| {:<{}} | {:>8} | {:>8} | {:>8} | {:<5} | {:>21} |\n", "what", width,
                   "median", "lowest", "highest", "unit", "repeats x iterations");
    fmt::format_to(to, "| {:-<{}} | {:->8} | {:->8} | {:->8} | {:-<5} | {:->21} |\n", "", width,
                   ":", ":", ":", "", ":");
    for (const figure& f : figures) {
        fmt::format_to(to, "| {:<{}} | {:>8} | {:>8} | {:>8} | {:<5} | {:>21} |\n", f.name, width,
                       digits(f.median), digits(f.lowest), digits(f.highest), f.unit,
                       fmt::format("{} x {}", f.repeats, f.iterations));
    }
    return out;
}

std::string as_json(const setting& s, const std::vector<figure>& figures) {
    std::string out;
    auto to = std::back_inserter(out);
    fmt::format_to(to,
                   "{{\n  \"command\": {},\n  \"when\": {},\n  \"machine\": {{\"cpu\": {}, "
                   "\"cores\": {}, \"kernel\": {}}},\n  \"compiler\": {},\n  \"optimized\": {},\n"
                   "  \"figures\": [",
                   json_string(s.command), json_string(s.when), json_string(s.cpu), s.cores,
                   json_string(s.kernel), json_string(s.compiler), s.optimized);
    const char* separator = "\n";
    for (const figure& f : figures) {
        fmt::format_to(to,
                       "{}    {{\"name\": {}, \"unit\": {}, \"median\": {:.3f}, \"lowest\": "
                       "{:.3f}, \"highest\": {:.3f}, \"iterations\": {}, \"repeats\": {}}}",
                       separator, json_string(f.name), json_string(f.unit), f.median, f.lowest,
                       f.highest, f.iterations, f.repeats);
        separator = ",\n";
    }
    return out + "\n  ]\n}\n";
}

} // namespace rota::bench
