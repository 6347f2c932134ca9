#include <rota/http/range.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

using answer = requested_ranges::answer;
using parts = std::vector<byte_range>;

struct range_case {
    std::string_view value;
    parts want; // none: `how`
    answer how = answer::parts;
};

void check(const std::vector<range_case>& cases, std::uint64_t size) {
    for (const range_case& c : cases) {
        INFO(c.value);
        const requested_ranges got = read_range(c.value, size);
        CHECK(got.how == c.how);
        CHECK(got.parts == c.want);
    }
}

TEST_CASE("ranges: first and last, open, suffix") {
    check({{"bytes=0-0", {{0, 1}}},
           {"bytes=0-99", {{0, 100}}},
           {"bytes=10-19", {{10, 10}}},
           {"bytes=99-99", {{99, 1}}},
           {"bytes=90-", {{90, 10}}},
           {"bytes=90-1000", {{90, 10}}},
           {"bytes=-1", {{99, 1}}},
           {"bytes=-100", {{0, 100}}},
           {"bytes=-101", {{0, 100}}},
           {"Bytes=1-2", {{1, 2}}},
           {"bytes=00001-0002", {{1, 2}}},
           {"bytes=1-99999999999999999999999", {{1, 99}}},
           {"bytes=-99999999999999999999999", {{0, 100}}}},
          100);
}

TEST_CASE("several ranges keep their order, those that overlap become one") {
    check({{"bytes=0-1,4-5", {{0, 2}, {4, 2}}},
           {"bytes=4-5 , 0-1", {{4, 2}, {0, 2}}},
           {"bytes=,0-1,,4-5,", {{0, 2}, {4, 2}}},
           {"bytes= ,0-1,\t, 4-5 ,", {{0, 2}, {4, 2}}},
           {"bytes=0-1\t,\t4-5", {{0, 2}, {4, 2}}},
           {"bytes=0-1,2-3", {{0, 2}, {2, 2}}},
           {"bytes=0-2,2-3", {{0, 4}}},
           {"bytes=10-20,0-4,15-30", {{10, 21}, {0, 5}}},
           {"bytes=50-60,0-4,0-99", {{0, 100}}},
           {"bytes=0-4,50-60,0-4", {{0, 5}, {50, 11}}},
           {"bytes=20-29,-80,0-5", {{20, 80}, {0, 6}}},
           {"bytes=0-4,200-300,-5", {{0, 5}, {95, 5}}}},
          100);
}

TEST_CASE("what is behind the end cannot be satisfied") {
    check({{"bytes=100-", {}, answer::unsatisfiable},
           {"bytes=100-100", {}, answer::unsatisfiable},
           {"bytes=-0", {}, answer::unsatisfiable},
           {"bytes=99999999999999999999999-", {}, answer::unsatisfiable},
           {"bytes=99999999999999999999999-99999999999999999999999", {}, answer::unsatisfiable},
           {"bytes=18446744073709551615-18446744073709551616", {}, answer::unsatisfiable},
           {"bytes=18446744073709551616-018446744073709551617", {}, answer::unsatisfiable},
           {"bytes=100-,-0,200-300", {}, answer::unsatisfiable}},
          100);
    check({{"bytes=0-", {}, answer::unsatisfiable},
           {"bytes=0-0", {}, answer::unsatisfiable},
           {"bytes=-0", {}, answer::unsatisfiable},
           {"bytes=-1", {}, answer::whole}},
          0);
}

TEST_CASE("what is malformed anywhere is passed over") {
    for (std::string_view value : {"",
                                   "bytes",
                                   "bytes=",
                                   "bytes=,",
                                   "bytes=-",
                                   "bytes=a-b",
                                   "bytes=0-1,a",
                                   "bytes=2-1",
                                   "bytes=0-1,2-1",
                                   "bytes=00-1,002-01",
                                   "bytes=1-0",
                                   "bytes=10-9",
                                   "bytes=18446744073709551616-18446744073709551615",
                                   "bytes=018446744073709551617-18446744073709551616",
                                   "bytes=0-1-2",
                                   "bytes=--1",
                                   "bytes=-1-",
                                   "bytes=+0-1",
                                   "bytes=0-+1",
                                   "bytes=0x0-1",
                                   "bytes=0 -1",
                                   "bytes=0- 1",
                                   "bytes= 0-1",
                                   "bytes= ",
                                   "bytes=\t0-1,2-3",
                                   "bytes= ,",
                                   "bytes =0-1",
                                   " bytes=0-1",
                                   "bytes=0-1;2-3",
                                   "bytes=0-1 2-3",
                                   "items=0-1",
                                   "byte=0-1",
                                   "bytes:0-1",
                                   "bytes=0",
                                   "bytes=-+5",
                                   "bytes=\"0-1\"",
                                   "bytes=0-1,*",
                                   "bytes=*"}) {
        INFO(value);
        CHECK(read_range(value, 100).how == answer::whole);
    }
}

TEST_CASE("too many ranges are the whole, after those that overlap have become one") {
    const auto list = [](std::size_t count, std::size_t step) {
        std::string value = "bytes=";
        for (std::size_t i = 0; i < count; ++i)
            value += std::to_string(i * step) + '-' + std::to_string(i * step + 1) + ',';
        return value;
    };
    CHECK(read_range(list(ranges_max, 3), 10'000).parts.size() == ranges_max);
    CHECK(read_range(list(ranges_max + 1, 3), 10'000).how == answer::whole);
    CHECK(read_range(list(1'000, 1), 10'000).parts == parts{{0, 1'001}});
    CHECK(read_range(list(9'000, 1), 10'000).parts == parts{{0, 9'001}});
}

TEST_CASE("Content-Range says what a part is of") {
    CHECK(content_range({0, 500}, 1234) == "bytes 0-499/1234");
    CHECK(content_range({1233, 1}, 1234) == "bytes 1233-1233/1234");
    CHECK(content_range_unsatisfied(1234) == "bytes */1234");
}

} // namespace
} // namespace rota::http
