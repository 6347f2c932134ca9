#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <rota/auto_event.hpp>
#include <rota/executor.hpp>
#include <rota/io/context.hpp>
#include <rota/task.hpp>

#include "connection.hpp"
#include "jobs/rules/ledger.hpp"
#include "needs.hpp"
#include "step.hpp"
#include "token_walk.hpp"
#include "transactions.hpp"

namespace jobs {

/// Connections to one server, and the steps that wait for them. One routine for each connection:
/// it takes what has gathered and may be done together, does it as one transaction, and answers.
/// So the more there is to do, the more is done at once.
///
/// While no connection can be had steps are refused, with the reason, and one is tried for again
/// and again. A step whose connection broke before the server was asked to commit has not been
/// done; it goes to another connection, unless none can be had. Any thread.
class postgres_pool {
public:
    struct options {
        std::size_t connections = 4;
        store_limits limits{};
        id_source lease_ids = random_id;
        std::atomic<bool>* reachable = nullptr; ///< kept: whether there are connections
    };

    /// Returns at once. `on` outlives it.
    postgres_pool(rota::io::context& on, std::string url, options how,
                  postgres_transactions::teller tell);
    /// Does what has been submitted, as far as that can be done within some seconds. Not from a
    /// routine.
    ~postgres_pool();
    postgres_pool(const postgres_pool&) = delete;
    postgres_pool& operator=(const postgres_pool&) = delete;

    /// True: done() will be called, on any thread. False: it has not been done because of `error`.
    bool submit(store_step& what, std::exception_ptr& error);
    /// Takes a step back that has not begun: true, and done() will not be called. If it has, and
    /// the program `shuts_down`, the server has a second to answer.
    bool withdraw(const store_step& what, bool shuts_down) noexcept;

private:
    /// One connection, with what is done over it.
    struct lane {
        lane(postgres_pool& of, std::size_t index);
        postgres_connection over;
        postgres_transactions transactions;
        std::uint64_t outage = 0; // which its attempt to connect may end; 0: none
    };
    struct outcome;
    class attendance;

    void stop_routines() noexcept;
    rota::task<void> serve(lane* by);
    rota::task<void> connect(postgres_connection* over);
    rota::task<void> try_to_connect(postgres_connection* over);
    [[nodiscard]] step_line next_batch() noexcept;
    void finish(step_line batch, const outcome& of) noexcept;
    [[nodiscard]] bool waits_again(store_step& what, const outcome& of) const noexcept;
    [[nodiscard]] bool may_try(lane* by) noexcept;
    void connected(const lane* by) noexcept;
    void disconnected() noexcept;
    void show_connected() noexcept;
    [[nodiscard]] bool cannot_connect(const lane* by, std::string why, store_fault kind) noexcept;
    void refuse_all(std::string_view why, store_fault kind) noexcept;

    rota::io::context& on_;
    const std::string url_;
    const options how_;
    const postgres_transactions::teller tell_;
    const std::int64_t first_shard_;
    token_walk tokens_;
    postgres_shutdown shutdown_;
    rota::auto_event work_;  // there may be some, or it is the end
    rota::auto_event found_; // a connection can be had

    std::mutex lock_;                             // guards what follows
    std::array<step_line, step_kinds> waiting_{}; // by their kind
    std::size_t busy_ = 0;                        // connections that are at work
    std::size_t connected_ = 0;                   // of them
    std::uint64_t outage_ = 1;                    // while there is none: which time that is
    std::size_t serving_ = 0;                     // routines that have not ended
    const lane* leader_ = nullptr;                // while there is none, one of them tries
    std::string refusal_; // why there is no connection; empty: there is, or may be soon
    store_fault refused_as_ = store_fault::failed; // where there is a refusal
    std::string warned_;                           // what the log has been told last
    bool ending_ = false;
    std::condition_variable calmer_; // nothing waits and nobody is busy

    std::deque<lane> lanes_;
    std::vector<rota::routine_ptr> routines_; // one for each
};

} // namespace jobs
