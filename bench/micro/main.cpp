// Times the primitives of the framework.

#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cases.hpp"
#include "harness.hpp"
#include "report.hpp"

namespace {

constexpr std::string_view help = "usage: rota-micro [--quick] [--only TEXT] [--json FILE]\n"
                                  "\n"
                                  "Times the primitives of the framework and prints a table.\n"
                                  "  --quick       short repeats: do they all run\n"
                                  "  --only TEXT   only what has TEXT in its name\n"
                                  "  --json FILE   writes the figures there too\n";

struct options {
    rota::bench::harness::settings settings;
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

void run(std::span<char* const> arguments) {
    using namespace rota::bench;
    const options chosen = parse(arguments);
    if (chosen.help) {
        fmt::print("{}", help);
        return;
    }
    harness h(chosen.settings);
    measure_memory(h);
    measure_routines(h);
    measure_channels(h);
    measure_wakeup(h);
    measure_timers(h);
    measure_scheduler(h);

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

int main(int argc, char** argv) {
    try {
        run(std::span(argv, static_cast<std::size_t>(argc)));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "rota-micro: {}\n", error.what());
        return 1;
    }
}
