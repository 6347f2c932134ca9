#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rota/io/tls/options.hpp>

#include "host_name.hpp"
#include "openssl.hpp"
#include "ticket_keys.hpp"

namespace rota::io::tls {

/// What the files of a context said at one time, as OpenSSL wants it. Immutable; any thread. Lives
/// as long as the connections that were made of it.
class snapshot {
public:
    /// `tickets` outlives it. Throws std::runtime_error for files, std::invalid_argument for
    /// options.
    snapshot(const server_options& options, ticket_keys& tickets);
    explicit snapshot(const client_options& options);
    snapshot(const snapshot&) = delete;
    snapshot& operator=(const snapshot&) = delete;

    /// Of the first certificates; for a client there are no others.
    [[nodiscard]] SSL_CTX* first() const noexcept { return groups_.front().context.get(); }
    /// See stream::is_misdirected(). Both are in lower case.
    [[nodiscard]] bool is_misdirected(std::string_view asked, std::string_view host) const;
    [[nodiscard]] std::vector<std::string> names() const;

private:
    /// A response for a certificate, and when it holds (seconds since 1970).
    struct stapled {
        const X509* certificate;
        std::string response;
        std::int64_t from;
        std::int64_t until;
    };
    /// Certificates for the same names; for the same addresses, if they have none.
    struct group {
        ssl_context_ptr context;
        std::vector<std::string> names;
        std::vector<std::string> other_names;
        std::string file; // of the first
        std::vector<int> key_kinds;
        std::vector<stapled> responses;
    };

    void add(const certificate_files& from, const server_options& options);
    void add_names(std::size_t of);
    [[nodiscard]] ssl_context_ptr make_server_context(const server_options& options);
    [[nodiscard]] const group& group_for(std::string_view name) const noexcept;

    static int separate_sessions(SSL* ssl, int* alert, void* self) noexcept;
    static int choose_certificate(SSL* ssl, int* alert, void* self) noexcept;
    static int choose_protocol(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                               const unsigned char* in, unsigned in_size, void* self) noexcept;
    static int staple(SSL* ssl, void* self) noexcept;
    static int prepare_ticket(SSL* ssl, unsigned char* name, unsigned char* iv,
                              EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int seal) noexcept;
    static int fill_ticket(SSL* ssl, void* self) noexcept;
    static SSL_TICKET_RETURN accept_ticket(SSL* ssl, SSL_SESSION* session,
                                           const unsigned char* name, std::size_t size,
                                           SSL_TICKET_STATUS status, void* self) noexcept;
    static int check_pin(X509_STORE_CTX* chain, void* self) noexcept;

    std::vector<group> groups_;
    name_index index_;
    ticket_keys* tickets_ = nullptr;
    std::string alpn_; // as the wire has it
    std::vector<certificate_ptr> client_roots_;
    names_ptr client_root_names_; // for clients to choose a certificate by
    std::string session_place_;   // sessions of other places are not resumed
    std::vector<std::string> pins_;
    bool has_roots_ = false;
};

} // namespace rota::io::tls
