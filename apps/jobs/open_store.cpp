#include "open_store.hpp"

#include <stdexcept>
#include <string>

#include "jobs/rules/memory_store.hpp"
#ifdef ROTA_WITH_SQLITE
#include "jobs/sqlite/store.hpp"
#endif
#ifdef ROTA_WITH_POSTGRES
#include "jobs/postgres/store.hpp"
#endif

namespace jobs {
namespace {

constexpr std::string_view sqlite_prefix = "sqlite:";

bool is_file(std::string_view name) {
    return name.starts_with(sqlite_prefix) && name.size() > sqlite_prefix.size();
}

bool is_url(std::string_view name) {
    return name.starts_with("postgres://") || name.starts_with("postgresql://");
}

} // namespace

void check_store_name(std::string_view name) {
    if (is_url(name)) {
#ifdef ROTA_WITH_POSTGRES
        if (!is_postgres_url(std::string(name)))
            throw std::invalid_argument("this is no URL of a PostgreSQL database: try "
                                        "postgres://USER@HOST:PORT/DATABASE");
#endif
        return;
    }
    if (name == "sqlite::memory:")
        throw std::invalid_argument("such a database does not last: that store is called memory");
    if (name != "memory" && !is_file(name)) {
        // A URL may hold a password.
        const bool repeated = name.find("://") == std::string_view::npos;
        throw std::invalid_argument((repeated ? '"' + std::string(name) + '"' : "this URL") +
                                    " is no store: try memory, sqlite:PATH or "
                                    "postgres://USER@HOST/DATABASE");
    }
}

std::unique_ptr<store> open_store(std::string_view name, const store_limits& limits,
                                  [[maybe_unused]] rota::io::context& on,
                                  [[maybe_unused]] std::size_t connections) {
    check_store_name(name);
    if (name == "memory")
        return std::make_unique<memory_store>(limits);
    if (is_url(name)) {
#ifdef ROTA_WITH_POSTGRES
        return std::make_unique<postgres_store>(on, std::string(name), limits,
                                                postgres_options{.connections = connections});
#else
        throw store_error("cannot open the job store: this program was built without PostgreSQL");
#endif
    }
#ifdef ROTA_WITH_SQLITE
    return std::make_unique<sqlite_store>(std::string(name.substr(sqlite_prefix.size())), limits);
#else
    throw store_error("cannot open the job store " + std::string(name) +
                      ": this program was built without SQLite");
#endif
}

} // namespace jobs
