#include <rota/io/tls/failure.hpp>

#include <cerrno>

namespace rota::io::tls {

static int errno_of(failure::kind of) noexcept {
    switch (of) {
    case failure::kind::truncated:
        return ECONNRESET;
    case failure::kind::crowded:
        return ECONNABORTED;
    case failure::kind::protocol:
    case failure::kind::certificate:
    case failure::kind::plain_text:
        break;
    }
    return EPROTO;
}

failure::failure(kind of, const std::string& text)
    : std::system_error(errno_of(of), std::system_category(), "tls: " + text), kind_(of) {}

} // namespace rota::io::tls
