#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <rota/io/tls/options.hpp>
#include <rota/io/tls/stream.hpp>

#include "openssl.hpp"

namespace rota::io::tls {

/// What is wrong with a file itself, and stays so until it is another: "FILE: why".
class unusable_file : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Throws unusable_file, "path: why"; std::system_error (ENOMEM) if OpenSSL's errors say that it
/// was memory that was lacking.
[[noreturn]] void refuse_file(const std::string& path, const std::string& why);

/// Throws unusable_file; std::system_error, "FILE: why" as well, where the file may be good and the
/// system lacks something (descriptors, memory) or cannot read it now.
[[nodiscard]] std::string read_file(const std::string& path);

/// All certificates of a PEM file, at least one. Throws as read_file() does.
[[nodiscard]] std::vector<certificate_ptr> read_certificates(const std::string& path);

/// A certificate that can be presented.
struct key_pair {
    std::vector<certificate_ptr> chain{}; ///< its own first
    key_ptr key{};
    std::vector<std::string> names{};       ///< in lower case; may begin with "*."
    std::vector<std::string> other_names{}; ///< addresses and so on, encoded
    std::string ocsp{};                     ///< DER; empty: none
    std::int64_t ocsp_from = 0;             ///< Unix time; not used before
    std::int64_t ocsp_until = 0;            ///< Unix time; not used from then on
};
/// Throws as read_file() does, with the name of the file that is at fault. A response that cannot
/// be stapled, and dates that are over or nearly so, are in the log.
[[nodiscard]] key_pair read_key_pair(const certificate_files& from);

/// The host names that it is for: those of subjectAltName, or, where there are none at all, the
/// common name. In lower case.
[[nodiscard]] std::vector<std::string> names_of(const X509& certificate);
/// What else is in subjectAltName, encoded: addresses, mostly.
[[nodiscard]] std::vector<std::string> other_names_of(const X509& certificate);
[[nodiscard]] certificate_facts facts_of(const X509& certificate);
/// "sha256/..." as client_options::pins have it.
[[nodiscard]] std::string pin_of(const X509& certificate);
/// Whether a key can have that pin.
[[nodiscard]] bool is_pin(std::string_view text);

} // namespace rota::io::tls
