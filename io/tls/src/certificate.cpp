#include "certificate.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <limits>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <rota/detail/hex.hpp>
#include <rota/io/log.hpp>

#include "host_name.hpp"
#include "staple.hpp"

namespace rota::io::tls {
namespace {

/// No file of ours is so large.
constexpr std::size_t file_bytes_max = 4'194'304;

[[noreturn]] void fail(const std::string& path, int error) {
    for (const int of_file : {ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG, ENXIO}) {
        if (error == of_file)
            refuse_file(path, std::generic_category().message(error));
    }
    throw std::system_error(error, std::generic_category(), path);
}

bio_ptr bio_over(const std::string& text) {
    bio_ptr made(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    require(made != nullptr, "BIO_new_mem_buf");
    return made;
}

constexpr std::string_view block_begin = "-----BEGIN ";
constexpr std::string_view block_end = "-----END ";
constexpr std::string_view dashes = "-----";

/// Whether what stands before a block in its line makes it a part of a text: something that can be
/// seen, and no end of another block.
bool is_text(std::string_view before) noexcept {
    return !before.ends_with(dashes) &&
           std::ranges::any_of(before, [](char c) { return c > ' ' && c < '\x7f'; });
}

/// How many a text claims to have, whatever invisible is before them, and of whatever kind.
std::size_t certificates_in(std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(block_begin, at)) != std::string_view::npos;) {
        const std::string_view before = text.substr(0, at);
        at += block_begin.size();
        count += text.substr(at, text.find(dashes, at) - at).ends_with("CERTIFICATE") &&
                 !is_text(before.substr(before.rfind('\n') + 1));
    }
    return count;
}

/// Whether it has a block of nothing, which OpenSSL takes for a want of memory.
bool has_empty_block(std::string_view text) {
    for (std::size_t at = 0; (at = text.find(block_begin, at)) != std::string_view::npos;) {
        at = std::min(text.find(dashes, at + block_begin.size()), text.size() - dashes.size());
        at = std::min(text.find_first_not_of(" \t\r\n", at + dashes.size()), text.size());
        if (text.substr(at).starts_with(block_end))
            return true;
    }
    return false;
}

/// Whether its key was not decoded when it was read, but can be now: there was no memory then,
/// which OpenSSL does not tell.
bool has_lost_key(const X509& certificate) {
    if (X509_get0_pubkey(&certificate) != nullptr)
        return false;
    unsigned char* der = nullptr;
    const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(&certificate), &der);
    const unsigned char* at = der;
    const key_ptr again(size > 0 ? d2i_PUBKEY(nullptr, &at, size) : nullptr);
    OPENSSL_free(der);
    return again != nullptr;
}

/// Where a file asks for a password there is none.
int no_password(char* /*into*/, int /*size*/, int /*rw*/, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
}

key_ptr read_key(const std::string& path) {
    const std::string text = read_file(path);
    const bio_ptr bio = bio_over(text);
    bool asked = false;
    key_ptr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &no_password, &asked));
    if (asked)
        refuse_file(path, "the key is encrypted, and there is nobody to ask for its password");
    if (key == nullptr) { // maybe for want of memory: not all of OpenSSL's decoders tell
        throw std::runtime_error(path + ": no private key in it (PEM): " + take_reason(path));
    }
    return key;
}

/// Whether a cipher suite that is spoken here can sign with it.
bool can_sign(const EVP_PKEY& key) {
    constexpr std::array kinds{EVP_PKEY_EC, EVP_PKEY_RSA, EVP_PKEY_RSA_PSS, EVP_PKEY_ED25519,
                               EVP_PKEY_ED448};
    return std::ranges::find(kinds, EVP_PKEY_get_base_id(&key)) != kinds.end();
}

