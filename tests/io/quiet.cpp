// Keeps the reactor's log out of the tests' output; ROTA_TEST_LOG=1 shows it.

#include <cstdlib>

#include <spdlog/spdlog.h>

namespace {

[[maybe_unused]] const bool quiet = [] {
    const bool show = std::getenv("ROTA_TEST_LOG") != nullptr;
    spdlog::set_level(show ? spdlog::level::debug : spdlog::level::off);
    return !show;
}();

} // namespace
