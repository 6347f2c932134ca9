#pragma once

// What OpenSSL's objects need to be members and locals.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace rota::io::tls {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};
using bio_ptr = std::unique_ptr<BIO, freed_by<&BIO_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<&X509_free>>;
inline void free_names(STACK_OF(X509_NAME) * names) {
    sk_X509_NAME_pop_free(names, &X509_NAME_free);
}
using names_ptr = std::unique_ptr<STACK_OF(X509_NAME), freed_by<&free_names>>;
using ssl_context_ptr = std::unique_ptr<SSL_CTX, freed_by<&SSL_CTX_free>>;
using ssl_ptr = std::unique_ptr<SSL, freed_by<&SSL_free>>;

/// What the calling thread's first error says; there is none left afterwards.
[[nodiscard]] std::string take_error(std::string_view otherwise);

/// As take_error(), for what is wrong with what `of` names. Throws std::system_error (ENOMEM) if it
/// is memory that was lacking: as one of the errors says, or as there is none, for want of it.
[[nodiscard]] std::string take_reason(const std::string& of);
/// Throws as take_reason() does if one of the errors says so; there is none left afterwards.
void require_memory(const std::string& of);

/// Seconds since 1970.
[[nodiscard]] std::int64_t unix_time(const ASN1_TIME* from, std::int64_t otherwise);
/// Of seconds since 1970, for the log.
[[nodiscard]] std::string date_of(std::int64_t seconds);

/// Throws std::runtime_error, "what: why", unless `done`.
void require(bool done, std::string_view what);

} // namespace rota::io::tls
