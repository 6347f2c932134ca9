#include "staple.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <openssl/err.h>
#include <openssl/ocsp.h>

#include <rota/io/detail/log.hpp>

namespace rota::io::tls {
namespace {

/// Whether an answer is about `certificate`: by the serial number and the name of the issuer, whose
/// own certificate need not be at hand.
bool is_about(const OCSP_SINGLERESP& answer, const X509& certificate) {
    ASN1_OCTET_STRING* issuer = nullptr;
    ASN1_OBJECT* hashed_by = nullptr;
    ASN1_INTEGER* serial = nullptr;
    auto* const id =
        const_cast<OCSP_CERTID*>(OCSP_SINGLERESP_get0_id(&answer)); // NOLINT: read only
    if (OCSP_id_get0_info(&issuer, &hashed_by, nullptr, &serial, id) != 1)
        return false;
    const EVP_MD* const kind = EVP_get_digestbyobj(hashed_by);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (kind == nullptr ||
        X509_NAME_digest(X509_get_issuer_name(&certificate), kind, digest.data(), &size) != 1)
        return false;
    const std::span<const unsigned char> named(
        ASN1_STRING_get0_data(issuer), static_cast<std::size_t>(ASN1_STRING_length(issuer)));
    return ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(&certificate)) == 0 &&
           std::ranges::equal(named, std::span(digest).first(size));
}

/// Takes a response over if it is about the certificate. Throws, for one that holds no more, too.
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
    for (int i = 0; i < OCSP_resp_count(basic.get()); ++i) {
        OCSP_SINGLERESP* const single = OCSP_resp_get0(basic.get(), i);
        if (!is_about(*single, certificate))
            continue;
        ASN1_GENERALIZEDTIME* made = nullptr;
        ASN1_GENERALIZEDTIME* next = nullptr;
        (void)OCSP_single_get0_status(single, nullptr, nullptr, &made, &next);
        using limits = std::numeric_limits<std::int64_t>;
        constexpr std::int64_t skew = 300; // of clocks
        const std::int64_t now = std::time(nullptr);
        const std::int64_t begin = unix_time(made, limits::max());
        to.ocsp_from = begin - skew;
        to.ocsp_until = unix_time(next, limits::max());
        if (now >= to.ocsp_until)
            refuse_file(from.ocsp, "out of date since " + date_of(to.ocsp_until));
        if (now < to.ocsp_from)
            log::warn("{}: not valid before {}; nothing is stapled until then", from.ocsp,
                      date_of(begin));
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
