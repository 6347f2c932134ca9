#pragma once

#include <memory>
#include <string>
#include <utility>

#include <rota/io/shared_bytes.hpp>

namespace rota::io::test {

/// Bytes, and how to tell whether they are held.
struct watched {
    explicit watched(std::string text)
        : held(std::make_shared<std::string>(std::move(text))),
          bytes(std::shared_ptr<const char[]>(held, held->data()), held->size()) {}
    /// Besides these here.
    [[nodiscard]] long holders() const { return held.use_count() - 2; }

    std::shared_ptr<std::string> held;
    shared_bytes bytes;
};

} // namespace rota::io::test
