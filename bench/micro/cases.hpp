#pragma once

#include "harness.hpp"

/// What is measured, by subject. Each starts the runtimes that it needs, and stops them.
namespace rota::bench {

/// Memory of routines that sleep. First of all: it looks at how the process grows.
void measure_memory(harness& h);
/// Awaiting, spawning and joining, yielding: on one worker.
void measure_routines(harness& h);
/// Channels within a worker and across two.
void measure_channels(harness& h);
/// Mutexes: nobody else wants them, within a worker, and between two.
void measure_mutexes(harness& h);
/// Waking a worker whose thread sleeps.
void measure_wakeup(harness& h);
/// Arming and disarming timers.
void measure_timers(harness& h);
/// Picking the worker for a new routine or connection.
void measure_scheduler(harness& h);

} // namespace rota::bench
