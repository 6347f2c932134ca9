#include "snapshot.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <stdexcept>
#include <utility>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <rota/io/log.hpp>

#include "certificate.hpp"
#include "session_end.hpp"

namespace rota::io::tls {
namespace {

/// Forward secrecy and authenticated encryption, for TLS 1.2; TLS 1.3 has nothing else.
constexpr const char* ciphers_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr const char* groups_of_keys = "X25519:P-256:P-384";
/// Of a peer's certificates; more is refused.
constexpr long certificate_bytes_max = 65'536;
/// Of the names that clients are told: of 64 KiB, which the list shares with others.
constexpr std::size_t root_names_bytes_max = 65'000;

std::string wire_of(const std::vector<std::string>& protocols) {
    std::string wire;
    for (const std::string& each : protocols) {
        if (each.empty() || each.size() > 255)
            throw std::invalid_argument("tls: a protocol's name has 1 to 255 bytes");
        wire += static_cast<char>(each.size());
        wire += each;
    }
    return wire;
}

ssl_context_ptr make_context(const SSL_METHOD* side, version least) {
    ERR_clear_error();
    ssl_context_ptr made(SSL_CTX_new(side));
    require(made != nullptr, "tls");
    SSL_CTX* const ctx = made.get();
    const int lowest = least == version::tls1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
    require(SSL_CTX_set_min_proto_version(ctx, lowest) == 1, "tls: the least version");
    require(SSL_CTX_set_cipher_list(ctx, ciphers_1_2) == 1, "tls: ciphers");
    require(SSL_CTX_set1_groups_list(ctx, groups_of_keys) == 1, "tls: groups");
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY); // each record is accounted for
    SSL_CTX_set_max_cert_list(ctx, certificate_bytes_max);
    return made;
}

void use(SSL_CTX* ctx, const key_pair& pair, const certificate_files& from) {
    std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> between(
        sk_X509_new_null(), [](STACK_OF(X509) * s) { sk_X509_free(s); });
    require(between != nullptr, from.certificate);
    for (std::size_t i = 1; i < pair.chain.size(); ++i)
        require(sk_X509_push(between.get(), pair.chain[i].get()) > 0, from.certificate);
    require(SSL_CTX_use_cert_and_key(ctx, pair.chain.front().get(), pair.key.get(), between.get(),
                                     0) == 1,
            from.certificate);
}

/// Of an elliptic curve; empty for a key of another kind.
std::string curve_of(const EVP_PKEY& key) {
    std::array<char, 64> name{};
    if (EVP_PKEY_get_base_id(&key) == EVP_PKEY_EC)
        (void)EVP_PKEY_get_group_name(&key, name.data(), name.size(), nullptr);
    return name.data();
}

/// It is used nevertheless: a program may know its clients.
void warn_of_clients(const key_pair& pair, const std::string& path) {
    constexpr std::size_t some_take_no_more = 10; // Java's, if it is not told otherwise
    if (pair.chain.size() > some_take_no_more) {
        log::warn("{}: {} certificates in it, and some clients take no more than {}", path,
                  pair.chain.size(), some_take_no_more);
    }
    if ((X509_get_extended_key_usage(pair.chain.front().get()) & (XKU_SSL_SERVER | XKU_ANYEKU)) ==
        0)
        log::warn("{}: its extended key usage leaves out servers, so clients refuse it", path);
    const std::string curve = curve_of(*pair.key);
    if (curve != "" && curve != "prime256v1" && curve != "secp384r1" && curve != "secp521r1")
        log::warn("{}: few clients take its curve, {}, and none by TLS 1.3", path, curve);
}

void trust(SSL_CTX* ctx, const std::vector<certificate_ptr>& roots) {
    X509_STORE* const store = SSL_CTX_get_cert_store(ctx);
    for (const certificate_ptr& each : roots)
        require(X509_STORE_add_cert(store, each.get()) == 1, "tls: a root");
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN); // they need not be roots
}

