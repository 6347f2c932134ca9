// What the C++ peers share: their arguments, their pages, the date, sockets and threads.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "spin.hpp"

namespace peers {

struct arguments {
    std::uint16_t port = 0;
    unsigned workers = 1;
};

/// Reads PORT WORKERS; says `version` and ends if that is asked for.
inline arguments parse_arguments(int argc, char** argv, const std::string& version) {
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
        std::printf("%s\n", version.c_str());
        std::exit(0);
    }
    const long port = argc == 3 ? std::strtol(argv[1], nullptr, 10) : 0;
    const long workers = argc == 3 ? std::strtol(argv[2], nullptr, 10) : 0;
    if (port < 1 || port > 65535 || workers < 1 || workers > 1024) {
        std::fprintf(stderr, "usage: %s PORT WORKERS | --version\n", argv[0]);
        std::exit(2);
    }
    return {static_cast<std::uint16_t>(port), static_cast<unsigned>(workers)};
}

struct page {
    std::string path;
    std::string type;
    std::string body;
};

/// All that answers GET.
inline const std::array<page, 4>& pages() {
    static const std::string plain = "text/plain; charset=utf-8";
    static const std::array<page, 4> all{{
        {"/plaintext", plain, "Hello, World!"},
        {"/json", "application/json", R"({"message":"Hello, World!"})"},
        {"/16k", plain, std::string(std::size_t{16} * 1024, 'x')},
        {"/1m", plain, std::string(std::size_t{1024} * 1024, 'x')},
    }};
    return all;
}

/// What answers /spin/20, after 20 us of work; null if it is no such path.
inline const page* spin_page(std::string_view path) {
    static const page answer{"", "text/plain; charset=utf-8", "spun"};
    if (!path.starts_with(bench::spin_path))
        return nullptr;
    const std::optional<unsigned> us = bench::parse_spin(path.substr(bench::spin_path.size()));
    if (!us)
        return nullptr;
    bench::spin(*us);
    return &answer;
}

/// The page at `path`, or null.
inline const page* find_page(std::string_view path) {
    for (const page& one : pages()) {
        if (one.path == path)
            return &one;
    }
    return spin_page(path);
}

inline constexpr std::string_view default_type = "application/octet-stream";

/// The value of a Date header, made once a second by each thread. Valid until the next call.
inline const std::string& http_date() {
    thread_local std::time_t made_at = -1;
    thread_local std::string text;
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec != made_at) {
        made_at = now.tv_sec;
        std::tm parts{};
        gmtime_r(&made_at, &parts);
        std::array<char, 64> buffer{};
        text.assign(buffer.data(), std::strftime(buffer.data(), buffer.size(),
                                                 "%a, %d %b %Y %H:%M:%S GMT", &parts));
    }
    return text;
}

inline sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// A listening socket that does not block; as many as wanted share the port. Ends if there is none.
inline int listen_on(std::uint16_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    const sockaddr_in address = loopback(port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // connections inherit it
    if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(fd, 4096) != 0) {
        std::perror("listen");
        std::exit(1);
    }
    return fd;
}

/// Runs `work` with a listening socket of its own in each of so many threads, for ever. All listen
/// before any of them works.
template <typename Work>
void run_workers(const arguments& arguments, Work work) {
    std::signal(SIGPIPE, SIG_IGN); // clients go away when they like
    std::vector<int> sockets;
    for (unsigned i = 0; i < arguments.workers; ++i)
        sockets.push_back(listen_on(arguments.port));
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < sockets.size(); ++i)
        threads.emplace_back(work, sockets[i]);
    work(sockets[0]);
}

} // namespace peers
