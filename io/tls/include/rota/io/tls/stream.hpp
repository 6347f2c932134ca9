#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rota/io/stream.hpp>
#include <rota/io/tls/context.hpp>
#include <rota/io/tls/failure.hpp>
#include <rota/task.hpp>

namespace rota::io::tls {

/// What a peer's certificate says. Names are as RFC 2253 writes them.
struct certificate_facts {
    std::string subject{};
    std::string issuer{};
    std::string serial{};             ///< hexadecimal
    std::vector<std::string> names{}; ///< subjectAltName: host names
    std::string sha256{};             ///< of the certificate, hexadecimal
};

/// TLS over another stream, as a stream.
///
/// First of all handshake(), without which reads and writes are std::logic_error; then it is used
/// as any other. What differs from TCP:
///
/// - the end of the stream is close_notify. Where the transport ends without it, the waits for more
///   throw failure(truncated): an attacker may have cut off the rest;
/// - after such an end failed() is true, although what is written may still arrive;
/// - progress() counts the bytes of the transport.
///
/// Nothing is read ahead of whole records: those that are not complete stay in the stream below, so
/// a wait that is cancelled loses nothing, and an idle connection holds no buffer. Destroying it
/// sends close_notify, unless a write was cut off or something failed; it does not end the stream
/// below. Failures are failure, or what the stream below throws.
class stream final : public io::stream {
public:
    /// Makes the server's side. `over` outlives it and is not used by anything else.
    stream(io::stream& over, const context& with);
    /// Makes the client's side: `host`, a name or an address, with or without a port, is what the
    /// server's certificate has to be for. Throws std::invalid_argument for what is neither.
    stream(io::stream& over, const context& with, std::string host);
    /// Does the same over a stream that it owns.
    stream(std::unique_ptr<io::stream> over, const context& with);
    stream(std::unique_ptr<io::stream> over, const context& with, std::string host);
    stream(stream&& other) noexcept;
    stream& operator=(stream&& other) noexcept;
    ~stream() override;

    /// Agrees on everything with the peer. Steps that need a private key run on a thread of
    /// blocking() where they would hold up other clients. Throws timed_out, failure, and what the
    /// stream below throws; the connection is unusable then, though what the peer has to be told of
    /// it is queued.
    [[nodiscard]] task<void> handshake(deadline until = {});

    [[nodiscard]] std::string_view buffered() const noexcept override;
    void consume(std::size_t bytes) noexcept override;
    task<bool> fill(deadline until = {}) override;
    task<bool> fill_more(deadline until = {}) override;
    [[nodiscard]] bool peer_closed() const noexcept override;
    [[nodiscard]] bool failed() const noexcept override;
    task<void> write(std::string_view bytes, deadline until = {}) override;
    task<void> write_owned(std::string bytes, deadline until = {}) override;
    bool try_write(std::string_view bytes) override;
    bool try_write_last(std::string_view bytes) override;
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept override;
    task<void> flush(deadline until = {}) override;
    [[nodiscard]] send_progress progress() const noexcept override;
    /// Sends close_notify after the last byte, and half-closes the stream below.
    void shutdown_write() noexcept override;
    void abort() noexcept override;
    void rest() noexcept override;

    // -- what was agreed on, after handshake(); views live as long as the stream

    [[nodiscard]] version used() const noexcept;
    /// Returns the name that OpenSSL and the RFCs use: "TLS_AES_256_GCM_SHA384".
    [[nodiscard]] std::string_view cipher() const noexcept;
    /// Returns the protocol chosen by ALPN; empty if the client offered nothing, or nothing was to
    /// be chosen from.
    [[nodiscard]] std::string_view protocol() const noexcept;
    /// Returns the host that the client has named (SNI), as it has written it; empty if none.
    [[nodiscard]] std::string_view server_name() const noexcept;
    [[nodiscard]] bool resumed() const noexcept;
    /// Returns the peer's certificate; nothing if it has presented none. Verified, whenever there
    /// is one.
    [[nodiscard]] std::optional<certificate_facts> peer_certificate() const;
    /// Returns, on the server's side, whether a request for `host` (with or without a port) belongs
    /// on another connection: the client has asked for one name, whose certificate does not cover
    /// this one, and another certificate does.
    [[nodiscard]] bool is_misdirected(std::string_view host) const;

private:
    struct state;
    friend struct stream_parts;
    std::unique_ptr<state> state_;
};

} // namespace rota::io::tls
