#include "program.hpp"

#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "report.hpp"

namespace rota::bench {
namespace {

constexpr std::string_view help = "usage: {} [--quick] [--only TEXT] [--json FILE]\n"
                                  "\n"
                                  "Times primitives and prints a table.\n"
                                  "  --quick       short repeats: do they all run\n"
                                  "  --only TEXT   only what has TEXT in its name\n"
                                  "  --json FILE   writes the figures there too\n";

struct options {
    harness::settings settings;
    std::string json;
    bool help = false;
};

options parse(std::span<char* const> arguments) {
    options result;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const std::string_view argument = arguments[i];
        if (argument == "--help" || argument == "-h") {
            result.help = true;
        } else if (argument == "--quick") {
            result.settings.quick = true;
        } else if ((argument == "--only" || argument == "--json") && i + 1 < arguments.size()) {
            (argument == "--only" ? result.settings.only : result.json) = arguments[++i];
        } else {
            throw std::invalid_argument(fmt::format("{}: not understood", argument));
        }
    }
    return result;
}

void run(std::string_view name, std::span<char* const> arguments,
         std::initializer_list<void (*)(harness&)> cases) {
    const options chosen = parse(arguments);
    if (chosen.help) {
        fmt::print(help, name);
        return;
    }
    harness h(chosen.settings);
    for (const auto measure : cases) {
        measure(h);
    }
    const setting s = setting::of(arguments);
    fmt::print("{}", as_table(s, h.figures()));
    if (!chosen.json.empty()) {
        std::ofstream file(chosen.json);
        file << as_json(s, h.figures());
        if (!file.flush()) {
            throw std::runtime_error(chosen.json + ": cannot be written");
        }
    }
}

} // namespace

int run_program(std::string_view name, int argc, char** argv,
                std::initializer_list<void (*)(harness&)> cases) {
    try {
        run(name, std::span(argv, static_cast<std::size_t>(argc)), cases);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}: {}\n", name, error.what());
        return 1;
    }
}

} // namespace rota::bench
