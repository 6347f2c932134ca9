#include "openssl.hpp"

#include <array>
#include <ctime>
#include <stdexcept>

#include <openssl/err.h>

namespace rota::io::tls {

std::string take_error(std::string_view otherwise) {
    const unsigned long first = ERR_peek_error();
    ERR_clear_error();
    const char* const text = first != 0 ? ERR_reason_error_string(first) : nullptr;
    return text != nullptr ? text : std::string(otherwise);
}

std::int64_t unix_time(const ASN1_TIME* from, std::int64_t otherwise) {
    std::tm when{};
    return from != nullptr && ASN1_TIME_to_tm(from, &when) == 1 ? ::timegm(&when) : otherwise;
}

std::string date_of(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm when{};
    std::array<char, 64> text{};
    ::gmtime_r(&time, &when);
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &when)};
}

void require(bool done, std::string_view what) {
    if (!done)
        throw std::runtime_error(std::string(what) + ": " + take_error("no memory"));
}

} // namespace rota::io::tls