/// Whom clients are told that their certificates may be by, each once. Nobody if the list would not
/// go into a handshake: they choose by themselves then (RFC 5246 section 7.4.4, RFC 8446 section
/// 4.2.4).
names_ptr root_names_of(const std::vector<certificate_ptr>& roots, const std::string& file) {
    names_ptr names(sk_X509_NAME_new_null());
    require(names != nullptr, file);
    std::set<std::string_view> encoded;
    std::size_t size = 0;
    for (const certificate_ptr& each : roots) {
        X509_NAME* const name = X509_get_subject_name(each.get());
        const unsigned char* bytes = nullptr;
        std::size_t length = 0;
        require(X509_NAME_get0_der(name, &bytes, &length) == 1, file);
        if (!encoded.emplace(reinterpret_cast<const char*>(bytes), length).second)
            continue;
        size += 2 + length;
        X509_NAME* const copy = X509_NAME_dup(name);
        const bool kept = copy != nullptr && sk_X509_NAME_push(names.get(), copy) > 0;
        if (!kept)
            X509_NAME_free(copy);
        require(kept, file);
    }
    if (size <= root_names_bytes_max)
        return names;
    log::warn("{}: its {} names are too long for a handshake, so clients are not told whose "
              "certificates are wanted",
              file, encoded.size());
    return names_ptr(sk_X509_NAME_new_null());
}

/// The place of sessions, as OpenSSL wants it.
std::array<unsigned char, 32> digest_of(std::string_view place) {
    std::array<unsigned char, 32> digest{};
    require(EVP_Digest(place.data(), place.size(), digest.data(), nullptr, EVP_sha256(), nullptr) ==
                1,
            "tls: sessions");
    return digest;
}

/// The name in a ClientHello that is still to be read (RFC 6066 section 3); empty without one, and
/// for what OpenSSL will refuse.
std::string_view asked_name(SSL* ssl) noexcept {
    const unsigned char* bytes = nullptr;
    std::size_t size = 0;
    constexpr std::size_t head = 5; // two lengths of two bytes, and a kind between them
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &bytes, &size) != 1 || size < head)
        return {};
    const std::size_t length = std::size_t{bytes[3]} << 8 | bytes[4];
    if (bytes[2] != TLSEXT_NAMETYPE_host_name || length > size - head)
        return {};
    return {reinterpret_cast<const char*>(bytes) + head, length};
}

} // namespace

// --- A server's ---

snapshot::snapshot(const server_options& options, ticket_keys& tickets)
    : tickets_(&tickets), alpn_(wire_of(options.alpn)) {
    if (options.certificates.empty())
        throw std::invalid_argument("tls: a server needs a certificate");
    if (options.handshakes_max == 0)
        throw std::invalid_argument("tls: handshakes_max must be at least 1");
    session_place_ = "rota";
    if (!options.client_ca.empty()) {
        client_roots_ = read_certificates(options.client_ca);
        for (const certificate_ptr& each : client_roots_)
            session_place_ += pin_of(*each);
        client_root_names_ = root_names_of(client_roots_, options.client_ca);
    }
    groups_.reserve(options.certificates.size()); // callbacks know where they are
    for (const certificate_files& each : options.certificates)
        add(each, options);
    for (std::size_t i = 0; i < groups_.size(); ++i)
        add_names(i);
}

void snapshot::add_names(std::size_t of) {
    const group& own = groups_[of];
    bool shown = of == 0; // for names that nothing is for, too
    for (const std::string& name : own.names)
        shown = index_.add(name, of) || shown;
    if (!shown && own.names.empty()) {
        log::warn("{}: never shown, as no host name is in it, and {} is for those who name none",
                  own.file, groups_.front().file);
    } else if (!shown) {
        log::warn("{}: never shown, as {} comes first for its names", own.file,
                  group_for(own.names.front()).file);
    }
}

void snapshot::add(const certificate_files& from, const server_options& options) {
    key_pair pair = read_key_pair(from);
    warn_of_clients(pair, from.certificate);
    std::ranges::sort(pair.names); // they may stand in any order
    std::ranges::sort(pair.other_names);
    const int kind = EVP_PKEY_get_base_id(pair.key.get());
    const auto beside = std::ranges::find_if(groups_, [&](const group& g) {
        return g.names == pair.names && (!g.names.empty() || g.other_names == pair.other_names) &&
               std::ranges::find(g.key_kinds, kind) == g.key_kinds.end();
    });
    group& in = beside != groups_.end()
                    ? *beside
                    : groups_.emplace_back(make_server_context(options), std::move(pair.names),
                                           std::move(pair.other_names), from.certificate);
    use(in.context.get(), pair, from);
    in.key_kinds.push_back(kind);
    if (!pair.ocsp.empty())
        in.responses.push_back({.certificate = pair.chain.front().get(),
                                .response = std::move(pair.ocsp),
                                .from = pair.ocsp_from,
                                .until = pair.ocsp_until});
}

