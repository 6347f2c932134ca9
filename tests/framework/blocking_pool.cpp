#include <rota/detail/blocking_pool.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <semaphore>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <sys/resource.h>

namespace {

struct held final : rota::blocking_pool::job {
    std::binary_semaphore begun{0};
    std::binary_semaphore may_end{0};
    std::binary_semaphore ended{0};

private:
    void run() noexcept override {
        begun.release();
        may_end.acquire();
    }
    void finished() noexcept override { ended.release(); }
};

struct quick final : rota::blocking_pool::job {
    explicit quick(std::atomic<int>& d) : done(d) {}
    std::atomic<int>& done;

private:
    void run() noexcept override {}
    void finished() noexcept override { ++done; }
};

} // namespace

TEST_CASE("threads are started as they are needed, and used again") {
    held first;
    held second;
    held third;
    rota::blocking_pool pool(2); // behind them, so that its threads end before they go
    CHECK(pool.threads_max() == 2);
    CHECK(pool.read().threads == 0);
    pool.submit(first);
    first.begun.acquire();
    CHECK(pool.read().threads == 1);
    pool.submit(second);
    second.begun.acquire();
    pool.submit(third);
    CHECK(pool.read().threads == 2);
    CHECK(pool.read().working == 2);
    CHECK(pool.read().waiting == 1);
    first.may_end.release();
    third.begun.acquire();
    CHECK(pool.read().waiting == 0);
    second.may_end.release();
    third.may_end.release();
    first.ended.acquire();
    second.ended.acquire();
    third.ended.acquire();
}

TEST_CASE("its threads stand back as far as asked, and nobody else does") {
    struct ask final : rota::blocking_pool::job {
        int nice = 0;
        std::binary_semaphore ended{0};

    private:
        void run() noexcept override { nice = ::getpriority(PRIO_PROCESS, 0); }
        void finished() noexcept override { ended.release(); }
    };
    const int mine = ::getpriority(PRIO_PROCESS, 0);
    ask job;
    rota::blocking_pool pool(1, 3);
    pool.submit(job);
    job.ended.acquire();
    CHECK(job.nice == std::min(mine + 3, 19));
    CHECK(::getpriority(PRIO_PROCESS, 0) == mine);
}

TEST_CASE("what waits can be withdrawn, from anywhere in the line") {
    std::atomic<int> done{0};
    std::vector<std::unique_ptr<quick>> line;
    held first;
    {
        rota::blocking_pool pool(1);
        pool.submit(first);
        first.begun.acquire();
        for (int i = 0; i < 5; ++i)
            pool.submit(*line.emplace_back(std::make_unique<quick>(done)));
        CHECK(pool.withdraw(*line[2]));
        CHECK(pool.withdraw(*line[0]));
        CHECK(pool.withdraw(*line[4]));
        CHECK_FALSE(pool.withdraw(*line[4]));
        CHECK_FALSE(pool.withdraw(first)); // it runs
        CHECK(pool.read().waiting == 2);
        first.may_end.release();
    }
    CHECK(done == 2);
}

TEST_CASE("the end of the pool waits for what runs and for what waits") {
    std::atomic<int> done{0};
    std::vector<std::unique_ptr<quick>> jobs;
    {
        rota::blocking_pool pool(3);
        for (int i = 0; i < 100; ++i)
            pool.submit(*jobs.emplace_back(std::make_unique<quick>(done)));
    }
    CHECK(done == 100);
}
