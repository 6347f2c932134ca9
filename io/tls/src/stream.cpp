#include <rota/io/tls/stream.hpp>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/task.hpp>
#include <rota/thread_end.hpp>

#include "certificate.hpp"
#include "stream_state.hpp"

namespace rota::io::tls {
namespace {

/// Much of this size is queued as a whole, or not at all.
constexpr std::size_t slice_bytes = 65'536;
/// A buffer for records that stays with its thread does not grow beyond this.
constexpr std::size_t kept_bytes_max = 65'536;

/// A buffer of the thread's for records on their way to the stream below. It is out of its place
/// meanwhile, since that stream may be one of TLS, too.
class borrowed_records {
public:
    borrowed_records()
        : place_(kept_by_thread<std::string, struct records_on_their_way>()),
          bytes(std::move(place_)) {
        bytes.clear();
    }
    borrowed_records(const borrowed_records&) = delete;
    borrowed_records& operator=(const borrowed_records&) = delete;
    ~borrowed_records() {
        if (bytes.capacity() <= kept_bytes_max)
            place_.swap(bytes);
    }

private:
    std::string& place_;

public:
    std::string bytes;
};

/// Sees to it that nothing follows a beginning.
struct whole_or_cut {
    bool& cut;
    std::string_view rest;
    bool begun = false;
    ~whole_or_cut() {
        if (begun && !rest.empty())
            cut = true;
    }
};

} // namespace

/// The steps of a stream that wait.
struct stream_parts {
    using state = stream::state;

    static task<bool> grow(state* s, std::size_t above, deadline until) {
        for (;;) {
            if (s->text().size() > above)
                co_return true;
            if (s->ended)
                co_return false;
            if (s->failed || s->truncated)
                s->throw_failure();
            if (!s->tls.complete())
                throw std::logic_error("tls: handshake() comes first");
            s->decrypt();
            if (s->text().size() > above || s->ended || s->failed)
                continue;
            co_await s->arrive(until);
        }
    }

    /// Queues all at once, where the stream below has room, or `past` it: false if it fails, and
    /// for good then.
    static bool put_now(state& s, std::string_view bytes, bool past) {
        borrowed_records records;
        records.bytes.reserve(s.tls.bytes_max(bytes.size()));
        if (!s.tls.write(bytes, records.bytes)) {
            s.failed = true;
            return false;
        }
        s.lost = true; // if it throws, too
        s.lost = !(past ? s.inner.try_write_last(records.bytes) : s.inner.try_write(records.bytes));
        return !s.lost;
    }

    static task<void> check(state* s) {
        const std::stop_token stop = co_await current_stop_token;
        if (stop.stop_requested())
            throw operation_cancelled();
        s->check_writable();
    }

    /// Queues all; with a deadline once there is room, as a connection does. `bytes` outlive it.
    static task<void> put(state* s, std::string_view bytes, deadline until) {
        if (until || !s->takes_more())
            co_await s->room(until);
        s->check_writable(); // a reader may have found it broken meanwhile
        if (bytes.empty())
            co_return;
        std::string records;
        records.reserve(s->tls.bytes_max(bytes.size()));
        if (!s->tls.write(bytes, records)) {
            s->failed = true;
            s->throw_failure();
        }
        co_await s->pass(std::move(records));
    }

    /// `bytes` outlive it.
    static task<void> write(state* s, std::string_view bytes, deadline until) {
        co_await check(s);
        whole_or_cut all{s->cut, bytes};
        // In slices, so that what is queued stays in bounds however much there is to write.
        do {
            const std::string_view slice = all.rest.substr(0, slice_bytes);
            co_await put(s, slice, until);
            all.begun = true;
            all.rest.remove_prefix(slice.size());
            if (!until)
                co_await s->room({});
        } while (!all.rest.empty());
    }

    /// Not in slices: of what the caller holds no part may be queued.
    static task<void> write_own(state* s, std::string bytes, deadline until) {
        co_await check(s);
        co_await put(s, bytes, until);
        std::string().swap(bytes);
        if (!until)
            co_await s->room({});
    }

