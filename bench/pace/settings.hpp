#pragma once

#include <optional>
#include <string>

namespace pace {

/// Requests for one page at a constant rate.
struct stream_settings {
    std::string path;
    unsigned connections = 0;
    double rate = 0; // requests a second, over all connections
};

struct settings {
    std::string host;
    std::string port;
    stream_settings light;
    std::optional<stream_settings> heavy;
    double seconds = 3;
    double warmup = 1;
};

/// Fills in `into`. An exit code if the program is to end: help was asked for, or the arguments are
/// wrong, which has been said.
std::optional<int> read_command_line(int argc, const char* const* argv, settings& into);

} // namespace pace
