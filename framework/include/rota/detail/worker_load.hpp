#pragma once

#include <compare>
#include <cstddef>

namespace rota {

/// How much a worker has to do: runnable work first, live connections second. A runtime counts both
/// together where it looks for the worker of something new (runtime::assign).
struct worker_load {
    std::size_t runnable = 0;
    std::size_t connections = 0;
    auto operator<=>(const worker_load&) const = default;
};

} // namespace rota
