#pragma once

#include <optional>

#include "histogram.hpp"
#include "settings.hpp"
#include "traffic.hpp"

namespace pace {

struct measurement {
    outcome light;
    std::optional<outcome> heavy;
    histogram lateness; // in ns: how long after a request was due it was given to its connection
    double busy = 0;    // share of the time in which there was something to send or to read
};

/// Sends what is asked for and waits for the answers. Throws std::runtime_error for a wrong answer,
/// std::system_error if the server cannot be reached.
measurement run(const settings& asked);

} // namespace pace
