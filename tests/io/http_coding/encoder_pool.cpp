#include "encoder_pool.hpp"

#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

using coding::format;

std::vector<coding::encoder_options> available() {
    std::vector<coding::encoder_options> found;
    for (const format each : {format::gzip, format::br, format::zstd}) {
        if (coding::is_available(each))
            found.push_back({.to = each});
    }
    return found;
}

TEST_CASE("an encoder that was given back is the next one of its format") {
    encoder_pool pool;
    for (const auto& options : available()) {
        auto first = pool.take(options);
        CHECK(first->to() == options.to);
        const coding::encoder* const same = first.get();
        pool.give_back(std::move(first));
        CHECK(pool.memory() > 0);
        CHECK(pool.take(options).get() == same);
        CHECK(pool.memory() == 0);
    }
}

TEST_CASE("no more are kept than were said") {
    encoder_pool pool;
    std::vector<std::unique_ptr<coding::encoder>> many;
    for (const auto& options : available()) {
        for (int i = 0; i < 20; ++i) {
            many.push_back(pool.take(options));
            (void)coding::encode_whole(*many.back(), "content");
        }
    }
    for (auto& each : many)
        pool.give_back(std::move(each));
    CHECK(pool.memory() <= encoder_pool::memory_max);
}

TEST_CASE("a pooled encoder goes back at its end") {
    for (const auto& options : available()) {
        encoder_pool pool;
        const coding::encoder* same = nullptr;
        {
            const pooled_encoder with(pool, options);
            same = &*with;
        }
        const pooled_encoder again(pool, options);
        CHECK(&*again == same);
    }
}

} // namespace
} // namespace rota::http
