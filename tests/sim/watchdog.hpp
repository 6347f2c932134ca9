#pragma once

namespace sim {

/// Ends this process with a failure of its seed once one step has taken several seconds of CPU:
/// code that goes round in circles without letting others go on, which the world cannot see. For
/// each process anew; a process has one thread.
void watch_steps();

} // namespace sim
