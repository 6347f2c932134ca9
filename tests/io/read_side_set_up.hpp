#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <rota/detail/parker.hpp>
#include <rota/worker.hpp>

#include "operation.hpp"

namespace rota::io::test {

using results = std::vector<std::pair<std::int32_t, std::uint32_t>>;

struct test_op final : operation {
    explicit test_op(rota::worker& w, op_kind k = op_kind::poll) : operation(k, w) {}
    void complete(std::int32_t result, std::uint32_t flags) noexcept override {
        got.emplace_back(result, flags);
        if (then)
            then();
    }
    results got;
    std::function<void()> then{};
};

/// A worker with its own thread, for turns that lend.
struct threaded_worker {
    threaded_worker() : thread([this] { home.run(); }) { await(rota::baton::parked); }
    ~threaded_worker() {
        home.stop();
        thread.join();
    }
    void await(rota::baton state) const {
        while (home.state() != state)
            std::this_thread::yield();
    }
    rota::worker home{0, rota::time_source::steady(), std::make_unique<rota::parker>()};
    std::thread thread;
};

} // namespace rota::io::test
