#pragma once

namespace test {

/// How many allocations this thread may still make; below zero: as many as it likes. For programs
/// of which one source includes limited_memory.hpp.
inline thread_local long allocations_left = -1;
/// How many fail then, before it may make as many as it likes; below zero: all.
inline thread_local long failures_left = -1;

} // namespace test
