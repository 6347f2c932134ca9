// Times the primitives of the framework.

#include "cases.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
    using namespace rota::bench;
    return run_program("rota-micro", argc, argv,
                       {measure_memory, measure_routines, measure_channels, measure_mutexes,
                        measure_wakeup, measure_timers, measure_scheduler});
}
