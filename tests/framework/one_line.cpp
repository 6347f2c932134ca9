#include <rota/detail/one_line.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include <rota/executor.hpp>
#include <rota/inline_scheduler.hpp>

#include "death.hpp"

using rota::detail::one_line;

TEST_CASE("a text stays one line, and what it is otherwise") {
    CHECK(one_line("").empty());
    CHECK(one_line("it's \\ \"fine\", ä") == "it's \\ \"fine\", ä");
    CHECK(one_line("a\nb\tc\x7f" + std::string(1, '\0')) == "a\\x0ab\\x09c\\x7f\\x00");
}

TEST_CASE("neither the name of a routine nor what ended it begins a line of its own") {
    const std::string said = last_words([] {
        rota::inline_scheduler scheduler;
        const auto r =
            scheduler.spawn([] { throw std::runtime_error("boom\nline2"); }, {.name = "na\nme"});
        scheduler.run();
        std::abort();
    });
    CHECK(said.starts_with("rota: routine na\\x0ame#1 ended by an exception: boom\\x0aline2\n"));
}
