// The linker gives calls of sendfile64() to __wrap_sendfile64() (ld --wrap), as which sendfile() is
// called where off_t is told to have 64 bits.

#include "failing_sendfile.hpp"

#include <cerrno>

#include <sys/sendfile.h>

namespace rota::io::test {
namespace {

std::atomic<failing_sendfile*> present_sendfile{nullptr};

} // namespace

failing_sendfile::failing_sendfile(int error) : error_(error) { present_sendfile = this; }

failing_sendfile::~failing_sendfile() { present_sendfile = nullptr; }

} // namespace rota::io::test

// NOLINTBEGIN: the names are the linker's
extern "C" {

ssize_t __real_sendfile64(int to, int from, off_t* offset, size_t bytes);
ssize_t __wrap_sendfile64(int to, int from, off_t* offset, size_t bytes);

ssize_t __wrap_sendfile64(int to, int from, off_t* offset, size_t bytes) {
    rota::io::test::failing_sendfile* const watch = rota::io::test::present_sendfile;
    if (watch == nullptr)
        return __real_sendfile64(to, from, offset, bytes);
    errno = watch->fail();
    return -1;
}

} // extern "C"
// NOLINTEND
