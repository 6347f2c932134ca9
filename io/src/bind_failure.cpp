#include "bind_failure.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace rota::io {
namespace {

bool lacks_scope(const endpoint& address) noexcept {
    if (address.family() != AF_INET6)
        return false;
    const auto* const of = reinterpret_cast<const sockaddr_in6*>(address.address());
    return IN6_IS_ADDR_LINKLOCAL(&of->sin6_addr) && of->sin6_scope_id == 0;
}

bool has_directory(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    struct stat info {};
    return ::stat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// What an operator can do about it; empty where that is not known.
std::string cure_of(int error, const endpoint& address, int type) {
    const bool is_path = address.family() == AF_UNIX;
    switch (error) {
    case EADDRINUSE:
        if (is_path)
            return "end the program that listens there, or remove what is in the way, or take "
                   "another path";
        return fmt::format("end the program that {} there, which ss -l{}np 'sport = :{}' shows, or "
                           "take another port",
                           type == SOCK_DGRAM ? "receives" : "listens",
                           type == SOCK_DGRAM ? 'u' : 't', address.port());
    case EACCES:
    case EPERM:
        if (is_path)
            return "let this user write to its directory, or take another path";
        if (address.port() == 0 || address.port() >= IPPORT_RESERVED)
            return "a seccomp filter or a security module forbids it";
        return "ports below 1024 are for root: take a higher one, or give the program the right to "
               "it by setcap cap_net_bind_service=+ep PROGRAM";
    case EADDRNOTAVAIL:
        return "no interface of this machine has that address: take one that \"ip address\" shows";
    case EINVAL:
        return lacks_scope(address) ? "a link-local address needs a scope: [fe80::1%eth0]:8080"
                                    : "";
    case EAFNOSUPPORT:
        if (address.family() == AF_UNSPEC)
            return "the endpoint is empty";
        return "this system has no such addresses: take one of IPv4";
    case ENOENT:
        if (is_path && has_directory(address.file_path()))
            return "no socket can be made in its directory: take another path";
        return "make its directory first";
    case EMFILE:
        return "raise the limit of open files: ulimit -n";
    case ENFILE:
        return "raise the system's limit of open files: sysctl fs.file-max";
    default:
        return {};
    }
}

} // namespace

void throw_bind_failure(const endpoint& address, const char* what, int type) {
    const int error = errno;
    const std::string cure = cure_of(error, address, type);
    throw std::system_error(error, std::system_category(),
                            cure.empty()
                                ? fmt::format("{} {}", what, address.to_string())
                                : fmt::format("{} {} ({})", what, address.to_string(), cure));
}

} // namespace rota::io