ssl_context_ptr snapshot::make_server_context(const server_options& options) {
    ssl_context_ptr made = make_context(TLS_server_method(), options.least);
    SSL_CTX* const ctx = made.get();
    SSL_CTX_set_app_data(ctx, this);
    SSL_CTX_set_client_hello_cb(ctx, &separate_sessions, this);
    SSL_CTX_set_tlsext_servername_callback(ctx, &choose_certificate);
    SSL_CTX_set_tlsext_servername_arg(ctx, this);
    SSL_CTX_set_tlsext_status_cb(ctx, &staple);
    SSL_CTX_set_tlsext_status_arg(ctx, this);
    if (!alpn_.empty())
        SSL_CTX_set_alpn_select_cb(ctx, &choose_protocol, this);
    if (options.tickets)
        require(SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, &prepare_ticket) == 1, "tls: tickets");
    else
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_timeout(ctx, static_cast<long>(ticket_keys::lifetime.count()));
    SSL_CTX_set_session_ticket_cb(ctx, &fill_ticket, &accept_ticket, nullptr);
    // A session that is kept would outlive the client's certificate: nobody is asked about it.
    const std::size_t kept = client_roots_.empty() ? options.session_cache : 0;
    SSL_CTX_set_session_cache_mode(ctx, kept != 0 ? SSL_SESS_CACHE_SERVER : SSL_SESS_CACHE_OFF);
    if (kept != 0)
        SSL_CTX_sess_set_cache_size(ctx, static_cast<long>(kept));
    if (!options.tickets && kept == 0)
        require(SSL_CTX_set_num_tickets(ctx, 0) == 1, "tls: tickets");
    const auto place = digest_of(session_place_);
    require(SSL_CTX_set_session_id_context(ctx, place.data(), place.size()) == 1, "tls: sessions");
    if (!client_roots_.empty()) {
        trust(ctx, client_roots_);
        names_ptr names(SSL_dup_CA_list(client_root_names_.get()));
        require(names != nullptr, "tls: client CAs");
        SSL_CTX_set_client_CA_list(ctx, names.release());
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    return made;
}

const snapshot::group& snapshot::group_for(std::string_view name) const noexcept {
    return groups_[index_.find(name).value_or(0)];
}

bool snapshot::is_misdirected(std::string_view asked, std::string_view host) const {
    if (asked.empty() || asked == host)
        return false;
    const group& shown = group_for(asked);
    if (covers(shown.names, host))
        return false;
    const auto other = index_.find(host);
    return other && &groups_[*other] != &shown;
}

std::vector<std::string> snapshot::names() const {
    std::vector<std::string> all;
    for (const group& each : groups_)
        all.insert(all.end(), each.names.begin(), each.names.end());
    return all;
}

// --- What OpenSSL asks for ---

/// A session is resumed under the name that it was made for only (RFC 6066 section 3). Before the
/// session is looked for, as the certificate is chosen behind that in TLS 1.2.
int snapshot::separate_sessions(SSL* ssl, int* alert, void* self) noexcept {
    const auto& of = *static_cast<const snapshot*>(self);
    const std::string_view name = asked_name(ssl);
    if (name.empty())
        return SSL_CLIENT_HELLO_SUCCESS;
    try {
        const auto place = digest_of(of.session_place_ + '\n' + lower_host(name));
        if (SSL_set_session_id_context(ssl, place.data(), place.size()) == 1)
            return SSL_CLIENT_HELLO_SUCCESS;
    } catch (const std::exception&) { // no memory
    }
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_CLIENT_HELLO_ERROR;
}

