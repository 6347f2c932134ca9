#include "stream_state.hpp"

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <utility>

namespace rota::io::tls {
namespace {

/// Text that is made of records in one go; what is larger waits in the stream below, as records.
constexpr std::size_t text_at_once = 32'768;
/// A record costs as much as so many bytes of text, however short it is. Of those that bring none
/// the engine takes fewer in a row than this lets it.
constexpr std::size_t text_for_record = 256;
/// A peer that asks and asks, and takes no answer.
constexpr std::size_t owed_bytes_max = 16'384;

} // namespace

stream::state::~state() { end_writing(); }

// --- Reading ---

void stream::state::decrypt() {
    if (consumed != 0) {
        plain.erase(0, consumed);
        consumed = 0;
    }
    const std::size_t before = plain.size();
    const std::size_t read_before = tls.records_read();
    const auto taken_at_once = [&] {
        return plain.size() - before + (tls.records_read() - read_before) * text_for_record;
    };
    std::string out;
    while (!ended && !failed && taken_at_once() < text_at_once) {
        const std::string_view arrived = inner.buffered();
        std::string_view in = arrived;
        const record_engine::outcome how = tls.read(in, plain, out);
        const std::size_t taken = arrived.size() - in.size();
        if (taken != 0) // and then there may be another piece behind it
            inner.consume(taken);
        else if (how == record_engine::outcome::need_record)
            break;
        ended = how == record_engine::outcome::ended;
        failed = how == record_engine::outcome::failed;
    }
    if (!out.empty())
        owe(std::move(out));
}

task<void> stream::state::arrive(deadline until) {
    settle();
    if (plain.empty())
        std::string().swap(plain); // it may be long
    bool more = false;
    if (inner.buffered().empty())
        more = co_await inner.fill(until);
    else
        more = co_await inner.fill_more(until);
    if (!more) {
        truncated = true;
        throw_failure();
    }
}

void stream::state::throw_failure() const {
    if (truncated) {
        throw failure(failure::kind::truncated,
                      "the end of the connection came without close_notify");
    }
    throw failure(tls.kind(), tls.text());
}

// --- Writing ---

void stream::state::check_writable() const {
    if (failed)
        throw_failure();
    if (!tls.complete())
        throw std::logic_error("tls: handshake() comes first");
    if (cut) {
        throw std::system_error(ECANCELED, std::system_category(),
                                "tls: write behind one that was cut");
    }
    if (!writable())
        throw std::system_error(EPIPE, std::system_category(), "tls: write");
}

bool stream::state::settle(bool past) noexcept {
    try {
        if (!owed.empty()) {
            // It may be more than there is room for, and then a wait for room would not wait.
            past = past || write_ended || inner.has_room(0);
            if (!(past ? inner.try_write_last(owed) : inner.try_write(owed)))
                return false;
            std::string().swap(owed);
        }
    } catch (const std::exception&) { // no memory now
        return false;
    }
    if (std::exchange(end_owed, false))
        inner.shutdown_write();
    return true;
}

bool stream::state::takes_more() {
    return settle(true) && (inner.has_room(0) || inner.try_write_last({}));
}

void stream::state::owe(std::string&& records) noexcept {
    try {
        if (owed.empty())
            owed = std::move(records);
        else
            owed += records;
        settle();
        if (!failed && owed.size() > owed_bytes_max) {
            failed = true;
            tls.give_up("the peer asks and asks, and takes no answer");
        }
    } catch (const std::exception&) { // no memory: what would follow makes no sense to the peer
        lost = true;
    }
}

task<void> stream::state::room(deadline until) {
    while (!settle() || !inner.has_room(0)) {
        co_await inner.write({}, until);
        if (owed.empty())
            break; // a stream that does not know of its room has waited for it
    }
}

task<void> stream::state::pass(std::string records) {
    constexpr std::size_t copied_max = 4'096;
    static const std::stop_token never;
    try {
        const bool room = inner.has_room(0);
        if (room ? records.size() <= copied_max && inner.try_write(records)
                 : inner.try_write_last(records))
            co_return;
        // There is room, so this waits for nothing; a stop request that comes just now must not
        // part records that belong together.
        task<void> passing =
            inner.write_owned(std::move(records), std::chrono::steady_clock::time_point::max());
        co_await passing.under(never);
    } catch (...) {
        lost = true;
        throw;
    }
}

void stream::state::end_writing() noexcept {
    if (std::exchange(write_ended, true))
        return;
    try {
        std::string last;
        if (!cut && !failed && !lost)
            tls.close(last);
        if (!last.empty())
            owe(std::move(last));
    } catch (const std::exception&) { // no memory: the peer takes it for cut off
    }
}

} // namespace rota::io::tls
