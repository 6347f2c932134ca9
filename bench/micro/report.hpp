#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness.hpp"

namespace rota::bench {

/// What the figures depend on.
struct setting {
    std::string command;
    std::string when;
    std::string cpu;
    unsigned cores = 0;
    std::string kernel;
    std::string compiler;
    bool optimized = false;

    static setting of(std::span<char* const> arguments);
};

/// A Markdown table that reads well as text, under a list of the settings.
[[nodiscard]] std::string as_table(const setting& s, const std::vector<figure>& figures);
[[nodiscard]] std::string as_json(const setting& s, const std::vector<figure>& figures);

} // namespace rota::bench