int snapshot::choose_certificate(SSL* ssl, int* /*alert*/, void* self) noexcept {
    const auto& of = *static_cast<const snapshot*>(self);
    const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (name == nullptr)
        return SSL_TLSEXT_ERR_NOACK;
    try {
        const auto found = of.index_.find(lower_host(name));
        if (!found)
            return SSL_TLSEXT_ERR_NOACK;
        SSL_CTX* const wanted = of.groups_[*found].context.get();
        if (SSL_get_SSL_CTX(ssl) != wanted && SSL_set_SSL_CTX(ssl, wanted) == nullptr)
            return SSL_TLSEXT_ERR_ALERT_FATAL;
        return SSL_TLSEXT_ERR_OK;
    } catch (const std::exception&) { // no memory
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
}

int snapshot::choose_protocol(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_size,
                              const unsigned char* in, unsigned in_size, void* self) noexcept {
    const std::string& ours = static_cast<const snapshot*>(self)->alpn_;
    unsigned char* chosen = nullptr;
    const int how = SSL_select_next_proto(&chosen, out_size,
                                          reinterpret_cast<const unsigned char*>(ours.data()),
                                          static_cast<unsigned>(ours.size()), in, in_size);
    *out = chosen;
    return how == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

int snapshot::staple(SSL* ssl, void* self) noexcept {
    const auto& of = *static_cast<const snapshot*>(self);
    const X509* const shown = SSL_get_certificate(ssl);
    const std::int64_t now = std::time(nullptr);
    for (const group& each : of.groups_) {
        const auto found = std::ranges::find(each.responses, shown, &stapled::certificate);
        if (found == each.responses.end() || now < found->from || now >= found->until)
            continue;
        const std::string& response = found->response;
        void* const copy = OPENSSL_memdup(response.data(), response.size());
        if (copy == nullptr)
            return SSL_TLSEXT_ERR_NOACK;
        SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(response.size()));
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
}

int snapshot::prepare_ticket(SSL* ssl, unsigned char* name, unsigned char* iv,
                             EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int seal) noexcept {
    try {
        auto* const self = static_cast<snapshot*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
        const int known = self->tickets_->prepare(name, iv, cipher, mac, seal != 0);
        // A client of TLS 1.3 uses a ticket once (RFC 8446, appendix C.4), and gets the next: which
        // also acknowledges its part of the handshake, for which it may wait with its request.
        constexpr int good_but_to_be_renewed = 2;
        const bool once = seal == 0 && known == 1 && SSL_version(ssl) == TLS1_3_VERSION;
        return once ? good_but_to_be_renewed : known;
    } catch (const std::exception&) { // no memory, or no randomness
        ERR_clear_error();
        return seal != 0 ? -1 : 0;
    }
}

/// The ticket of a resumed session has the end of the one before: what was verified then is not
/// looked at again, so it must not go on for ever.
int snapshot::fill_ticket(SSL* ssl, void* /*self*/) noexcept {
    if (SSL_session_reused(ssl) == 1)
        return 1;
    const std::int64_t end = session_end(SSL_get0_verified_chain(ssl), std::time(nullptr));
    return keep_end(SSL_get_session(ssl), end) ? 1 : 0;
}

/// A session that is over begins again by a whole handshake, in which the client has to show a
/// certificate of now.
SSL_TICKET_RETURN snapshot::accept_ticket(SSL* /*ssl*/, SSL_SESSION* session,
                                          const unsigned char* /*name*/, std::size_t /*size*/,
                                          SSL_TICKET_STATUS status, void* /*self*/) noexcept {
    const bool good = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
    if (!good || std::time(nullptr) >= kept_end(session).value_or(0))
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

// --- A client's ---

snapshot::snapshot(const client_options& options) : alpn_(wire_of(options.alpn)) {
    for (const std::string& each : options.pins) {
        if (!is_pin(each))
            throw std::invalid_argument("tls: a pin is sha256/ and the base64 of 32 bytes, not " +
                                        each);
    }
    pins_ = options.pins;
    has_roots_ = options.system_roots || !options.roots.empty();
    if (!has_roots_ && pins_.empty())
        throw std::invalid_argument("tls: a client that trusts nobody: it needs roots or pins");
    group only{.context = make_context(TLS_client_method(), options.least)};
    SSL_CTX* const ctx = only.context.get();
    if (options.system_roots)
        require(SSL_CTX_set_default_verify_paths(ctx) == 1, "tls: the system's roots");
    for (const std::string& each : options.roots)
        trust(ctx, read_certificates(each));
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
    if (!pins_.empty())
        SSL_CTX_set_cert_verify_callback(ctx, &check_pin, this);
    if (options.certificate)
        use(ctx, read_key_pair(*options.certificate), *options.certificate);
    if (!alpn_.empty()) {
        require(SSL_CTX_set_alpn_protos(ctx, reinterpret_cast<const unsigned char*>(alpn_.data()),
                                        static_cast<unsigned>(alpn_.size())) == 0,
                "tls: protocols");
    }
    groups_.push_back(std::move(only));
}

/// In place of OpenSSL's check of a chain, which it calls if there are roots: so the server is
/// told.
int snapshot::check_pin(X509_STORE_CTX* chain, void* self) noexcept {
    const auto& of = *static_cast<const snapshot*>(self);
    if (of.has_roots_ && X509_verify_cert(chain) != 1)
        return 0;
    try {
        const X509* const shown = X509_STORE_CTX_get0_cert(chain);
        if (shown != nullptr && std::ranges::find(of.pins_, pin_of(*shown)) != of.pins_.end())
            return 1;
        X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
    } catch (const std::exception&) { // no memory
        X509_STORE_CTX_set_error(chain, X509_V_ERR_OUT_OF_MEM);
    }
    return 0;
}

} // namespace rota::io::tls