/// The text of an ASN.1 string as UTF-8; empty for one with a NUL in it, which is there to deceive.
std::string text_of(const ASN1_STRING* from) {
    unsigned char* utf8 = nullptr;
    const int size = ASN1_STRING_to_UTF8(&utf8, from);
    if (size < 0)
        return {};
    std::string text(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
    OPENSSL_free(utf8);
    return text.find('\0') == std::string::npos ? text : std::string();
}

std::string common_name_of(const X509& certificate) {
    const X509_NAME* const subject = X509_get_subject_name(&certificate);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    return at < 0 ? "" : text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

using general_names_ptr = std::unique_ptr<GENERAL_NAMES, freed_by<&GENERAL_NAMES_free>>;

/// Of subjectAltName; null without it.
general_names_ptr general_names_of(const X509& certificate) {
    return general_names_ptr(static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
}

std::string hex_of(const unsigned char* bytes, std::size_t size) {
    std::string text;
    text.reserve(2 * size);
    for (std::size_t i = 0; i < size; ++i)
        rota::detail::append_hex(text, bytes[i]);
    return text;
}

std::string line_of(const X509_NAME* name) {
    const bio_ptr bio(BIO_new(BIO_s_mem()));
    if (bio == nullptr || X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253) < 0)
        return {};
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

constexpr std::string_view pin_begin = "sha256/";
constexpr int pin_base64 = 44;
using pin_digest = std::array<unsigned char, 32>;

std::string pin_text(const pin_digest& digest) {
    std::array<unsigned char, pin_base64 + 1> base64{};
    EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(digest.size()));
    return std::string(pin_begin).append(reinterpret_cast<const char*>(base64.data()), pin_base64);
}

/// It is used nevertheless: by what clock its peers go is not known here.
void warn_of_dates(const X509& certificate, const std::string& path) {
    using limits = std::numeric_limits<std::int64_t>;
    constexpr std::int64_t soon = 7L * 24 * 60 * 60;
    const std::int64_t now = std::time(nullptr);
    const std::int64_t begin = unix_time(X509_get0_notBefore(&certificate), limits::min());
    const std::int64_t end = unix_time(X509_get0_notAfter(&certificate), limits::max());
    if (now > end)
        log::warn("{}: expired on {}", path, date_of(end));
    else if (now < begin)
        log::warn("{}: not valid before {}", path, date_of(begin));
    else if (end - now < soon)
        log::warn("{}: expires on {}", path, date_of(end));
}

} // namespace

void refuse_file(const std::string& path, const std::string& why) {
    require_memory(path);
    throw unusable_file(path + ": " + why);
}

std::string read_file(const std::string& path) {
    ERR_clear_error(); // what is there afterwards is about this file
    // Not to wait for a writer if it is a pipe (man 2 open).
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const std::unique_ptr<std::FILE, freed_by<&std::fclose>> file(fd < 0 ? nullptr
                                                                         : ::fdopen(fd, "rb"));
    if (file == nullptr) {
        const int error = errno;
        if (fd >= 0)
            ::close(fd);
        fail(path, error);
    }
    struct stat found {};
    if (::fstat(fd, &found) != 0)
        fail(path, errno);
    if (!S_ISREG(found.st_mode))
        refuse_file(path, "no regular file");
    std::string text;
    std::array<char, 16'384> piece; // NOLINT(cppcoreguidelines-pro-type-member-init): read into
    while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get())) {
        text.append(piece.data(), got);
        if (text.size() > file_bytes_max)
            refuse_file(path, "too large");
    }
    if (std::ferror(file.get()) != 0)
        fail(path, errno);
    return text;
}

