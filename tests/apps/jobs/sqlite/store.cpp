#include "jobs/sqlite/store.hpp"

#include <atomic>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sqlite3.h>

#include <rota/runtime.hpp>
#include <rota/task_group.hpp>

#include "file_limit.hpp"
#include "store_driver.hpp"

using namespace jobs;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

rota::task<void> add_one(store* to, int i, int* added) {
    std::vector<new_job> one;
    one.push_back({std::to_string(i), "1"});
    rota::task<std::vector<add_result>> adding = to->add("q", std::move(one), std::nullopt, 1);
    const std::vector<add_result> results = co_await std::move(adding);
    *added += results.front().outcome == add_outcome::added ? 1 : 0;
}

rota::task<int> add_at_once(store* to, int count) {
    int added = 0;
    rota::task_group all(co_await rota::current_context);
    for (int i = 0; i < count; ++i)
        all.spawn(add_one(to, i, &added));
    co_await all.join();
    co_return added;
}

} // namespace

TEST_CASE("what is asked for at once is done together") {
    const scratch_folder folder;
    rota::runtime runtime({.workers = 1});
    sqlite_store store(folder.file("jobs.db"));
    CHECK(runtime.block_on(add_at_once(&store, 500)) == 500);
    CHECK(runtime.block_on(store.describe("q", 1))->counts.queued == 500);
}

TEST_CASE("whatever is thrown fails the step wholly, and the store goes on") {
    const scratch_folder folder;
    rota::runtime runtime({.workers = 1});
    int given = 0;
    // The second lease fails by what is no std::exception.
    sqlite_store store(folder.file("jobs.db"), {}, [&given] {
        if (++given == 2)
            throw given;
        return std::to_string(given);
    });
    REQUIRE(runtime.block_on(add_at_once(&store, 2)) == 2);
    const std::vector<take_request> both(1, take_request{.max = 2});
    CHECK_THROWS_AS(runtime.block_on(store.take("q", both, 1)), store_error);
    CHECK(runtime.block_on(store.describe("q", 1))->counts.in_progress == 0);
    CHECK(runtime.block_on(store.take("q", both, 1)).front().size() == 2);
}

TEST_CASE("a lack of memory is told in words") {
    store_limits limits;
    const scratch_folder folder;
    rota::runtime runtime({.workers = 1});
    sqlite_store store(folder.file("jobs.db"), limits,
                       []() -> std::string { throw std::bad_alloc(); });
    REQUIRE(runtime.block_on(add_at_once(&store, 1)) == 1);
    CHECK_THROWS_WITH(runtime.block_on(store.take("q", {take_request{}}, 1)), "out of memory");
    CHECK(store.health().state().reason == "out of memory");
}

namespace {

/// While it lives SQLite's allocations can be made to fail. No file is open before or after.
class failing_memory {
public:
    failing_memory() {
        REQUIRE(sqlite3_shutdown() == SQLITE_OK);
        REQUIRE(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual_) == SQLITE_OK);
        sqlite3_mem_methods failing = usual_;
        failing.xMalloc = [](int bytes) { return fails() ? nullptr : usual_.xMalloc(bytes); };
        failing.xRealloc = [](void* what, int bytes) {
            return fails() ? nullptr : usual_.xRealloc(what, bytes);
        };
        REQUIRE(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) == SQLITE_OK);
    }
    failing_memory(const failing_memory&) = delete;
    failing_memory& operator=(const failing_memory&) = delete;
    ~failing_memory() {
        sqlite3_shutdown();
        sqlite3_config(SQLITE_CONFIG_MALLOC, &usual_);
    }
    /// All that follow so many.
    void fail_after(long allocations) { left_ = allocations; }
    /// Whether any have failed since.
    bool fail_no_more() { return left_.exchange(LONG_MAX) < 0; }

private:
    static bool fails() { return --left_ < 0; }
    static inline sqlite3_mem_methods usual_{};
    static inline std::atomic<long> left_ = LONG_MAX;
};

} // namespace

