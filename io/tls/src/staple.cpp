#include "staple.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <openssl/err.h>
#include <openssl/ocsp.h>

#include <rota/io/log.hpp>

namespace rota::io::tls {
namespace {

/// How long one without nextUpdate is taken for fresh, in seconds.
constexpr std::int64_t fresh_without_end = 7L * 24 * 60 * 60;

/// The issuer of the first certificate of a chain, if it is there: that one itself, maybe.
X509* issuer_in(const std::vector<certificate_ptr>& chain) {
    X509* const own = chain.front().get();
    for (const certificate_ptr& each : chain) {
        if (X509_check_issued(each.get(), own) == X509_V_OK &&
            X509_verify(own, X509_get0_pubkey(each.get())) == 1)
            return each.get();
    }
    return nullptr;
}

bool is_same(const ASN1_OCTET_STRING& said, const unsigned char* digest, unsigned size) {
    const std::span<const unsigned char> bytes(ASN1_STRING_get0_data(&said),
                                               static_cast<std::size_t>(ASN1_STRING_length(&said)));
    return std::ranges::equal(bytes, std::span(digest, size));
}

/// Whether an answer is about `certificate`: by the serial number, the name of the issuer and, if
/// its certificate is at hand, its key (RFC 6960 section 4.1.1).
bool is_about(const OCSP_SINGLERESP& answer, const X509& certificate, const X509* issuer) {
    ASN1_OCTET_STRING* name = nullptr;
    ASN1_OCTET_STRING* key = nullptr;
    ASN1_OBJECT* hashed_by = nullptr;
    ASN1_INTEGER* serial = nullptr;
    auto* const id =
        const_cast<OCSP_CERTID*>(OCSP_SINGLERESP_get0_id(&answer)); // NOLINT: read only
    if (OCSP_id_get0_info(&name, &hashed_by, &key, &serial, id) != 1 ||
        ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(&certificate)) != 0)
        return false;
    constexpr std::array known{NID_sha1, NID_sha256, NID_sha384, NID_sha512};
    if (std::ranges::find(known, OBJ_obj2nid(hashed_by)) == known.end())
        return false;
    const EVP_MD* const kind = EVP_get_digestbyobj(hashed_by);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    require(kind != nullptr && X509_NAME_digest(X509_get_issuer_name(&certificate), kind,
                                                digest.data(), &size) == 1,
            "OCSP");
    if (!is_same(*name, digest.data(), size))
        return false;
    if (issuer == nullptr)
        return true;
    require(X509_pubkey_digest(issuer, kind, digest.data(), &size) == 1, "OCSP");
    return is_same(*key, digest.data(), size);
}

/// Whether a response is signed by the issuer, or by one to whom it has delegated that (RFC 6960
/// section 4.2.2.2).
bool is_signed(OCSP_BASICRESP& response, X509& issuer) {
    const std::unique_ptr<X509_STORE, freed_by<&X509_STORE_free>> trusted(X509_STORE_new());
    const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> known(
        sk_X509_new_null(), [](STACK_OF(X509) * s) { sk_X509_free(s); });
    require(trusted != nullptr && X509_STORE_add_cert(trusted.get(), &issuer) == 1 &&
                known != nullptr && sk_X509_push(known.get(), &issuer) > 0,
            "OCSP");
    X509_STORE_set_flags(trusted.get(), X509_V_FLAG_PARTIAL_CHAIN); // it need not be a root
    return OCSP_basic_verify(&response, known.get(), trusted.get(), 0) == 1;
}

/// Takes over how long an answer holds. Throws for one that holds no more.
void take_times(key_pair& to, const certificate_files& from, const ASN1_TIME* made,
                const ASN1_TIME* next) {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t skew = 300; // of clocks
    const std::int64_t now = std::time(nullptr);
    const std::int64_t begin = unix_time(made, none);
    const std::int64_t end = next == nullptr ? begin + fresh_without_end : unix_time(next, none);
    if (begin == none || end == none)
        refuse_file(from.ocsp, "its times cannot be read");
    to.ocsp_from = begin - skew;
    to.ocsp_until = end;
    if (now >= end)
        refuse_file(from.ocsp, "out of date since " + date_of(end));
    if (now < to.ocsp_from)
        log::warn("{}: not valid before {}; nothing is stapled until then", from.ocsp,
                  date_of(begin));
}

/// Takes a response over if it is about the certificate, and the issuer's. Throws, for one that
/// holds no more, too.
void take_response(key_pair& to, const certificate_files& from, std::string der) {
    const X509& certificate = *to.chain.front();
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    const std::unique_ptr<OCSP_RESPONSE, freed_by<&OCSP_RESPONSE_free>> response(
        d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(der.size())));
    if (response == nullptr ||
        at != reinterpret_cast<const unsigned char*>(der.data()) + der.size())
        refuse_file(from.ocsp, "no OCSP response (DER)");
    const std::unique_ptr<OCSP_BASICRESP, freed_by<&OCSP_BASICRESP_free>> basic(
        OCSP_response_get1_basic(response.get()));
    if (basic == nullptr)
        refuse_file(from.ocsp,
                    "the OCSP response says that something went wrong, and nothing else");
    X509* const issuer = issuer_in(to.chain);
    for (int i = 0; i < OCSP_resp_count(basic.get()); ++i) {
        OCSP_SINGLERESP* const single = OCSP_resp_get0(basic.get(), i);
        if (!is_about(*single, certificate, issuer))
            continue;
        if (issuer != nullptr && !is_signed(*basic, *issuer))
            refuse_file(from.ocsp,
                        "not signed by the issuer of " + from.certificate + ", nor for it");
        ASN1_GENERALIZEDTIME* made = nullptr;
        ASN1_GENERALIZEDTIME* next = nullptr;
        const int status = OCSP_single_get0_status(single, nullptr, nullptr, &made, &next);
        take_times(to, from, made, next);
        if (status != V_OCSP_CERTSTATUS_GOOD) // the truth, and clients are to hear it
            log::warn("{}: says that the certificate in {} is {}", from.ocsp, from.certificate,
                      OCSP_cert_status_str(status));
        to.ocsp = std::move(der);
        return;
    }
    refuse_file(from.ocsp, "says nothing of the certificate in " + from.certificate);
}

} // namespace

void add_staple(key_pair& to, const certificate_files& from) {
    std::error_code unknown;
    if (!std::filesystem::exists(from.ocsp, unknown) && !unknown) {
        log::info("{}: no such file, so nothing is stapled", from.ocsp);
        return;
    }
    try {
        take_response(to, from, read_file(from.ocsp));
    } catch (const unusable_file& e) {
        log::warn("{}; nothing is stapled", e.what());
    }
    ERR_clear_error();
}

} // namespace rota::io::tls
