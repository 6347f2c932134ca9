#pragma once

#include <initializer_list>
#include <string_view>

#include "harness.hpp"

namespace rota::bench {

/// The main function of a program that times primitives, Rota's or a peer's: reads its arguments,
/// runs the cases in this order and prints their figures. Returns the exit status.
int run_program(std::string_view name, int argc, char** argv,
                std::initializer_list<void (*)(harness&)> cases);

} // namespace rota::bench
