#include "openssl.hpp"

#include <array>
#include <cerrno>
#include <ctime>
#include <stdexcept>
#include <system_error>

#include <openssl/err.h>

namespace rota::io::tls {

namespace {

struct errors {
    unsigned long first = 0;
    bool no_memory = false;
};

errors take_errors() noexcept {
    errors all;
    while (const unsigned long each = ERR_get_error()) {
        if (all.first == 0)
            all.first = each;
        all.no_memory = all.no_memory || ERR_GET_REASON(each) == ERR_R_MALLOC_FAILURE;
    }
    return all;
}

std::string reason_text(unsigned long error, std::string_view otherwise) {
    const char* const text = error != 0 ? ERR_reason_error_string(error) : nullptr;
    return text != nullptr ? text : std::string(otherwise);
}

[[noreturn]] void fail_for_memory(const std::string& of) {
    throw std::system_error(ENOMEM, std::generic_category(), of);
}

} // namespace

std::string take_error(std::string_view otherwise) {
    return reason_text(take_errors().first, otherwise);
}

std::string take_reason(const std::string& of) {
    const errors all = take_errors();
    if (all.no_memory || all.first == 0)
        fail_for_memory(of);
    return reason_text(all.first, "unknown format");
}

void require_memory(const std::string& of) {
    if (take_errors().no_memory)
        fail_for_memory(of);
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
