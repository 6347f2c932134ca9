#pragma once

#include <memory>
#include <new>

#include <pthread.h>

namespace rota {

/// Frees what a thread keeps for itself when that thread ends. Replaces a thread_local with a
/// destructor: to register that, glibc allocates, and where there is no memory it ends the process.
///
/// A static object, which is never destroyed. The main thread's object is left to the end of the
/// process.
class thread_end {
public:
    /// `clear` is called with what note() was given, on the ending thread, after the destructors of
    /// its thread_locals; must not throw.
    explicit thread_end(void (*clear)(void* object)) noexcept
        : made_(::pthread_key_create(&key_, clear) == 0) {}
    thread_end(const thread_end&) = delete;
    thread_end& operator=(const thread_end&) = delete;
    ~thread_end() = default; // the key stays: threads may end later

    /// Notes the object of this thread, instead of the one before. Returns false if there is no
    /// memory, or no key: then nothing will clear it. Any thread. Source: man 3
    /// pthread_setspecific.
    [[nodiscard]] bool note(void* object) const noexcept {
        return made_ && ::pthread_setspecific(key_, object) == 0;
    }

private:
    pthread_key_t key_{};
    bool made_;
};

/// Returns the T that the calling thread keeps for itself: made on first use, destroyed when the
/// thread ends. `For` distinguishes those of one type. Throws what T() throws, or std::bad_alloc.
template <class T, class For>
[[nodiscard]] T& kept_by_thread() {
    static const thread_end end([](void* kept) { delete static_cast<T*>(kept); });
    static thread_local T* kept = nullptr;
    if (!kept) {
        auto made = std::make_unique<T>();
        if (!end.note(made.get()))
            throw std::bad_alloc();
        kept = made.release();
    }
    return *kept;
}

} // namespace rota
