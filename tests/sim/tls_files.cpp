#include "tls_files.hpp"

// What a program may replace as a whole is deprecated since 3.0, and there is nothing so short.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/mman.h>
#include <unistd.h>

#include "world.hpp"

#include "openssl.hpp"

namespace sim {
namespace {

using rota::io::tls::freed_by;

void require(bool holds) {
    if (!holds)
        here().fail("OpenSSL makes no certificate");
}

/// A file that has a path as long as this program runs.
std::string path_of(BIO* content) {
    char* bytes = nullptr;
    const auto size = static_cast<std::size_t>(BIO_get_mem_data(content, &bytes));
    const int fd = ::memfd_create("rota-sim", MFD_CLOEXEC);
    require(fd >= 0 && ::write(fd, bytes, size) == static_cast<ssize_t>(size));
    return "/proc/self/fd/" + std::to_string(fd);
}

rota::io::tls::certificate_files make_pair() {
    const std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>> key(
        EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    const std::unique_ptr<X509, freed_by<&X509_free>> made(X509_new());
    require(key != nullptr && made != nullptr);
    X509* const x = made.get();
    X509_NAME* const subject = X509_get_subject_name(x);
    require(X509_set_version(x, X509_VERSION_3) == 1 &&
            ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1 &&
            X509_gmtime_adj(X509_getm_notBefore(x), -86'400) != nullptr &&
            X509_gmtime_adj(X509_getm_notAfter(x), 86'400) != nullptr &&
            X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                       reinterpret_cast<const unsigned char*>("a.test"), -1, -1,
                                       0) == 1 &&
            X509_set_issuer_name(x, subject) == 1 && X509_set_pubkey(x, key.get()) == 1);
    const std::unique_ptr<X509_EXTENSION, freed_by<&X509_EXTENSION_free>> names(
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:a.test"));
    require(names != nullptr && X509_add_ext(x, names.get(), -1) == 1 &&
            X509_sign(x, key.get(), nullptr) > 0);
    const std::unique_ptr<BIO, freed_by<&BIO_free>> certificate(BIO_new(BIO_s_mem()));
    const std::unique_ptr<BIO, freed_by<&BIO_free>> secret(BIO_new(BIO_s_mem()));
    require(PEM_write_bio_X509(certificate.get(), x) == 1 &&
            PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                     nullptr) == 1);
    return {.certificate = path_of(certificate.get()), .key = path_of(secret.get())};
}

random& source() {
    static random drawn(0);
    return drawn;
}

int draw_bytes(unsigned char* into, int size) {
    for (int i = 0; i < size; ++i)
        into[i] = static_cast<unsigned char>(source().next() >> 56);
    return 1;
}

int be_ready() { return 1; }

} // namespace

const rota::io::tls::certificate_files& tls_pair() {
    static const rota::io::tls::certificate_files made = make_pair();
    return made;
}

void draw_tls_from(std::uint64_t seed) {
    static const RAND_METHOD method{.seed = nullptr,
                                    .bytes = &draw_bytes,
                                    .cleanup = nullptr,
                                    .add = nullptr,
                                    .pseudorand = &draw_bytes,
                                    .status = &be_ready};
    source() = random(seed);
    require(RAND_set_rand_method(&method) == 1);
}

} // namespace sim
