#include "memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include <malloc.h>

#include "fiber.hpp"
#include "world.hpp"
#ifdef ROTA_SIM_HTTP2
#include "request_fields.hpp"
#endif

namespace sim {
namespace {

struct {
    random draws{0};
    bool drawn = false; // a run with shortage
    bool short_now = false;
    bool was_short = false;
    std::uint64_t refused_of_100000 = 0; // or else:
    std::uint64_t until_the_one = 0;
    std::uint64_t until_one_here = 0; // within what is scarce; 0: none
} state;

} // namespace

void memory::draw(std::uint64_t seed) noexcept {
    state = {};
#ifdef ROTA_SIM_HTTP2
    rota::http::h2::request_fields::forget_spare(); // a run is the same behind any other
#endif
    state.draws = random(~seed);
    state.drawn = state.draws.chance(250);
    constexpr unsigned rates[] = {0, 0, 20, 200, 2'000, 10'000};
    state.refused_of_100000 = state.draws.one_of(rates);
    if (state.refused_of_100000 == 0)
        state.until_the_one = state.draws.between(1, state.draws.chance(500) ? 100 : 1500);
}

void memory::begin() noexcept { state.short_now = state.was_short = state.drawn; }
void memory::end() noexcept { state.short_now = false; }
bool memory::was_short() noexcept { return state.was_short; }

bool memory::refuses() noexcept {
    const fiber* const self = fiber::current();
    if (!state.short_now || self == nullptr || !self->serves || self->ample != 0)
        return false;
    bool refused = state.refused_of_100000 != 0
                       ? state.draws.below(100'000) < state.refused_of_100000
                       : --state.until_the_one == 0;
    if (state.until_one_here != 0 && --state.until_one_here == 0)
        refused = true;
    if (refused)
        here().note("no memory");
    return refused;
}

memory::scarce::scarce() noexcept {
    if (state.short_now && state.draws.chance(300))
        state.until_one_here = state.draws.between(1, 24);
}
memory::scarce::~scarce() { state.until_one_here = 0; }

memory::ample::ample() noexcept {
    if (fiber* const self = fiber::current())
        ++self->ample;
}
memory::ample::~ample() {
    if (fiber* const self = fiber::current())
        --self->ample;
}

} // namespace sim

// --- In the place of the library's, for this program ---

void* operator new(std::size_t bytes) {
    if (!sim::memory::refuses()) {
        if (void* const memory = std::malloc(bytes))
            return memory;
    }
    throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
    return sim::memory::refuses() ? nullptr : std::malloc(bytes);
}
/// What reads it later reads nothing of what was there.
void operator delete(void* memory) noexcept {
    if (memory != nullptr) {
        std::memset(memory, 0xdd, ::malloc_usable_size(memory));
        asm volatile("" : : "r"(memory) : "memory"); // a compiler drops what nobody may read
    }
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*unused*/) noexcept { operator delete(memory); }

// What is kept from one run to the next counts as if it were not. The linker passes these off as
// the functions of those names (meson.build).
#define SIM_ALLOCATE "_ZN4rota10frame_pool8allocateEm"
#define SIM_TAKE "_ZN4rota2io11string_pool4takeB5cxx11Em"
#define SIM_KEEP                                                                                   \
    "_ZN4rota2io11string_pool4keepERNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"

void* real_allocate(std::size_t bytes) __asm__("__real_" SIM_ALLOCATE);
void* wrapped_allocate(std::size_t bytes) __asm__("__wrap_" SIM_ALLOCATE);
std::string real_take(std::size_t bytes) __asm__("__real_" SIM_TAKE);
std::string wrapped_take(std::size_t bytes) __asm__("__wrap_" SIM_TAKE);
void real_keep(std::string& s) noexcept __asm__("__real_" SIM_KEEP);
void wrapped_keep(std::string& s) noexcept __asm__("__wrap_" SIM_KEEP);

void* wrapped_allocate(std::size_t bytes) {
    if (sim::memory::refuses())
        throw std::bad_alloc();
    const sim::memory::ample now;
    return real_allocate(bytes);
}

std::string wrapped_take(std::size_t bytes) {
    if (sim::memory::refuses())
        throw std::bad_alloc();
    const sim::memory::ample now;
    return real_take(bytes);
}

void wrapped_keep(std::string& s) noexcept {
    const sim::memory::ample now;
    real_keep(s);
}
