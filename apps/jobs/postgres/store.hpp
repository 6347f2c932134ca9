#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <rota/io/context.hpp>

#include "jobs/store.hpp"
#include "news.hpp"
#include "pool.hpp"

namespace jobs {

struct postgres_options {
    std::size_t connections = 4; ///< at once, for steps
};

/// Queues in a database that speaks PostgreSQL's protocol, shared by all servers that are given
/// the same URL. Is made without waiting: while the database cannot be had, steps are refused with
/// the reason.
///
/// Each step is a transaction, or shares one with others of its kind (session.hpp). Times
/// are the callers', so the clocks of servers that share queues should agree to well below a lease.
class postgres_store final : public store, private postgres_news_reader {
public:
    /// `on` outlives it. Throws store_error for a URL that libpq does not understand.
    postgres_store(rota::io::context& on, const std::string& url, store_limits limits = {},
                   postgres_options options = {}, id_source lease_ids = random_id);
    /// Does what has been submitted, if that can be done within some seconds. Not from a routine.
    ~postgres_store() override;

private:
    bool submit(store_step& what, std::exception_ptr& error) override;
    bool withdraw(store_step& what, bool shuts_down) noexcept override;
    [[nodiscard]] std::chrono::steady_clock::duration begin_within() const noexcept override;
    void wish(const std::string& queue) noexcept override;
    void told(const std::vector<change>& what) noexcept override;
    void may_have_jobs(const std::string& queue) noexcept override;
    void ends_first(const std::string& queue, time_ms due) noexcept override;

    // In this order: each uses what is above it.
    std::atomic<bool> reachable_{false};
    std::unique_ptr<postgres_news> news_;
    std::unique_ptr<postgres_pool> pool_;
};

} // namespace jobs
