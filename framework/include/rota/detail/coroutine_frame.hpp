#pragma once

#include <coroutine>
#include <cstddef>
#include <source_location>
#include <type_traits>
#include <utility>

/// GCC 12 lays the frame of some coroutines out wrongly; this makes up for it.
///
/// A frame begins with pointers to the functions that resume and destroy it, and the promise comes
/// next: that is how a coroutine_handle is made of a promise, and a promise found from a handle. A
/// coroutine that has no variable of its own and awaits in a condition (`while (co_await
/// c.fill())`; if, for, do, switch, too) gets a variable for the condition, which GCC 12 puts in
/// front of all that. The code of the coroutine is right, and is given the frame's true address;
/// but every handle that is made of the promise, or given to an awaiter, is wrong.
///
/// So the promise checks, when the coroutine is made, whether its frame is one of these. If so, the
/// handle that belongs to the promise is made right: the two pointers in front of the promise are
/// replaced by functions that go on with the true address. And each awaiter is given that handle,
/// by await_transform. What a frame looks like is known when the coroutine is compiled, so at -O1
/// and above those that are right do nothing for this.
namespace rota::detail {

/// Whether the compiler makes such frames. GCC 14 does not.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14
inline constexpr bool frames_are_displaced = true;
#else
inline constexpr bool frames_are_displaced = false;
#endif

/// First base of a promise.
class coroutine_frame {
public:
    /// Corrects the frame. To be called once with the address that the compiler takes for the
    /// handle's, while the coroutine is suspended for the first time.
    template <class Promise>
    static void settle(Promise& promise, void* frame) noexcept {
        void* const handle = std::coroutine_handle<Promise>::from_promise(promise).address();
        if (handle != frame) [[unlikely]]
            promise.displace(handle, frame, alignof(Promise));
    }

    /// Returns the function that destroys the coroutine of `handle`, for its name.
    [[nodiscard]] static void* destroyer(std::coroutine_handle<> handle) noexcept;

private:
    using step = void (*)(void*);

    void displace(void* handle, void* frame, std::size_t alignment) noexcept;
    static coroutine_frame& of(void* handle) noexcept;
    static void resume(void* handle);
    static void destroy(void* handle);

    // -- set if it is displaced
    void* frame_;
    step resume_;
    step destroy_;
};

/// The awaiter that initial_suspend() returns: suspends, and settles the frame.
template <class Promise>
class frame_start {
public:
    explicit frame_start(Promise& promise) noexcept : promise_(promise) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const noexcept {
        if constexpr (frames_are_displaced)
            coroutine_frame::settle(promise_, self.address());
    }
    void await_resume() const noexcept {}

private:
    Promise& promise_;
};

/// Returns the awaiter of what is awaited: [expr.await]/3.
template <class Awaited>
decltype(auto) awaiter_of(Awaited&& awaited) {
    if constexpr (requires { std::forward<Awaited>(awaited).operator co_await(); })
        return std::forward<Awaited>(awaited).operator co_await();
    else if constexpr (requires { operator co_await(std::forward<Awaited>(awaited)); })
        return operator co_await(std::forward<Awaited>(awaited));
    else
        return static_cast<std::remove_reference_t<Awaited>&>(awaited);
}

/// Awaits `Awaited` with the handle of the promise, whatever the compiler gives.
template <class Promise, class Awaited>
class promise_await {
public:
    promise_await(Promise& promise, Awaited&& awaited, const std::source_location& where)
        : promise_(promise), awaiter_(awaiter_of(std::forward<Awaited>(awaited))) {
        // Here, because the awaiter would be told of a place in this file.
        if constexpr (requires { awaiter_.check(handle(), where); })
            awaiter_.check(handle(), where);
    }
    promise_await(const promise_await&) = delete;
    promise_await& operator=(const promise_await&) = delete;

    decltype(auto) await_ready() { return awaiter_.await_ready(); }
    decltype(auto) await_suspend(std::coroutine_handle<>) {
        return awaiter_.await_suspend(handle());
    }
    decltype(auto) await_resume() { return awaiter_.await_resume(); }

private:
    [[nodiscard]] auto handle() const noexcept {
        return std::coroutine_handle<Promise>::from_promise(promise_);
    }

    Promise& promise_;
    decltype(awaiter_of(std::declval<Awaited>())) awaiter_;
};

} // namespace rota::detail
