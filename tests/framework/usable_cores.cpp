#include <rota/detail/usable_cores.hpp>

#include <thread>

#include <catch2/catch_test_macros.hpp>

namespace {

TEST_CASE("the cores that can be used are those that a thread may run on") {
    const std::size_t all = rota::detail::usable_cores();
    CHECK(all >= 1);
    std::size_t on_one = 0;
    std::thread([&on_one] {
        cpu_set_t allowed;
        CPU_ZERO(&allowed);
        ::sched_getaffinity(0, sizeof allowed, &allowed);
        cpu_set_t one;
        CPU_ZERO(&one);
        for (unsigned cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
            if (CPU_ISSET(cpu, &allowed))
                CPU_SET(cpu, &one);
        }
        if (::sched_setaffinity(0, sizeof one, &one) == 0)
            on_one = rota::detail::usable_cores();
    }).join();
    CHECK(on_one == 1);
    CHECK(rota::detail::usable_cores() == all);
}

} // namespace
