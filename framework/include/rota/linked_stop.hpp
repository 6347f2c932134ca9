#pragma once

#include <concepts>
#include <cstddef>
#include <stop_token>

namespace rota {

/// A stop source that is also requested by any of N tokens:
///
///     const linked_stop either(co_await current_stop_token, server.drain_token());
///     task<void> waiting = wait();
///     co_await waiting.under(either.token());
///
/// The tokens may be requested on any thread, also during construction and destruction.
template <std::size_t N>
class linked_stop {
public:
    template <std::same_as<std::stop_token>... Token>
    requires(sizeof...(Token) == N) explicit linked_stop(const Token&... by)
        : links_{std::stop_callback<relay>(by, relay{&source_})...} {}
    linked_stop(const linked_stop&) = delete;
    linked_stop& operator=(const linked_stop&) = delete;

    void request_stop() noexcept { source_.request_stop(); }
    /// Returns a token that is valid as long as this is, as task::under() needs it.
    [[nodiscard]] const std::stop_token& token() const noexcept { return token_; }

private:
    struct relay {
        std::stop_source* source;
        void operator()() const noexcept { source->request_stop(); }
    };

    std::stop_source source_;
    const std::stop_token token_ = source_.get_token();
    const std::stop_callback<relay> links_[N]; // NOLINT(modernize-avoid-c-arrays): do not move
};

template <class... Token>
linked_stop(const Token&...) -> linked_stop<sizeof...(Token)>;

} // namespace rota