std::vector<certificate_ptr> read_certificates(const std::string& path) {
    const std::string text = read_file(path);
    if (has_empty_block(text))
        refuse_file(path, "a certificate in it is broken: an empty block");
    const bio_ptr bio = bio_over(text);
    std::vector<certificate_ptr> found;
    while (X509* const each = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
        found.emplace_back(each);
    const unsigned long why = ERR_peek_last_error();
    const bool at_end =
        ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE;
    if (found.empty() && at_end && certificates_in(text) == 0)
        refuse_file(path, "no certificate in it (PEM)");
    if (!at_end)
        refuse_file(path, "a certificate in it is broken: " + take_reason(path));
    // One that is passed over would be missed by clients only.
    if (const std::size_t there = certificates_in(text); found.size() != there) {
        refuse_file(path, std::to_string(found.size()) + " of its " + std::to_string(there) +
                              " certificates can be read: each has to begin a line, with BEGIN "
                              "CERTIFICATE");
    }
    // Reading a certificate's extensions fills them in: here, and not on the workers that share it.
    // What is wrong with one, a handshake tells.
    for (const certificate_ptr& each : found) {
        (void)X509_check_purpose(each.get(), -1, 0);
        if (has_lost_key(*each))
            fail(path, ENOMEM);
    }
    require_memory(path);
    return found;
}

key_pair read_key_pair(const certificate_files& from) {
    key_pair pair;
    pair.chain = read_certificates(from.certificate);
    pair.key = read_key(from.key);
    const X509& own = *pair.chain.front();
    if (!can_sign(*pair.key)) {
        refuse_file(from.key, "TLS cannot sign with a key of this kind: it takes ECDSA, RSA, "
                              "RSA-PSS, Ed25519 and Ed448");
    }
    if (X509_check_private_key(&own, pair.key.get()) != 1)
        refuse_file(from.key, "not the key of the first certificate in " + from.certificate);
    pair.names = names_of(own);
    pair.other_names = other_names_of(own);
    require_memory(from.certificate); // or names may be missing
    if (!from.ocsp.empty())
        add_staple(pair, from);
    warn_of_dates(own, from.certificate);
    return pair;
}

std::vector<std::string> names_of(const X509& certificate) {
    std::vector<std::string> names;
    const general_names_ptr all = general_names_of(certificate);
    if (all == nullptr) {
        std::string name = lower_host(common_name_of(certificate));
        if (!name.empty())
            names.push_back(std::move(name));
        return names;
    }
    for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
        const GENERAL_NAME* const each = sk_GENERAL_NAME_value(all.get(), i);
        if (each->type != GEN_DNS)
            continue;
        std::string name = lower_host(text_of(each->d.dNSName));
        if (!name.empty() && std::ranges::find(names, name) == names.end())
            names.push_back(std::move(name));
    }
    return names;
}

std::vector<std::string> other_names_of(const X509& certificate) {
    std::vector<std::string> names;
    const general_names_ptr all = general_names_of(certificate);
    for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
        const GENERAL_NAME* const each = sk_GENERAL_NAME_value(all.get(), i);
        if (each->type == GEN_DNS)
            continue;
        unsigned char* der = nullptr;
        const int size = i2d_GENERAL_NAME(each, &der);
        require(size > 0, "i2d_GENERAL_NAME");
        names.emplace_back(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
        OPENSSL_free(der);
    }
    return names;
}

certificate_facts facts_of(const X509& certificate) {
    certificate_facts facts;
    facts.subject = line_of(X509_get_subject_name(&certificate));
    facts.issuer = line_of(X509_get_issuer_name(&certificate));
    const ASN1_INTEGER* const serial = X509_get0_serialNumber(&certificate);
    facts.serial =
        hex_of(ASN1_STRING_get0_data(serial), static_cast<std::size_t>(ASN1_STRING_length(serial)));
    facts.names = names_of(certificate);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (X509_digest(&certificate, EVP_sha256(), digest.data(), &size) == 1)
        facts.sha256 = hex_of(digest.data(), size);
    return facts;
}

std::string pin_of(const X509& certificate) {
    unsigned char* der = nullptr;
    const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(&certificate), &der);
    require(size > 0, "i2d_X509_PUBKEY");
    pin_digest digest{};
    const int hashed = EVP_Digest(der, static_cast<std::size_t>(size), digest.data(), nullptr,
                                  EVP_sha256(), nullptr);
    OPENSSL_free(der);
    require(hashed == 1, "EVP_Digest");
    return pin_text(digest);
}

bool is_pin(std::string_view text) {
    std::array<unsigned char, 33> decoded{}; // with one byte for the padding
    if (!text.starts_with(pin_begin) || text.size() != pin_begin.size() + pin_base64)
        return false;
    const auto* const base64 = reinterpret_cast<const unsigned char*>(text.data());
    if (EVP_DecodeBlock(decoded.data(), base64 + pin_begin.size(), pin_base64) < 0)
        return false;
    pin_digest digest{};
    std::copy_n(decoded.begin(), digest.size(), digest.begin());
    return pin_text(digest) == text; // the one spelling that it has
}

} // namespace rota::io::tls
