#include "jobs/open_store.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/io/context.hpp>

#include "stores.hpp"

using namespace jobs;

TEST_CASE("stores have names") {
    const scratch_folder folder;
    rota::io::context on({.workers = 1});
    CHECK(open_store("memory", {}, on) != nullptr);
    const std::string name = "sqlite:" + folder.file("jobs.db");
#ifdef ROTA_WITH_SQLITE
    CHECK(open_store(name, {}, on) != nullptr);
    CHECK_THROWS_AS(open_store("sqlite:" + folder.file("no/such/folder.db"), {}, on), store_error);
#else
    CHECK_THROWS_AS(open_store(name, {}, on), store_error);
#endif
    for (const char* wrong : {"", "sqlite", "sqlite:", "file:x", "Memory", "mysql://host/jobs"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(open_store(wrong, {}, on), std::invalid_argument);
    }
}

TEST_CASE("a URL of a database need not lead anywhere now, and is not repeated") {
    const scratch_folder folder;
    rota::io::context on({.workers = 1});
    const std::string nowhere = "postgresql://me@" + folder.url_path() + "/jobs";
    std::vector<std::string> wrong{"postgre://me:secret@host/jobs"};
#ifdef ROTA_WITH_POSTGRES
    const auto store = open_store(nowhere, {}, on, 2);
    CHECK_THROWS_AS(on.block_on(store->describe("q", 1)), store_error);
    wrong.emplace_back("postgres://me:secret@host/jobs?nonsense=1");
#else
    CHECK_THROWS_AS(open_store(nowhere, {}, on), store_error);
#endif
    for (const std::string& each : wrong) {
        try {
            check_store_name(each);
            FAIL("no error");
        } catch (const std::invalid_argument& e) {
            CHECK(std::string(e.what()).find("secret") == std::string::npos);
        }
    }
}
