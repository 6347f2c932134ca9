#include "socket_option.hpp"

#include <cerrno>

#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch_test_macros.hpp>

#include <rota/io/listener.hpp>

namespace rota::io {

TEST_CASE("An option of a socket is set, or errno says why not") {
    const accepted_socket s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(set_option(s.get(), SOL_SOCKET, SO_REUSEADDR, 1));
    int value = 0;
    socklen_t length = sizeof value;
    REQUIRE(::getsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &value, &length) == 0);
    CHECK(value != 0);
    CHECK_FALSE(set_option(-1, SOL_SOCKET, SO_REUSEADDR, 1));
    CHECK(errno == EBADF);
}

} // namespace rota::io
