#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <rota/io/tls/failure.hpp>

#include "openssl.hpp"
#include "snapshot.hpp"

namespace rota::io::tls {

/// The first record of `bytes` (RFC 8446 section 5.1): its size with its header, if all of it is
/// there; 0 if more is needed. What cannot be a record is taken as a whole one, for OpenSSL to
/// refuse.
[[nodiscard]] std::size_t whole_record(std::string_view bytes) noexcept;

/// TLS without input and output: records in, records out. Used by one thread at a time.
class record_engine {
public:
    enum class outcome : std::uint8_t {
        done,        // the handshake is complete; or there is text
        need_record, // no whole record is left
        ended,       // the peer has said close_notify; in a handshake that is a failure
        failed,      // see kind() and text(): nothing more comes, but what there is to send
    };

    /// A server's side.
    explicit record_engine(std::shared_ptr<const snapshot> of);
    /// A client's; `host` is what the certificate has to be for.
    record_engine(std::shared_ptr<const snapshot> of, const std::string& host);
    record_engine(const record_engine&) = delete;
    record_engine& operator=(const record_engine&) = delete;
    ~record_engine();

    /// Each takes whole records off the front of `in` and appends what is to be sent to `out`.
    [[nodiscard]] outcome handshake(std::string_view& in, std::string& out);
    /// Appends the text of one record to `text`.
    [[nodiscard]] outcome read(std::string_view& in, std::string& text, std::string& out);
    /// Appends `text`, which is not empty, in records. False if it has failed.
    [[nodiscard]] bool write(std::string_view text, std::string& out);
    /// Appends close_notify, if the handshake is complete and nothing has failed.
    void close(std::string& out);

    /// How many records read() has taken.
    [[nodiscard]] std::size_t records_read() const noexcept { return records_read_; }
    /// What `text` becomes has at most so many bytes, once the handshake is complete.
    [[nodiscard]] std::size_t bytes_max(std::size_t text) const noexcept;
    /// Whether the next step of the handshake is a heavy one: the use of a private key or the check
    /// of a certificate.
    [[nodiscard]] bool heavy() const noexcept;
    [[nodiscard]] bool complete() const noexcept { return complete_; }
    [[nodiscard]] bool server() const noexcept { return SSL_is_server(ssl_.get()) == 1; }

    /// Fails for a reason that lies outside.
    void give_up(std::string why) { (void)fail(failure::kind::protocol, std::move(why)); }

    // -- after a failure
    [[nodiscard]] failure::kind kind() const noexcept { return kind_; }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

    [[nodiscard]] const SSL* ssl() const noexcept { return ssl_.get(); }
    [[nodiscard]] const snapshot& of() const noexcept { return *of_; }

private:
    static const BIO_METHOD* method();
    static int take(BIO* bio, char* into, int size) noexcept;
    static int give(BIO* bio, const char* from, int size) noexcept;
    static long control(BIO* bio, int what, long number, void* at) noexcept;

    void connect();
    void note_record_size() noexcept;
    [[nodiscard]] outcome step(int result);
    [[nodiscard]] outcome take_records();
    [[nodiscard]] outcome fail(failure::kind of, std::string text);

    std::shared_ptr<const snapshot> of_;
    ssl_ptr ssl_;
    std::string_view in_;   // in a call
    std::size_t left_ = 0;  // of the record that is being taken
    std::size_t begun_ = 0; // in_.size() at the beginning of a step of read()
    bool reading_ = false;  // in read()
    std::uint16_t text_of_record_ = 16'384;
    std::string* out_ = nullptr; // in a call
    std::string text_;
    failure::kind kind_ = failure::kind::protocol;
    std::size_t records_read_ = 0;
    bool complete_ = false;
    bool failed_ = false;
    std::uint8_t idle_records_ = 0; // in a row, without text
};

} // namespace rota::io::tls
