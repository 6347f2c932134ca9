#include <rota/list_awaiter.hpp>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/yield.hpp>

namespace {

/// The smallest primitive: a bell that wakes the first that waits, or none.
class bell {
public:
    class awaiter final : public rota::list_awaiter {
    public:
        explicit awaiter(bell& b, std::source_location where = std::source_location::current())
            : list_awaiter(b.lock_, b.waiters_, "bell", where), bell_(b) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] { return bell_.broken_; });
        }
        void await_resume() { finish(); }

    private:
        bell& bell_;
    };

    awaiter wait(std::source_location where = std::source_location::current()) {
        return awaiter(*this, where);
    }
    bool ring() {
        rota::waiter* first = nullptr;
        {
            const std::lock_guard guard(lock_);
            first = waiters_.pop_front();
        }
        rota::wait_list::wake_one(first);
        return first != nullptr;
    }
    void break_it() { broken_ = true; }

private:
    std::mutex lock_;
    rota::wait_list waiters_;
    bool broken_ = false;
};

rota::task<void> listen(bell* b, std::string* log, char what) {
    try {
        co_await b->wait();
        log->push_back(what);
    } catch (const rota::operation_cancelled&) {
        log->push_back('c');
    }
}

} // namespace

TEST_CASE("waiters are woken in order, and none waits if it need not") {
    rota::inline_scheduler scheduler;
    bell b;
    std::string log;
    (void)scheduler.spawn(listen(&b, &log, '1'));
    (void)scheduler.spawn(listen(&b, &log, '2'));
    scheduler.run();
    const auto blocked = scheduler.blocked();
    REQUIRE(blocked.size() == 2);
    REQUIRE(blocked[0].what == "bell");
    REQUIRE(blocked[0].function.find("listen") != std::string::npos);
    REQUIRE(b.ring());
    REQUIRE(b.ring());
    REQUIRE_FALSE(b.ring());
    scheduler.run();
    REQUIRE(log == "12");
    b.break_it();
    scheduler.run_task(listen(&b, &log, '3'));
    REQUIRE(log == "123");
}

TEST_CASE("a stop takes a waiter out, unless it has been woken already") {
    rota::inline_scheduler scheduler;
    bell b;
    std::string log;
    const auto first = scheduler.spawn(listen(&b, &log, '1'));
    const auto second = scheduler.spawn(listen(&b, &log, '2'));
    scheduler.run();
    first->request_stop();
    REQUIRE(b.ring()); // the second
    REQUIRE_FALSE(b.ring());
    second->request_stop(); // too late
    scheduler.run();
    REQUIRE(log == "c2");
}

TEST_CASE("a wait that starts with the stop requested ends at once") {
    rota::inline_scheduler scheduler;
    bell b;
    b.break_it();
    std::string log;
    const auto r = scheduler.spawn(listen(&b, &log, '1'));
    r->request_stop();
    scheduler.run();
    REQUIRE(log == "c");
}

TEST_CASE("rings and stops from several threads: each waiter ends once") {
    rota::runtime rt({.workers = 2});
    rt.start();
    for (int round = 0; round < 300; ++round) {
        bell b;
        std::vector<std::string> logs(4);
        std::vector<rota::routine_ptr> all;
        for (std::string& log : logs) {
            all.push_back(rt.spawn(listen(&b, &log, 'r')));
        }
        std::jthread ringer([&] {
            for (int i = 0; i < 2; ++i) {
                b.ring();
            }
        });
        for (const rota::routine_ptr& r : all) {
            r->request_stop();
        }
        for (const rota::routine_ptr& r : all) {
            r->wait_stopped();
        }
        for (const std::string& log : logs) {
            REQUIRE(log.size() == 1);
        }
    }
}
