#include "memory_guard.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rota/io/log.hpp>
#include <rota/sleep.hpp>

namespace rota_http {
namespace {

constexpr auto between_looks = std::chrono::milliseconds(100);
constexpr unsigned looks_between_returns = 10;
constexpr unsigned looks_afterwards = 100;

constexpr std::uint64_t in_mib(std::uint64_t bytes) noexcept { return bytes >> 20; }

/// What a limit of what may be mapped lets become resident, when so many pages are mapped and so
/// many resident by now.
std::uint64_t resident_within(int limit, std::uint64_t mapped_pages, std::uint64_t resident_pages) {
    rlimit most{};
    if (::getrlimit(static_cast<__rlimit_resource>(limit), &most) != 0 ||
        most.rlim_cur == RLIM_INFINITY)
        return std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t unused = mapped_pages - std::min(mapped_pages, resident_pages);
    const std::uint64_t unused_bytes = unused * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t left = most.rlim_cur - std::min<std::uint64_t>(most.rlim_cur, unused_bytes);
    return std::max<std::uint64_t>(left, most.rlim_cur / 4); // a part of that will be used
}

/// What the limits of this process let it have.
std::uint64_t allowed_by_limits() {
    std::ifstream statm("/proc/self/statm"); // all, resident, shared, text, 0, data and stack
    std::array<std::uint64_t, 6> pages{};
    for (std::uint64_t& each : pages)
        statm >> each;
    return std::min(resident_within(RLIMIT_AS, pages[0], pages[1]),
                    resident_within(RLIMIT_DATA, pages[5], pages[1]));
}

/// The path of this process in the tree of cgroups v2, "/" for its root; empty if there is none.
std::string cgroup_path(const std::string& root) {
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        constexpr std::string_view unified = "0::";
        if (line.starts_with(unified))
            return line.substr(unified.size());
    }
    return {};
}

} // namespace

memory_gauge::memory_gauge() noexcept : fd_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

memory_gauge::~memory_gauge() {
    if (fd_ >= 0)
        ::close(fd_);
}

std::uint64_t memory_gauge::in_use() const noexcept {
    std::array<char, 128> text{};
    const ssize_t size = fd_ >= 0 ? ::pread(fd_, text.data(), text.size(), 0) : -1;
    if (size <= 0)
        return 0;
    // The second number: pages that are resident.
    const std::string_view all(text.data(), static_cast<std::size_t>(size));
    const std::size_t begin = std::min(all.find(' ') + 1, all.size());
    std::uint64_t pages = 0;
    std::from_chars(all.data() + begin, all.data() + all.size(), pages);
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t memory_allowed(const std::string& root) {
    std::uint64_t least = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::string path = cgroup_path(root);
    while (!path.empty()) {
        std::string file = root;
        file.append("/sys/fs/cgroup").append(path).append("/memory.max");
        std::ifstream limit(file);
        std::uint64_t bytes = 0;
        if (limit >> bytes) // else there is no file, or it says "max"
            least = std::min(least, bytes);
        path.resize(path == "/" ? 0 : std::max<std::size_t>(path.rfind('/'), 1));
    }
    return std::min(least, allowed_by_limits());
}

memory_guard::memory_guard(std::uint64_t ceiling, actions acts)
    : ceiling_(ceiling), acts_(std::move(acts)) {}

void memory_guard::return_now_and_then(bool too_much) {
    if (too_much) {
        looks_left_ = looks_afterwards;
    } else if (looks_left_ > 0) {
        --looks_left_;
    }
    if (looks_left_ == 0) {
        looks_ = 0;
    } else if (looks_++ % looks_between_returns == 0) {
        acts_.return_memory();
    }
}

void memory_guard::look() {
    const std::uint64_t now = acts_.in_use();
    const bool too_much = now > (refusing_ ? ceiling_ - ceiling_ / 8 : ceiling_);
    return_now_and_then(too_much);
    if (too_much == refusing_)
        return;
    refusing_ = too_much;
    acts_.refuse(too_much);
    if (too_much) {
        rota::log::warn("memory: {} MiB are in use, {} MiB should be: requests are refused",
                        in_mib(now), in_mib(ceiling_));
        return;
    }
    rota::log::warn("memory: {} MiB are in use: requests are taken again", in_mib(now));
}

rota::task<void> memory_guard::watch() {
    for (;;) {
        look();
        co_await rota::sleep_for(between_looks);
    }
}

} // namespace rota_http
