#include "record_engine.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace rota::io::tls {
namespace {

constexpr std::size_t header_bytes = 5;
constexpr std::size_t text_of_record_max = 16'384;
constexpr std::size_t record_bytes_max = text_of_record_max + 2'048;
constexpr unsigned char handshake_type = 22;
constexpr unsigned char text_type = 23;
/// What answers a record of a type that has no place (RFC 8446 section 5).
constexpr std::string_view unexpected_message("\x15\x03\x03\x00\x02\x02\x0a", 7);
/// What answers a first record of no version of TLS, to which OpenSSL says nothing.
constexpr std::string_view protocol_version("\x15\x03\x03\x00\x02\x02\x46", 7);
/// Records in a row that bring no text: new keys, tickets, empty ones. A peer that sends more wants
/// nothing but our time.
constexpr std::uint8_t idle_records_max = 64;

constexpr const char* broken_off = "the peer has broken off";

constexpr unsigned char byte_at(std::string_view bytes, std::size_t i) noexcept {
    return static_cast<unsigned char>(bytes[i]);
}

} // namespace

std::size_t whole_record(std::string_view bytes) noexcept {
    if (bytes.size() < header_bytes)
        return 0;
    const unsigned char type = byte_at(bytes, 0);
    const std::size_t length = std::size_t{byte_at(bytes, 3)} << 8 | byte_at(bytes, 4);
    if (type < 20 || type > text_type || byte_at(bytes, 1) != 3 || length > record_bytes_max)
        return bytes.size();
    return bytes.size() >= header_bytes + length ? header_bytes + length : 0;
}

// --- Between OpenSSL and the caller's bytes ---

