#pragma once

#include <exception>

#include <rota/io/context.hpp>
#include <rota/io/end_signals.hpp>

namespace rota::io {

/// Runs a server on this thread until it has ended; a signal has it drain. Throws what its run()
/// throws.
template <class Server>
void run_beside_signals(context& ctx, Server& s, end_signals& signals) {
    signals.call([&s] { s.drain(); });
    std::exception_ptr error;
    try {
        ctx.block_on(s.run());
    } catch (...) {
        error = std::current_exception();
    }
    signals.call({});
    if (error)
        std::rethrow_exception(error);
}

} // namespace rota::io