    static task<void> flush(state* s, deadline until) {
        while (!s->settle())
            co_await s->inner.write({}, until);
        co_await s->inner.flush(until);
    }
};

stream::stream(io::stream& over, const context& with)
    : state_(std::make_unique<state>(nullptr, over, with)) {}

stream::stream(io::stream& over, const context& with, std::string host)
    : state_(std::make_unique<state>(nullptr, over, with, host)) {}

stream::stream(std::unique_ptr<io::stream> over, const context& with) {
    io::stream& below = *over;
    state_ = std::make_unique<state>(std::move(over), below, with);
}

stream::stream(std::unique_ptr<io::stream> over, const context& with, std::string host) {
    io::stream& below = *over;
    state_ = std::make_unique<state>(std::move(over), below, with, host);
}

stream::stream(stream&& other) noexcept = default;
stream& stream::operator=(stream&& other) noexcept = default;
stream::~stream() = default;

// --- Reading ---

std::string_view stream::buffered() const noexcept { return state_->text(); }

void stream::consume(std::size_t bytes) noexcept {
    forget_shown(bytes);
    state_->consumed += bytes;
    if (state_->consumed == state_->plain.size()) {
        state_->plain.clear();
        state_->consumed = 0;
    }
}

task<bool> stream::fill(deadline until) {
    drop_shown();
    return stream_parts::grow(state_.get(), 0, until);
}

task<bool> stream::fill_more(deadline until) {
    drop_shown();
    return stream_parts::grow(state_.get(), buffered().size(), until);
}

bool stream::peer_closed() const noexcept {
    return state_->ended || state_->failed || state_->truncated || state_->inner.peer_closed();
}

bool stream::failed() const noexcept {
    return state_->failed || state_->truncated || state_->lost || state_->inner.failed();
}

// --- Writing ---

task<void> stream::write(std::string_view bytes, deadline until) {
    return stream_parts::write(state_.get(), bytes, until);
}

task<void> stream::write_owned(std::string bytes, deadline until) {
    return stream_parts::write_own(state_.get(), std::move(bytes), until);
}

bool stream::has_room(std::size_t bytes) const noexcept {
    return state_->writable() && state_->owed.empty() &&
           state_->inner.has_room(state_->tls.bytes_max(bytes));
}

bool stream::try_write(std::string_view bytes) {
    state& s = *state_;
    return s.writable() && s.settle() && s.inner.has_room(s.tls.bytes_max(bytes.size())) &&
           (bytes.empty() || stream_parts::put_now(s, bytes, false));
}

bool stream::try_write_last(std::string_view bytes) {
    state& s = *state_;
    return s.writable() && s.takes_more() &&
           (bytes.empty() || stream_parts::put_now(s, bytes, true));
}

task<void> stream::flush(deadline until) { return stream_parts::flush(state_.get(), until); }

send_progress stream::progress() const noexcept { return state_->inner.progress(); }

void stream::shutdown_write() noexcept {
    state& s = *state_;
    if (s.write_ended)
        return;
    s.end_writing();
    s.end_owed = true;
    s.settle();
}

void stream::abort() noexcept {
    state_->lost = true; // so that nothing more is said
    state_->inner.abort();
}

void stream::rest() noexcept { state_->inner.rest(); }

// --- What was agreed on ---

version stream::used() const noexcept {
    return SSL_version(state_->tls.ssl()) == TLS1_3_VERSION ? version::tls1_3 : version::tls1_2;
}

std::string_view stream::cipher() const noexcept {
    const char* const name = SSL_CIPHER_get_name(SSL_get_current_cipher(state_->tls.ssl()));
    return name != nullptr ? name : "";
}

std::string_view stream::protocol() const noexcept {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(state_->tls.ssl(), &name, &size);
    return size != 0 ? std::string_view(reinterpret_cast<const char*>(name), size) : "";
}

std::string_view stream::server_name() const noexcept {
    const char* const name = SSL_get_servername(state_->tls.ssl(), TLSEXT_NAMETYPE_host_name);
    return name != nullptr ? name : "";
}

bool stream::resumed() const noexcept { return SSL_session_reused(state_->tls.ssl()) == 1; }

std::optional<certificate_facts> stream::peer_certificate() const {
    const X509* const peer = SSL_get0_peer_certificate(state_->tls.ssl());
    if (peer == nullptr)
        return std::nullopt;
    return facts_of(*peer);
}

bool stream::is_misdirected(std::string_view host) const {
    const std::string_view asked = server_name();
    if (asked.empty() || asked == host)
        return false;
    return state_->tls.of().is_misdirected(lower_host(asked), host_of(host));
}

} // namespace rota::io::tls
