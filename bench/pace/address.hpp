#pragma once

#include <string>

#include <sys/socket.h>

namespace pace {

/// Where the server is.
class address {
public:
    /// Throws std::runtime_error if there is no such host.
    address(const std::string& host, const std::string& port);

    /// A connected socket that does not block from now on. Throws std::system_error.
    [[nodiscard]] int connect() const;

private:
    sockaddr_storage storage_{};
    socklen_t size_ = 0;
};

} // namespace pace
