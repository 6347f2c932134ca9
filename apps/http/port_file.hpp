#pragma once

#include <cstdint>
#include <string>

#include <sys/stat.h>

namespace rota_http {

/// A file that says where the program listens, for as long as that is so.
class port_file {
public:
    /// A reader never sees half of it. Throws std::system_error, with the path, also where there
    /// is something else than such a file: a device, a link, a file that holds no port.
    port_file(std::string path, std::uint16_t port);
    port_file(const port_file&) = delete;
    port_file& operator=(const port_file&) = delete;
    /// Removes it, unless it is another's by now.
    ~port_file();

private:
    const std::string path_;
    struct stat written_ {};
};

} // namespace rota_http
