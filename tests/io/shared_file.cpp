#include <rota/io/shared_file.hpp>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <sys/stat.h>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>

#include "support.hpp"
#include "temporary_file.hpp"

using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

task<std::string> read_all(file_slice part, std::size_t piece) {
    std::string all;
    while (part.size > 0) {
        const std::string next = co_await read_piece(&part, piece);
        all += next;
    }
    co_return all;
}

task<void> read_one(file_slice* part, std::size_t piece) {
    static_cast<void>(co_await read_piece(part, piece));
}

template <class T>
T run_alone(task<T> t) {
    rota::inline_scheduler scheduler;
    return scheduler.run_task(std::move(t));
}

int code_of(task<void> t) {
    try {
        run_alone(std::move(t));
    } catch (const std::system_error& e) {
        return e.code().value();
    }
    return 0;
}

} // namespace

TEST_CASE("times that nanoseconds do not reach are the last or the first that they do") {
    const temporary_file f("abc");
    const auto modified = [&](std::int64_t seconds) {
        const timespec both[2] = {{seconds, 5}, {seconds, 5}};
        REQUIRE(::futimens(f.file().native_handle(), both) == 0);
        struct stat kept {};
        REQUIRE(::fstat(f.file().native_handle(), &kept) == 0); // not each file system keeps each
        return kept.st_mtim.tv_sec == seconds ? f.file().facts().modified_ns : -1;
    };
    constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
    CHECK(modified(2'000'000'000) == 2'000'000'000'000'000'005);
    CHECK(modified(-2) == -1'999'999'995);
    for (const std::int64_t seconds : {9'223'372'036, 9'223'372'037, 10'413'792'000}) { // from 2262
        const std::int64_t got = modified(seconds);
        CHECK((got == last || got == -1));
        const std::int64_t early = modified(-seconds);
        CHECK((early == -last - 1 || early == -1));
    }
}

TEST_CASE("a file is closed with its last copy") {
    const std::size_t before = open_descriptors();
    shared_file none;
    CHECK(none.native_handle() == -1);
    CHECK_FALSE(none);
    CHECK_THROWS_AS(shared_file(-1), std::invalid_argument);
    {
        const temporary_file f("abc");
        shared_file copy = f.file();
        none = copy;
        CHECK(open_descriptors() == before + 1);
        CHECK(copy.facts().size == 3);
    }
    CHECK(open_descriptors() == before + 1);
    none = {};
    CHECK(open_descriptors() == before);
}

TEST_CASE("facts tell one content from another") {
    const temporary_file f("abc");
    const file_slice whole = f.slice();
    CHECK(whole.holds());
    file_facts again = f.file().facts();
    CHECK(again == whole.facts);
    again.links += 1;
    CHECK(again == whole.facts);
    f.cut(2);
    CHECK_FALSE(whole.holds());
    CHECK_FALSE(file_slice{}.holds());
    CHECK_THROWS_AS(shared_file().facts(), std::system_error);
}

TEST_CASE("what is written shows, whatever is made of the time of the last write") {
    const temporary_file f("abc");
    const bool loses_a_name = GENERATE(false, true); // and keeps another
    if (loses_a_name)
        f.add_name();
    const file_slice whole = f.slice();
    if (loses_a_name)
        f.remove();
    struct stat before {};
    REQUIRE(::fstat(f.fd(), &before) == 0);
    const timespec both[2] = {before.st_atim, before.st_mtim};
    do { // until a tick of a coarse clock is over
        f.write("x", 0);
        REQUIRE(::futimens(f.fd(), both) == 0);
    } while (f.file().facts().changed_ns == whole.facts.changed_ns);
    CHECK(f.file().facts().modified_ns == whole.facts.modified_ns);
    CHECK_FALSE(whole.holds());
}

TEST_CASE("a file that loses its last name is the same") {
    const temporary_file f("abc");
    const file_slice whole = f.slice();
    SECTION("by another in its place") { f.replace(); }
    SECTION("for good") { f.remove(); }
    CHECK(whole.holds());
    CHECK(f.file().facts().links < whole.facts.links);
}

TEST_CASE("a file is read piece by piece, from memory or not") {
    const std::string bytes = pattern(300'000);
    const temporary_file f(bytes);
    for (const bool forgotten : {false, true}) {
        if (forgotten)
            f.forget();
        CHECK((run_alone(read_all(f.slice(), 65'536)) == bytes));
        CHECK(run_alone(read_all(f.slice(1000, 10), 3)) == bytes.substr(1000, 10));
    }
    CHECK(run_alone(read_all(f.slice(5, 0), 3)).empty());
    rota::runtime rt({.workers = 1});
    f.forget();
    CHECK((rt.block_on(read_all(f.slice(), 100'000)) == bytes));
}

TEST_CASE("what is in memory of a file is read at once") {
    const std::string bytes = pattern(10'000);
    const temporary_file f(bytes);
    std::string into(20'000, '\0');
    CHECK(try_read(f.slice(), into) == 10'000);
    CHECK((into.substr(0, 10'000) == bytes));
    CHECK(try_read(f.slice(100, 5), into) == 5);
    CHECK(into.substr(0, 5) == bytes.substr(100, 5));
    CHECK(try_read(f.slice(), std::span(into).first(7)) == 7);
    CHECK(try_read(f.slice(100, 0), into) == 0);
    CHECK(try_read(f.slice(10'000, 1), into) == -ESTALE);
    CHECK(try_read({.file = {}, .facts = {}, .offset = 0, .size = 1}, into) == -EBADF);
    const file_slice whole = f.slice();
    f.cut(9'000);
    CHECK(try_read(whole, std::span(into).first(500)) == 500);
    const file_slice rest{.file = whole.file, .facts = whole.facts, .offset = 9'000, .size = 1'000};
    CHECK(try_read(rest, into) == -ESTALE);
    f.cut(10'000);
    file_slice changed = f.slice();
    changed.facts.modified_ns -= 1;
    CHECK(try_read(changed, into) == -ESTALE);
    f.forget();
    const ssize_t forgotten = try_read(f.slice(), into);
    CHECK((forgotten == -EAGAIN || forgotten == 10'000));
}

TEST_CASE("a file that changes cannot be read to its end") {
    const temporary_file f(pattern(1000));
    file_slice shrinks = f.slice();
    run_alone(read_one(&shrinks, 500));
    f.cut(700);
    CHECK(code_of(read_one(&shrinks, 500)) == ESTALE);
    f.cut(1000);
    file_slice changes = f.slice();
    changes.facts.modified_ns -= 1;
    run_alone(read_one(&changes, 500));
    CHECK(code_of(read_one(&changes, 500)) == ESTALE);
}

TEST_CASE("bytes are brought into memory") {
    const temporary_file f(pattern(200'000));
    file_slice part = f.slice();
    f.forget();
    run_alone(bring_in(&part));
    CHECK(is_in_memory(part));
    f.cut(10); // nothing to find there: sending it says so
    run_alone(bring_in(&part));
    part.size = 0;
    CHECK(is_in_memory(part));
}
