#include <rota/thread_end.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace {

void add_one(void* object) { ++*static_cast<std::atomic<int>*>(object); }

} // namespace

TEST_CASE("what a thread has noted last is cleared when it ends, once") {
    static const rota::thread_end end(&add_one);
    std::atomic<int> first = 0;
    std::atomic<int> last = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                CHECK(end.note(&first));
                CHECK(end.note(&last));
            });
        }
        threads.emplace_back([] {}); // has noted nothing
    }
    CHECK(first == 0);
    CHECK(last == 4);
}
