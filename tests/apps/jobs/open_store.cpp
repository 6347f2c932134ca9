#include "jobs/open_store.hpp"

#include <stdexcept>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "stores.hpp"

using namespace jobs;

TEST_CASE("stores have names") {
    const scratch_folder folder;
    CHECK(open_store("memory", {}) != nullptr);
    const std::string name = "sqlite:" + folder.file("jobs.db");
#ifdef ROTA_WITH_SQLITE
    CHECK(open_store(name, {}) != nullptr);
    CHECK_THROWS_AS(open_store("sqlite:" + folder.file("no/such/folder.db"), {}), store_error);
#else
    CHECK_THROWS_AS(open_store(name, {}), store_error);
#endif
    for (const char* wrong : {"", "sqlite", "sqlite:", "file:x", "Memory"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(open_store(wrong, {}), std::invalid_argument);
    }
}
