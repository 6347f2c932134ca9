// What is left of main(): a server in the foreground, ended by signals, and an exit code.

#include <rota/io/server.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <rota/io/detail/failure.hpp>
#include <rota/io/end_signals.hpp>
#include <rota/io/log.hpp>

#include "beside_signals.hpp"
#include "server_state.hpp"

namespace rota::io {

void run_until_signalled(context& ctx, server& s, end_signals& signals) {
    try {
        run_beside_signals(ctx, s, signals);
    } catch (...) {
        s.state_->settle({}); // before run(), perhaps: nobody is to wait for it
        throw;
    }
}

void run_until_signalled(context& ctx, server& s) {
    std::optional<end_signals> signals;
    try {
        signals.emplace(s.state_->options.drain_timeout);
    } catch (...) { // no thread for them
        s.state_->settle({});
        throw;
    }
    run_until_signalled(ctx, s, *signals);
}

detail::failure_words detail::words_for(const std::exception& e) noexcept {
    if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr)
        return {"", "no memory", " (raise the limit of it: ulimit -v, or the container's)"};
    // Of a thread that cannot be had the library says the reason only.
    const auto* const of_system = dynamic_cast<const std::system_error*>(&e);
    try {
        if (of_system != nullptr &&
            of_system->code() == std::errc::resource_unavailable_try_again &&
            of_system->code().message() == e.what()) {
            return {"cannot start a thread: ", e.what(),
                    " (raise the limit of threads or of memory: ulimit -u, ulimit -v, or the "
                    "container's)"};
        }
    } catch (const std::bad_alloc&) { // for the message
    }
    return {"", e.what(), ""};
}

int detail::exit_code_of_failure() noexcept {
    try {
        try {
            // cppcheck-suppress rethrowNoCurrentException ; it is called by a handler
            throw;
        } catch (const std::exception& e) {
            const failure_words words = words_for(e);
            log::critical("{}{}{}", words.before, words.reason, words.cure);
        }
    } catch (...) { // no exception with a text, or no memory to tell it
        std::fputs("something went wrong, and it cannot be said what\n", stderr);
    }
    return 1;
}

template <class Handler>
static int serve_with(Handler& on_client, const std::string& address, server_options& options,
                      const context_options& context) noexcept {
    // cppcheck-suppress throwInNoexceptFunction ; it is caught
    return exit_code_of([&] {
        options.listen.push_back(endpoint::parse(address));
        end_signals signals(options.drain_timeout); // around the context, which may hang, too
        io::context ctx(context);
        server serving(ctx, std::move(on_client), std::move(options));
        run_until_signalled(ctx, serving, signals);
    });
}

int serve(server::handler on_client, const std::string& address, server_options options,
          const context_options& context) noexcept {
    // cppcheck-suppress throwInNoexceptFunction ; it is caught
    return serve_with(on_client, address, options, context);
}

int serve(server::drained_handler on_client, const std::string& address, server_options options,
          const context_options& context) noexcept {
    // cppcheck-suppress throwInNoexceptFunction ; it is caught
    return serve_with(on_client, address, options, context);
}

} // namespace rota::io
