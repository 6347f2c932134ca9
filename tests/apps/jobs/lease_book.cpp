#include "jobs/lease_book.hpp"

#include <chrono>
#include <string>

#include <catch2/catch_test_macros.hpp>

using namespace jobs;
using namespace std::chrono_literals;

namespace {

job_queue::lease take_one(job_queue& queue, const std::string& key) {
    queue.add(key, "1");
    return queue.try_take_up_to(1);
}

const lease_book::time_point start{1h};

} // namespace

TEST_CASE("a lease is found once, by its queue") {
    lease_book book;
    job_queue queue;
    job_queue other;
    CHECK(book.next_end() == lease_book::time_point::max());
    CHECK(book.add("a", queue, take_one(queue, "k"), start));
    CHECK_FALSE(book.remove("a", other));
    CHECK_FALSE(book.remove("b", queue));
    std::optional<job_queue::lease> lease = book.remove("a", queue);
    REQUIRE(lease);
    CHECK(lease->front().key() == "k");
    CHECK_FALSE(book.remove("a", queue));
    CHECK(book.size() == 0);
}

TEST_CASE("leases end in order of their ends") {
    lease_book book;
    job_queue queue;
    CHECK(book.add("a", queue, take_one(queue, "a"), start + 20s));
    CHECK_FALSE(book.add("b", queue, take_one(queue, "b"), start + 30s));
    CHECK(book.add("c", queue, take_one(queue, "c"), start + 10s));
    CHECK(book.add("d", queue, take_one(queue, "d"), start + 10s) == false);
    CHECK(book.next_end() == start + 10s);
    CHECK(book.remove_ended(start + 9s).empty());
    const auto first = book.remove_ended(start + 20s);
    REQUIRE(first.size() == 3);
    CHECK(first[0].front().key() == "c");
    CHECK(first[1].front().key() == "d");
    CHECK(first[2].front().key() == "a");
    CHECK(book.next_end() == start + 30s);
    CHECK(book.remove("b", queue));
    CHECK(book.next_end() == lease_book::time_point::max());
}

TEST_CASE("what the book forgets is queued again") {
    job_queue queue;
    {
        lease_book book;
        book.add("a", queue, take_one(queue, "k"), start);
        CHECK(queue.counts().in_progress == 1);
    }
    CHECK(queue.counts().queued == 1);
}
