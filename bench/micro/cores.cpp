#include "cores.hpp"

namespace rota::bench {
namespace {

task<void> keep_worker_on(unsigned core) {
    keep_on(core);
    co_return;
}

} // namespace

void pin_worker(runtime& rt, std::size_t index, unsigned core) {
    rt.spawn(keep_worker_on(core), {.on = rt.worker_at(index)})->wait_stopped();
}

} // namespace rota::bench
