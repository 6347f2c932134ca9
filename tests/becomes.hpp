#pragma once

#include <chrono>
#include <thread>

/// Looks again and again until it is so; false after a long time.
template <class Condition>
bool becomes(Condition&& condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(40);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > limit)
            return false;
        std::this_thread::yield();
    }
    return true;
}
