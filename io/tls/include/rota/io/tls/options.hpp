#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rota::io::tls {

/// A certificate with its private key, in files.
struct certificate_files {
    std::string certificate; ///< PEM: the certificate, then those between it and a root
    std::string key;         ///< PEM, not encrypted
    /// DER: an OCSP response to staple (RFC 6066 section 8), kept fresh by something else. Not sent
    /// while it is out of date, not valid yet, missing, broken, or about another certificate; in
    /// the last three cases the log says so. Its signature is checked if the issuer's certificate
    /// is among those between. Empty: none.
    std::string ocsp{};
};

enum class version { tls1_2, tls1_3 };

/// Options of a server's context. Ciphers are those with forward secrecy and authenticated
/// encryption; renegotiation, compression and early data do not exist.
struct server_options {
    /// At least one. A client that names a host (SNI, RFC 6066 section 3) gets the certificate for
    /// that name, exact or wildcard; others, and unknown names, the first. Certificates for the
    /// same names, or without any for the same addresses, with different kinds of keys (RSA, ECDSA)
    /// are offered together.
    std::vector<certificate_files> certificates{};
    /// PEM: clients have to present a certificate that leads to one of these, whether it is a root
    /// or not; a session is resumed until the first certificate of that chain ends. Empty: none is
    /// asked for.
    std::string client_ca{};
    /// Protocols in order of preference (ALPN, RFC 7301); a client that offers only others is
    /// refused. Empty: whatever it offers is ignored.
    std::vector<std::string> alpn{};
    version least = version::tls1_2;
    /// Resume sessions by tickets (RFC 5077, RFC 8446 section 4.6.1); their keys change every hour,
    /// and a ticket is good for an hour. Each resumed session brings the ticket of the next; a day
    /// after the whole handshake there is another.
    bool tickets = true;
    /// Instead of keys of its own: a file of 80 random bytes for each key, the first of which
    /// seals, all of which open. Machines that share it resume each other's sessions. When the file
    /// has changed, reload() reads it again.
    std::string ticket_keys{};
    /// Sessions of TLS 1.2 clients that use no tickets. 0: none; nor where there is a client_ca.
    std::size_t session_cache = 4'096;
    /// Connections of one worker with a handshake under way; one more ends the oldest. With an
    /// http::server it begins with the client's first byte. At least 1.
    std::size_t handshakes_max = 1'000;
    /// Private-key operations a second that a worker does itself while it has clients that stay;
    /// others go to the threads of blocking(), which have a lower priority than those that serve
    /// clients. 0: all go there.
    std::size_t handshakes_at_once = 100;
};

/// Options of a client's context. Trust comes from roots, from pins, or from both; one of them is
/// needed.
struct client_options {
    bool system_roots = true;         ///< those of the machine's OpenSSL
    std::vector<std::string> roots{}; ///< PEM files of further ones
    /// "sha256/" and the base64 of the SHA-256 of a public key (RFC 7469 section 2.4): the server's
    /// is one of these. Without any roots that alone decides.
    std::vector<std::string> pins{};
    /// What is presented to a server that asks for a certificate.
    std::optional<certificate_files> certificate{};
    std::vector<std::string> alpn{};
    version least = version::tls1_2;
};

} // namespace rota::io::tls
