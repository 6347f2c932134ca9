#include "session_end.hpp"

#include <algorithm>
#include <array>

namespace rota::io::tls {
namespace {

constexpr std::size_t bytes_of_end = 8; // the first is the highest, as machines may differ

} // namespace

std::int64_t session_end(const STACK_OF(X509) * chain, std::int64_t now) {
    std::int64_t end = now + session_seconds_max;
    for (int i = 0; i < sk_X509_num(chain); ++i) { // -1 of none
        const ASN1_TIME* const last = X509_get0_notAfter(sk_X509_value(chain, i));
        end = std::min(end, unix_time(last, 0));
    }
    return end;
}

bool keep_end(SSL_SESSION* of, std::int64_t end) noexcept {
    std::array<unsigned char, bytes_of_end> data{};
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(end) >> 8 * (7 - i));
    return SSL_SESSION_set1_ticket_appdata(of, data.data(), data.size()) == 1;
}

std::optional<std::int64_t> kept_end(SSL_SESSION* of) noexcept {
    void* data = nullptr;
    std::size_t size = 0;
    if (SSL_SESSION_get0_ticket_appdata(of, &data, &size) != 1 || size != bytes_of_end)
        return std::nullopt;
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < size; ++i)
        end = end << 8 | static_cast<const unsigned char*>(data)[i];
    return static_cast<std::int64_t>(end);
}

} // namespace rota::io::tls