const BIO_METHOD* record_engine::method() {
    static const std::unique_ptr<BIO_METHOD, freed_by<& BIO_meth_free>> made = [] {
        std::unique_ptr<BIO_METHOD, freed_by<&BIO_meth_free>> fresh(
            BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rota"));
        require(fresh != nullptr && BIO_meth_set_read(fresh.get(), &take) == 1 &&
                    BIO_meth_set_write(fresh.get(), &give) == 1 &&
                    BIO_meth_set_ctrl(fresh.get(), &control) == 1,
                "tls");
        return fresh;
    }();
    return made.get();
}

int record_engine::take(BIO* bio, char* into, int size) noexcept {
    record_engine& self = *static_cast<record_engine*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    // Text has room for one record: of what follows an empty one OpenSSL would keep the rest.
    const bool at_end = self.reading_ && self.in_.size() != self.begun_;
    if (self.left_ == 0 && !at_end)
        self.left_ = whole_record(self.in_);
    if (self.left_ == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    const std::size_t count = std::min(static_cast<std::size_t>(size), self.left_);
    std::memcpy(into, self.in_.data(), count);
    self.in_.remove_prefix(count);
    self.left_ -= count;
    return static_cast<int>(count);
}

int record_engine::give(BIO* bio, const char* from, int size) noexcept {
    record_engine& self = *static_cast<record_engine*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (self.out_ == nullptr) // SSL_free() sends nothing
        return -1;
    try {
        self.out_->append(from, static_cast<std::size_t>(size));
        return size;
    } catch (const std::exception&) { // no memory
        return -1;
    }
}

long record_engine::control(BIO* /*bio*/, int what, long /*number*/, void* /*at*/) noexcept {
    return what == BIO_CTRL_FLUSH ? 1 : 0;
}

void record_engine::connect() {
    ERR_clear_error();
    ssl_.reset(SSL_new(of_->first()));
    require(ssl_ != nullptr, "tls");
    BIO* const bio = BIO_new(method());
    require(bio != nullptr, "tls");
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
}

record_engine::record_engine(std::shared_ptr<const snapshot> of) : of_(std::move(of)) {
    connect();
    SSL_set_accept_state(ssl_.get());
}

record_engine::record_engine(std::shared_ptr<const snapshot> of, const std::string& host)
    : of_(std::move(of)) {
    connect();
    SSL* const ssl = ssl_.get();
    SSL_set_connect_state(ssl);
    const std::string name = host_to_verify(host);
    if (is_address(name)) {
        require(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1, "tls: host");
        return;
    }
    // The common name is for people (RFC 9525 section 2).
    SSL_set_hostflags(ssl,
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    // SSL_set1_host() looks for an address in it first.
    require(X509_VERIFY_PARAM_set1_host(SSL_get0_param(ssl), name.data(), name.size()) == 1 &&
                SSL_set_tlsext_host_name(ssl, name.c_str()) == 1,
            "tls: host");
}

record_engine::~record_engine() = default;

// --- Steps ---

record_engine::outcome record_engine::fail(failure::kind of, std::string text) {
    failed_ = true;
    kind_ = of;
    text_ = std::move(text);
    return outcome::failed;
}

/// What a call that has not gone well is to be taken for.
record_engine::outcome record_engine::step(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
        return outcome::need_record;
    case SSL_ERROR_ZERO_RETURN:
        if (complete_)
            return outcome::ended;
        return fail(failure::kind::protocol, broken_off); // RFC 8446 section 6.1
    default:
        break;
    }
    const long verified = SSL_get_verify_result(ssl_.get());
    std::string why = take_error(broken_off);
    if (!complete_ && verified == X509_V_ERR_APPLICATION_VERIFICATION)
        return fail(failure::kind::certificate, "the server's key is none of those pinned");
    if (!complete_ && verified != X509_V_OK && why == "certificate verify failed") {
        return fail(failure::kind::certificate,
                    why + ": " + X509_verify_cert_error_string(verified));
    }
    return fail(failure::kind::protocol, std::move(why));
}

/// Goes on with the handshake until no whole record is left: each makes OpenSSL return.
record_engine::outcome record_engine::take_records() {
    for (int idle = 0; idle < 2;) {
        const std::size_t before = in_.size();
        ERR_clear_error();
        const int result = SSL_do_handshake(ssl_.get());
        const outcome how = result == 1 ? outcome::done : step(result);
        if (how != outcome::need_record || (left_ == 0 && whole_record(in_) == 0))
            return how;
        idle = in_.size() == before ? idle + 1 : 0;
    }
    return fail(failure::kind::protocol, "a record that is not taken");
}

record_engine::outcome record_engine::handshake(std::string_view& in, std::string& out) {
    if (failed_)
        return outcome::failed;
    const bool begins_records = !in.empty() && byte_at(in, 0) == handshake_type;
    const bool other_version = in.size() > 1 && byte_at(in, 1) != 3;
    if (server() && SSL_in_before(ssl_.get()) == 1 && !in.empty() &&
        (!begins_records || other_version)) {
        // A method is a token; an empty line may come before it (RFC 9112 section 2.2).
        constexpr std::string_view begins = "!#$%&'*+-.^_`|~\r\n0123456789";
        const int small = in[0] | 0x20;
        const bool text =
            (small >= 'a' && small <= 'z') || begins.find(in[0]) != std::string_view::npos;
        if (text)
            return fail(failure::kind::plain_text, "the client does not speak TLS");
        out += begins_records ? protocol_version : unexpected_message;
        return fail(failure::kind::protocol, "no TLS");
    }
    in_ = in;
    out_ = &out;
    const outcome how = take_records();
    complete_ = how == outcome::done;
    if (complete_)
        note_record_size();
    in = std::exchange(in_, {});
    out_ = nullptr;
    return how;
}

record_engine::outcome record_engine::read(std::string_view& in, std::string& text,
                                           std::string& out) {
    in_ = in;
    out_ = &out;
    reading_ = true;
    outcome how = outcome::need_record;
    bool stands = false; // the call before has taken nothing: it has answered the record before it
    for (;;) {
        const std::size_t record = whole_record(in_);
        if (record == 0)
            break;
        begun_ = in_.size();
        const std::size_t before = text.size();
        std::size_t got = 0;
        int result = 0;
        ERR_clear_error();
        text.resize_and_overwrite(before + record, [&](char* at, std::size_t) {
            result = SSL_read_ex(ssl_.get(), at + before, record, &got);
            return before + (result == 1 ? got : 0);
        });
        records_read_ += in_.size() != begun_;
        how = result == 1 ? outcome::done : step(result);
        if (how == outcome::done)
            idle_records_ = 0;
        if (how != outcome::need_record)
            break;
        const bool stood = std::exchange(stands, in_.size() == begun_);
        if (stands && stood)
            break;
        if (!stands && ++idle_records_ > idle_records_max) {
            how = fail(failure::kind::protocol, "records without end that bring nothing");
            break;
        }
    }
    reading_ = false;
    in = std::exchange(in_, {});
    out_ = nullptr;
    return how;
}

bool record_engine::write(std::string_view text, std::string& out) {
    if (failed_)
        return false;
    out_ = &out;
    ERR_clear_error();
    std::size_t written = 0;
    const int result = SSL_write_ex(ssl_.get(), text.data(), text.size(), &written);
    out_ = nullptr;
    if (result == 1)
        return true;
    (void)fail(failure::kind::protocol, take_error("the connection has failed"));
    return false;
}

void record_engine::close(std::string& out) {
    if (failed_ || !complete_)
        return;
    out_ = &out;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
    out_ = nullptr;
}

/// A client may have asked for shorter ones (RFC 6066 section 4).
void record_engine::note_record_size() noexcept {
    const SSL_SESSION* const agreed = SSL_get0_session(ssl_.get());
    const unsigned asked = agreed != nullptr ? SSL_SESSION_get_max_fragment_length(agreed) : 0;
    if (asked >= TLSEXT_max_fragment_length_512 && asked <= TLSEXT_max_fragment_length_4096)
        text_of_record_ = static_cast<std::uint16_t>(256U << asked);
}

std::size_t record_engine::bytes_max(std::size_t text) const noexcept {
    // Header, explicit nonce, tag, type.
    constexpr std::size_t around = header_bytes + 8 + 16 + 1;
    // New keys that were asked for go before it.
    constexpr std::size_t before = 64;
    return text + (text / text_of_record_ + 1) * around + before;
}

bool record_engine::heavy() const noexcept {
    const SSL* const ssl = ssl_.get();
    // Its Finished tells that a server has signed: a HelloRetryRequest comes before that.
    unsigned char finished[EVP_MAX_MD_SIZE];
    const bool light = SSL_is_server(ssl) == 1 && SSL_version(ssl) == TLS1_3_VERSION &&
                       SSL_get_finished(ssl, finished, sizeof finished) != 0 &&
                       (SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) == 0;
    return !light;
}

} // namespace rota::io::tls
