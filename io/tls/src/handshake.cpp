// The beginning of a stream: see stream.hpp.

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <rota/blocking.hpp>
#include <rota/errors.hpp>
#include <rota/io/log.hpp>
#include <rota/linked_stop.hpp>
#include <rota/routine.hpp>
#include <rota/worker.hpp>

#include "stream_state.hpp"

namespace rota::io::tls {
namespace {

constexpr char handshake_byte = 22;

/// One call of the engine, on whatever thread.
struct engine_step {
    record_engine& tls;
    std::string_view in;
    std::string out{};
    record_engine::outcome how = record_engine::outcome::need_record;

    void run() { how = tls.handshake(in, out); }
};

} // namespace

/// Waits until there is something for the engine. The first byte of all tells whether it is TLS.
task<void> stream::state::first_record(deadline until) {
    while (inner.buffered().empty())
        co_await arrive(until);
    if (inner.buffered().front() != handshake_byte)
        co_return;
    while (whole_record(inner.buffered()) == 0)
        co_await arrive(until);
}

/// What is not sent makes no sense of all that would follow.
task<void> stream::state::send_step(std::string records, deadline until) {
    try {
        co_await inner.write_owned(std::move(records), until);
    } catch (...) {
        lost = true;
        throw;
    }
}

task<void> stream::state::shake_hands(deadline until, worker* home) {
    bool waits = tls.server(); // a client begins
    bool first = true;
    while (!tls.complete()) {
        if (waits && first) {
            co_await first_record(until);
        } else if (waits) {
            while (whole_record(inner.buffered()) == 0)
                co_await arrive(until);
        }
        const std::string_view arrived = inner.buffered();
        engine_step step{.tls = tls, .in = waits ? arrived : std::string_view()};
        const std::size_t given = step.in.size();
        const std::size_t own = shared->server ? shared->server->handshakes_at_once : 1'000;
        if (tls.heavy() && shared->places.get().elsewhere(*home, own)) {
            engine_step* const at = &step;
            auto work = [at] { at->run(); };
            co_await blocking(work);
        } else {
            step.run();
            home->count_yield(); // it takes as long as a turn: what has come meanwhile is next
        }
        if (given != step.in.size())
            inner.consume(given - step.in.size());
        failed = step.how == record_engine::outcome::failed;
        if (failed) {
            owe(std::move(step.out));
            log::debug("tls: a handshake has failed: {}", tls.text());
            throw_failure();
        }
        if (!step.out.empty())
            co_await send_step(std::move(step.out), until);
        first = first && !waits;
        waits = true;
    }
}

task<void> stream::handshake(deadline until) {
    state& s = *state_;
    if (s.tls.complete() || s.failed || s.truncated)
        throw std::logic_error("tls: one handshake for each connection");
    routine& self = co_await current_routine;
    if (!s.tls.server()) {
        co_await s.shake_hands(until, &self.home());
        co_return;
    }
    handshake_place& place = s.shared->places.get();
    const handshake_place::entry under_way(place, s.shared->server->handshakes_max);
    const std::stop_token parent = co_await current_stop_token;
    const linked_stop either(parent, under_way.token());
    bool crowded = false;
    try {
        task<void> shaking = s.shake_hands(until, &self.home());
        co_await shaking.under(either.token());
    } catch (const operation_cancelled&) {
        crowded = under_way.given_up() && !parent.stop_requested();
        if (!crowded)
            throw;
    }
    if (crowded)
        throw failure(failure::kind::crowded, "given up for newer handshakes");
}

} // namespace rota::io::tls
