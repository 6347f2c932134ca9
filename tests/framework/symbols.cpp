#include "symbols.hpp"

#include <cstdlib>
#include <string>

#include <catch2/catch_test_macros.hpp>

namespace {

[[gnu::noinline]] int only_this_file_knows_it(int x) { return x == 0 ? std::rand() : x; }

} // namespace

TEST_CASE("a static function of the program is found by any address in it") {
    const rota::symbol_table symbols;
    const auto* const begin = reinterpret_cast<const char*>(&only_this_file_knows_it);
    CHECK(only_this_file_knows_it(1) == 1);
    CHECK(symbols.name_of(begin) == "(anonymous namespace)::only_this_file_knows_it");
    CHECK(symbols.name_of(begin + 1) == "(anonymous namespace)::only_this_file_knows_it");
}

TEST_CASE("a function of a library is found by the names that it shows") {
    const rota::symbol_table symbols;
    // Sanitizers put functions of their own in the place of some, but not of this one.
    const std::string name = symbols.name_of(reinterpret_cast<const void*>(&std::rand));
    CHECK(name.find("rand") != std::string::npos);
}

TEST_CASE("what is nowhere is given as a number") {
    const rota::symbol_table symbols;
    CHECK(symbols.name_of(reinterpret_cast<const void*>(0x10)) == "0x10");
}

TEST_CASE("names are given without arguments and additions of the compiler") {
    using rota::readable_name;
    CHECK(readable_name("main") == "main");
    CHECK(readable_name("_ZN4rota6worker4turnEm") == "rota::worker::turn");
    CHECK(readable_name("_ZN4rota6worker4turnEm.cold") == "rota::worker::turn");
    CHECK(readable_name("_ZN12_GLOBAL__N_13fooEi") == "(anonymous namespace)::foo");
    CHECK(readable_name("_ZNK1AclEi") == "A::operator()");
    CHECK(readable_name("_ZlsR1AS0_") == "operator<<");
    CHECK(readable_name("_ZN1TIFviEE3runEv") == "T<void (int)>::run");
    CHECK(readable_name("_Z") == "_Z");
    CHECK(readable_name("").empty());
}
