#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "openssl.hpp"

namespace rota::io::tls {

/// The keys that seal session tickets: RFC 5077 section 4, AES-256-CBC and HMAC-SHA-256. The first
/// seals; all open. Its own ones change with time, and one that is not the first opens for as long
/// as a ticket is good. Any thread.
class ticket_keys {
public:
    static constexpr std::chrono::seconds lifetime{3'600}; ///< of a ticket, and of a sealing key
    static constexpr std::size_t bytes_of_key = 80;
    using clock = std::function<std::chrono::steady_clock::time_point()>;

    explicit ticket_keys(clock now = [] { return std::chrono::steady_clock::now(); })
        : now_(std::move(now)) {}

    /// The keys of a file, which stay until the next call; with none, keys of its own. Throws
    /// std::runtime_error.
    void load(const std::string& path);

    /// As SSL_CTX_set_tlsext_ticket_key_evp_cb() wants it: 1 done, 2 done, but seal anew, 0 no such
    /// key, -1 failed.
    [[nodiscard]] int prepare(unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                              EVP_MAC_CTX* mac, bool seal);

private:
    struct key {
        std::array<unsigned char, 16> name;
        std::array<unsigned char, 32> aes;
        std::array<unsigned char, 32> hmac;
        std::chrono::steady_clock::time_point made;
    };
    void rotate();
    [[nodiscard]] static bool use(const key& k, const unsigned char* iv, EVP_CIPHER_CTX* cipher,
                                  EVP_MAC_CTX* mac, bool seal);

    const clock now_;
    std::mutex lock_;
    std::vector<key> keys_;
    bool own_ = true;
};

} // namespace rota::io::tls
