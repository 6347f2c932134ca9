#include "jobs/rules/lease_id.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include <catch2/catch_test_macros.hpp>

using namespace jobs;

TEST_CASE("a lease says whose it is") {
    const std::string random = "fedcba9876543210fedcba9876543210";
    CHECK(lease_id_of(0x1a2b, random) == "000000001a2bfedcba9876543210fedc");
    for (const std::uint64_t id : {std::uint64_t{1}, (std::uint64_t{1} << 48) - 1})
        CHECK(job_of_lease(lease_id_of(id, random)) == id);
}

TEST_CASE("what is no lease says nothing") {
    for (const char* const text :
         {"", "1", "00000000001", "00000000000g", "-00000000001", "0x0000000001", " 00000000001"})
        CHECK(job_of_lease(text) == std::nullopt);
}
