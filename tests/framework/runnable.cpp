#include <rota/detail/runnable.hpp>

#include <string>

#include <catch2/catch_test_macros.hpp>

namespace {

struct noter : rota::runnable {
    noter(std::string* out, char c) : runnable(&noter::run), log(out), what(c) {}
    static void run(rota::runnable& self) noexcept {
        auto& me = static_cast<noter&>(self);
        me.log->push_back(me.what);
    }
    std::string* log;
    char what;
};

} // namespace

TEST_CASE("a run queue is first in, first out, and a runnable can be queued again") {
    std::string log;
    noter a(&log, 'a');
    noter b(&log, 'b');
    rota::run_queue queue;
    REQUIRE(queue.empty());
    REQUIRE(queue.pop() == nullptr);
    queue.push(a);
    queue.push(b);
    (*queue.pop())();
    queue.push(a);
    REQUIRE_FALSE(queue.empty());
    (*queue.pop())();
    (*queue.pop())();
    REQUIRE(log == "aba");
    REQUIRE(queue.empty());
    REQUIRE(queue.pop() == nullptr);
}
