#include "open_store.hpp"

#include <stdexcept>
#include <string>

#include "memory_store.hpp"
#ifdef ROTA_WITH_SQLITE
#include "sqlite_store.hpp"
#endif

namespace jobs {
namespace {

constexpr std::string_view sqlite_prefix = "sqlite:";

} // namespace

void check_store_name(std::string_view name) {
    const bool file = name.starts_with(sqlite_prefix) && name.size() > sqlite_prefix.size();
    if (name != "memory" && !file) {
        throw std::invalid_argument('"' + std::string(name) +
                                    "\" is no store: try memory or sqlite:PATH");
    }
}

std::unique_ptr<store> open_store(std::string_view name, const store_limits& limits) {
    check_store_name(name);
    if (name == "memory")
        return std::make_unique<memory_store>(limits);
#ifdef ROTA_WITH_SQLITE
    return std::make_unique<sqlite_store>(std::string(name.substr(sqlite_prefix.size())), limits);
#else
    throw store_error("cannot open the job store " + std::string(name) +
                      ": this program was built without SQLite");
#endif
}

} // namespace jobs
