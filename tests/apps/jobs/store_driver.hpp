#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rota/runtime.hpp>

#include "stores.hpp"

/// Calls a store from a test's thread, one call after the other, in a queue "q" and at a time that
/// the test moves.
class store_driver {
public:
    explicit store_driver(const std::string& kind, jobs::store_limits limits = {})
        : kind_(kind), store_(&kind_.open(limits)) {}

    void reopen() { store_ = &kind_.reopen(); }
    /// Until reopen().
    void close() { kind_.close(); }
    [[nodiscard]] std::string file() const { return kind_.file(); }
    [[nodiscard]] bool lasts() const { return kind_.lasts(); }
    [[nodiscard]] jobs::store& store() { return *store_; }
    template <class T>
    T wait(rota::task<T> call) {
        return runtime_.block_on(std::move(call));
    }

    jobs::add_result add(const std::string& key, std::int64_t delay_ms = 0, int priority = 0,
                         const std::optional<jobs::idempotency>& token = std::nullopt) {
        std::vector<jobs::new_job> one;
        one.push_back({key, '"' + key + '"', delay_ms, priority});
        return wait(store_->add(queue, std::move(one), token, now)).at(0);
    }
    std::vector<jobs::taken_job> take(std::size_t max = 1, std::int64_t lease_ms = 0) {
        return wait(store_->take(queue, {{max, lease_ms}}, now)).at(0);
    }
    /// The lease of one job that is taken.
    std::string lease() { return take().at(0).lease_id; }
    jobs::settle_result ack(const std::vector<std::string>& leases) {
        return wait(store_->settle(queue, leases, {}, now));
    }
    jobs::settle_result retry(const std::string& lease,
                              std::optional<std::int64_t> delay_ms = std::nullopt,
                              const std::string& error = "") {
        return wait(store_->settle(queue, {}, {{lease, delay_ms, error}}, now));
    }
    std::vector<std::string> keys(jobs::job_state state) {
        jobs::list_request all;
        all.state = state;
        all.limit = 1'000;
        std::vector<std::string> result;
        for (const jobs::job_info& job : wait(store_->list(queue, all, now)).jobs)
            result.push_back(job.key);
        return result;
    }
    std::vector<std::string> queued() { return keys(jobs::job_state::queued); }
    std::vector<std::string> in_progress() { return keys(jobs::job_state::in_progress); }
    jobs::queue_counts counts() {
        const auto info = wait(store_->describe(queue, now));
        return info ? info->counts : jobs::queue_counts{};
    }
    void configure(const jobs::queue_settings& to) {
        (void)wait(store_->configure(queue, to, now));
    }

    std::string queue = "q";
    jobs::time_ms now = 1'800'000'000'000;

private:
    rota::runtime runtime_{{.workers = 1}};
    store_kind kind_;
    jobs::store* store_;
};