TEST_CASE("what has failed for want of memory does not hinder what comes when there is some") {
    failing_memory memory;
    const scratch_folder folder;
    rota::runtime runtime({.workers = 1});
    sqlite_store store(folder.file("jobs.db"));
    const auto add = [&](int key, std::size_t bytes) {
        std::vector<new_job> one;
        one.push_back({std::to_string(key), '"' + std::string(bytes, 'x') + '"'});
        return runtime.block_on(store.add("q", std::move(one), std::nullopt, 1)).front().outcome;
    };
    int key = 0;
    for (bool failed = true; failed; ++key) {
        CAPTURE(key);
        memory.fail_after(key);
        std::string why;
        try {
            (void)add(key, 5'000);
        } catch (const store_error& e) {
            why = e.what();
        }
        failed = memory.fail_no_more();
        REQUIRE((why.empty() || why.ends_with("out of memory")));
        REQUIRE(add(1'000'000 + key, 10) == add_outcome::added);
    }
    CHECK(key > 10);
}

TEST_CASE("a file is one store's alone") {
    const scratch_folder folder;
    const std::string path = folder.file("jobs.db");
    {
        const sqlite_store store(path);
        CHECK_THROWS_WITH(sqlite_store(path), ContainsSubstring("another process uses it"));
    }
    CHECK_NOTHROW(sqlite_store(path));
}

TEST_CASE("a file that is damaged is refused by its name") {
    const scratch_folder folder;
    const std::string path = folder.file("jobs.db");
    {
        sqlite_store store(path);
        rota::runtime runtime({.workers = 1});
        REQUIRE(runtime.block_on(add_at_once(&store, 10)) == 10);
    }
    {
        std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(4'096); // behind the page that says what tables there are
        file << std::string(std::filesystem::file_size(path) - 4'096, '\x55');
    }
    CHECK_THROWS_WITH(sqlite_store(path),
                      StartsWith("cannot open the job store " + path + ": database"));
}

namespace {

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

} // namespace

TEST_CASE("a file of which any page is damaged is refused, and stays as it is") {
    const scratch_folder folder;
    const std::string path = folder.file("jobs.db");
    {
        sqlite_store store(path);
        rota::runtime runtime({.workers = 1});
        REQUIRE(runtime.block_on(add_at_once(&store, 300)) == 300); // more than a leaf holds
    }
    const std::string whole = bytes_of(path);
    constexpr std::size_t page = 4'096;
    REQUIRE(whole.size() > 15 * page);
    for (std::size_t at = 0; at < whole.size(); at += page) {
        CAPTURE(at / page + 1);
        const std::string damaged = std::string(whole).replace(at, page, page, '\xff');
        write_bytes(path, damaged);
        CHECK_THROWS_WITH(sqlite_store(path),
                          StartsWith("cannot open the job store " + path + ": "));
        CHECK(bytes_of(path) == damaged);
    }
    write_bytes(path, whole);
    CHECK_NOTHROW(sqlite_store(path));
}

TEST_CASE("a damaged file stays as it is with the log of a process that was killed") {
    const scratch_folder folder;
    const std::string path = folder.file("jobs.db");
    const std::string copy = folder.file("copy.db");
    {
        sqlite_store store(path);
        rota::runtime runtime({.workers = 1});
        REQUIRE(runtime.block_on(add_at_once(&store, 300)) == 300);
    }
    {
        sqlite_store store(path);
        rota::runtime runtime({.workers = 1});
        REQUIRE(runtime.block_on(store.take("q", {take_request{}}, 1)).front().size() == 1);
        write_bytes(copy, bytes_of(path));
        write_bytes(copy + "-wal", bytes_of(path + "-wal"));
    }
    const std::string log = bytes_of(copy + "-wal");
    REQUIRE_FALSE(log.empty());
    const std::string whole = bytes_of(copy);
    std::size_t refused = 0;
    for (std::size_t at = 4'096; at < whole.size(); at += 4'096) { // or the log has a newer one
        const std::string damaged = std::string(whole).replace(at, 4'096, 4'096, '\xff');
        write_bytes(copy, damaged);
        write_bytes(copy + "-wal", log);
        try {
            const sqlite_store store(copy);
        } catch (const store_error&) {
            ++refused;
            CHECK(bytes_of(copy) == damaged);
            CHECK(bytes_of(copy + "-wal") == log);
        }
    }
    CHECK(refused > 5);
    write_bytes(copy, whole);
    write_bytes(copy + "-wal", log);
    CHECK_NOTHROW(sqlite_store(copy));
}

TEST_CASE("nothing is added to a file that is gone, and jobs of it can be finished") {
    store_driver d("sqlite");
    d.add("1");
    const std::string moved = d.file() + "-moved";
    std::filesystem::rename(d.file(), moved);
    CHECK_THROWS_WITH(d.add("2"), ContainsSubstring("moved or deleted"));
    CHECK_THROWS_WITH(d.wait(d.store().probe(d.now)), ContainsSubstring("moved or deleted"));
    CHECK(d.ack({d.lease()}).acked == 1);
    std::filesystem::rename(moved, d.file());
    CHECK_NOTHROW(d.wait(d.store().probe(d.now)));
    CHECK(d.add("2").outcome == add_outcome::added);
}

TEST_CASE("a disk that is full fails the step wholly, and the store goes on") {
    store_driver d("sqlite");
    d.add("before");
    const std::string big(100'000, 'x');
    {
        const file_limit full(200'000);
        bool failed = false;
        for (int i = 0; i < 10 && !failed; ++i) {
            std::vector<new_job> jobs;
            jobs.push_back({"small " + std::to_string(i), "1"});
            jobs.push_back({"big " + std::to_string(i), '"' + big + '"'});
            try {
                (void)d.wait(d.store().add(d.queue, std::move(jobs), std::nullopt, d.now));
            } catch (const store_error& e) {
                failed = true;
                CHECK_THAT(e.what(), ContainsSubstring("job store"));
            }
        }
        REQUIRE(failed);
    }
    // Of every pair both are there or neither is.
    const queue_counts counts = d.counts();
    CHECK(counts.queued % 2 == 1);
    CHECK(d.queued().size() == counts.queued);
    CHECK(d.add("after").outcome == add_outcome::added);
    d.reopen();
    CHECK(d.counts().queued == counts.queued + 1);
    CHECK(d.queued().size() == counts.queued + 1);
}

namespace {

rota::task<void> add_or_fail(store* to, int i, int* failed) {
    std::vector<new_job> one;
    one.push_back({std::to_string(i), '"' + std::string(50'000, 'x') + '"'});
    try {
        rota::task<std::vector<add_result>> adding = to->add("q", std::move(one), std::nullopt, 1);
        (void)co_await std::move(adding);
    } catch (const store_error& e) {
        *failed += e.kind() == store_fault::full ? 1 : 100;
    }
}

rota::task<void> look(store* at, int* looked) {
    rota::task<std::optional<queue_info>> looking = at->describe("q", 1);
    (void)co_await std::move(looking);
    ++*looked;
}

rota::task<int> add_and_look_at_once(store* to, int count, int* looked) {
    int failed = 0;
    rota::task_group all(co_await rota::current_context);
    for (int i = 0; i < count; ++i) {
        all.spawn(add_or_fail(to, i, &failed));
        all.spawn(look(to, looked));
    }
    co_await all.join();
    co_return failed;
}

} // namespace

TEST_CASE("what does not add is done although what adds beside it has no room") {
    const scratch_folder folder;
    rota::runtime runtime({.workers = 1});
    sqlite_store store(folder.file("jobs.db"));
    const file_limit full(400'000);
    int looked = 0;
    const int failed = runtime.block_on(add_and_look_at_once(&store, 40, &looked));
    CHECK(looked == 40);
    CHECK(failed > 0);
    CHECK(failed <= 40);
}

TEST_CASE("where files may not become larger all jobs can be taken and finished") {
    // Pages of a file that was made elsewhere may be of another size.
    for (const auto& [size, page_bytes] :
         {std::pair<std::size_t, int>{200, 4'096}, {9'000, 4'096}, {200, 16'384}, {200, 1'024}}) {
        CAPTURE(size, page_bytes);
        const file_limit small(1 << 20);
        store_driver d("sqlite");
        d.close();
        sqlite_database(d.file()).execute(
            ("PRAGMA locking_mode=NORMAL; PRAGMA journal_mode=DELETE; PRAGMA page_size=" +
             std::to_string(page_bytes) + "; VACUUM")
                .c_str());
        d.reopen();
        std::size_t added = 0;
        bool failed = false;
        while (!failed) {
            std::vector<new_job> one;
            one.push_back({std::to_string(added), std::string(size, '1')});
            try {
                (void)d.wait(d.store().add(d.queue, std::move(one), std::nullopt, d.now));
                ++added;
            } catch (const store_error& e) {
                REQUIRE(e.kind() == store_fault::full);
                failed = true;
            }
        }
        CHECK(added * size > 100'000);
        for (int again = 0; again < 3; ++again) // not one of them wakes the hope that there is room
            CHECK_THROWS_AS(d.add("more " + std::string(size, 'k')), store_error);
        while (added > 0) {
            std::vector<std::string> leases;
            for (const taken_job& job : d.take(100))
                leases.push_back(job.lease_id);
            REQUIRE_FALSE(leases.empty());
            CHECK(d.ack(leases).acked == leases.size());
            added -= leases.size();
        }
        CHECK(d.add("after").outcome == add_outcome::added);
        for (int i = 0; i < 100; ++i)
            CHECK(d.add("again " + std::to_string(i)).outcome == add_outcome::added);
        if (page_bytes <= 4'096)              // of larger ones so small a file has too few to spare
            CHECK(d.take(100).size() == 100); // as large as before, it is not full any more
    }
}

TEST_CASE("the last queue that has given out its last id takes no more, and loses nothing") {
    store_driver d("sqlite");
    REQUIRE(d.add("first").id == 1);
    d.close();
    const std::string last_queue = std::to_string(table::queue_number_max);
    const std::string last_id = std::to_string(table::id_max - 1);
    sqlite_database(d.file()).execute(
        ("UPDATE queues SET number=" + last_queue + ", next_id=" + last_id +
         "; UPDATE jobs SET queue=" + last_queue + ", place=(" + last_queue + "<<40)+1")
            .c_str());
    d.reopen();
    CHECK(d.add("last but one").id == table::id_max - 1);
    CHECK(d.add("last", 0, 9).id == table::id_max);
    for (int i = 0; i < 2; ++i) {
        CHECK(d.add("too many").outcome == add_outcome::out_of_ids);
        CHECK(d.add("last").outcome == add_outcome::duplicate);
        CHECK(d.queued() == std::vector<std::string>{"last", "first", "last but one"});
        d.reopen();
    }
    CHECK(d.wait(d.store().find(d.queue, table::id_max, d.now))->key == "last");
    CHECK_FALSE(d.wait(d.store().find(d.queue, table::id_max + 1, d.now)));
    CHECK(d.ack({d.lease()}).acked == 1);
    CHECK(d.queued() == std::vector<std::string>{"first", "last but one"});
    d.queue = "another";
    CHECK(d.add("too many").id == 1);
}
