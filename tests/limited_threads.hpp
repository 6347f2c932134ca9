#pragma once

// Lets the start of threads fail. It replaces the program's pthread_create(), so one source of a
// program includes it.

#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>

namespace test {

/// How many threads this one may still start; below zero: as many as it likes.
inline thread_local int threads_left = -1;

struct few_threads {
    explicit few_threads(int count) { threads_left = count; }
    ~few_threads() { threads_left = -1; }
    few_threads(const few_threads&) = delete;
    few_threads& operator=(const few_threads&) = delete;
};

} // namespace test

/// A sanitizer's that is linked into the program, which has to know of each thread.
extern "C" [[gnu::weak]] int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*,
                                                          void* (*)(void*), void*);

/// In the place of the C library's, for this program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) {
    static const auto real =
        __interceptor_pthread_create != nullptr
            ? __interceptor_pthread_create
            : reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    if (::test::threads_left == 0)
        return EAGAIN;
    if (::test::threads_left > 0)
        --::test::threads_left;
    return real(thread, attributes, body, argument);
}
