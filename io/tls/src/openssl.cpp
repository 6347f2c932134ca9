#include "openssl.hpp"

#include <stdexcept>

#include <openssl/err.h>

namespace rota::io::tls {

std::string take_error(std::string_view otherwise) {
    const unsigned long first = ERR_peek_error();
    ERR_clear_error();
    const char* const text = first != 0 ? ERR_reason_error_string(first) : nullptr;
    return text != nullptr ? text : std::string(otherwise);
}

void require(bool done, std::string_view what) {
    if (!done)
        throw std::runtime_error(std::string(what) + ": " + take_error("no memory"));
}

} // namespace rota::io::tls
