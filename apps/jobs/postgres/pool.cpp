#include "pool.hpp"

#include <algorithm>
#include <chrono>
#include <random>

#include <rota/errors.hpp>
#include <rota/io/detail/log.hpp>
#include <rota/sleep.hpp>

#include "schema.hpp"
#include "statements.hpp"

namespace jobs {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds connecting_limit{5'000};
constexpr milliseconds preparing_limit{120'000};
constexpr milliseconds second_try_within{1'000};
constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{2'000};
constexpr milliseconds ending_limit{2'000};
/// How many jobs are worked on in one transaction, if they come from several steps: a commit is
/// shared, but every one of these steps waits for the last.
constexpr std::size_t weight_max = 250;
/// Where counts are added up, for each queue: connections that use the same wait for each other.
constexpr std::int64_t shards = 16;

bool joins(step_kind kind) noexcept {
    return kind != step_kind::single && kind != step_kind::reading;
}

} // namespace

postgres_pool::postgres_pool(rota::io::context& on, std::string url, options how,
                             postgres_session::teller tell)
    : on_(on), url_(std::move(url)), how_(std::move(how)), tell_(std::move(tell)),
      first_shard_(static_cast<std::int64_t>(std::random_device{}() % shards)),
      tokens_(how_.limits.tokens_max) {
    serving_ = std::max<std::size_t>(how_.connections, 1);
    routines_.reserve(serving_);
    try {
        for (std::size_t i = 0, count = serving_; i < count; ++i)
            routines_.push_back(on_.workers().spawn(serve(i), {.name = "job store connection"}));
    } catch (...) { // those that run refer to this
        stop_routines();
        throw;
    }
}

postgres_pool::~postgres_pool() {
    shutdown_.begin();
    {
        std::unique_lock guard(lock_);
        ending_ = true;
        work_.notify();
        calmer_.wait_for(guard, ending_limit, [this] {
            const bool nothing_waits =
                std::ranges::all_of(waiting_, [](const auto& kind) { return kind.empty(); });
            return (nothing_waits && busy_ == 0) || connected_ == 0;
        });
    }
    stop_routines();
    refuse_all("the job store has been closed");
}

void postgres_pool::stop_routines() noexcept {
    for (const rota::routine_ptr& each : routines_)
        each->request_stop();
    for (const rota::routine_ptr& each : routines_)
        each->wait_stopped();
}

// --- Steps ---

bool postgres_pool::submit(store_step& what, std::exception_ptr& error) {
    const postgres_step step(what);
    {
        const std::lock_guard guard(lock_);
        if (serving_ == 0 || ending_) {
            error = failure("the job store has been closed");
            return false;
        }
        if (!refusal_.empty()) {
            error = failure(refusal_, store_fault::unreachable);
            return false;
        }
        waiting_[static_cast<std::size_t>(step.kind)].push_back({next_number_++, step});
    }
    work_.notify();
    return true;
}

bool postgres_pool::withdraw(const store_step& what, bool shuts_down) noexcept {
    const std::lock_guard guard(lock_);
    auto& kind = waiting_[static_cast<std::size_t>(kind_of(what.what()))];
    if (std::erase_if(kind, [&](const entry& e) { return e.step.call == &what; }) != 0)
        return true;
    if (shuts_down)
        shutdown_.begin();
    return false;
}

/// What has waited longest, and what can be done together with it; makes the connection busy.
postgres_pool::steps postgres_pool::next_batch() {
    steps batch;
    const std::lock_guard guard(lock_);
    std::deque<entry>* oldest = nullptr;
    for (auto& kind : waiting_) {
        if (!kind.empty() && (oldest == nullptr || kind.front().number < oldest->front().number))
            oldest = &kind;
    }
    if (oldest == nullptr)
        return batch;
    std::size_t weight = 0;
    do {
        weight += oldest->front().step.weight;
        if (!batch.empty() && weight > weight_max)
            break;
        batch.push_back(oldest->front().step);
        oldest->pop_front();
    } while (!oldest->empty() && joins(batch.front().kind));
    ++busy_;
    return batch;
}

/// Steps that have not been done because of their connection.
void postgres_pool::put_back(steps batch, const std::string& why) noexcept {
    steps hopeless;
    const auto now = std::chrono::steady_clock::now();
    {
        const std::lock_guard guard(lock_);
        for (auto each = batch.rbegin(); each != batch.rend(); ++each) {
            // All connections may have been broken by the same restart of the server.
            if (++each->broken > static_cast<int>(how_.connections) + 2 || ending_ ||
                shutdown_.is_on() || now >= each->begins_by()) {
                hopeless.push_back(*each);
            } else {
                waiting_[static_cast<std::size_t>(each->kind)].push_front({0, *each});
            }
        }
    }
    for (const postgres_step& each : hopeless)
        each.call->done(failure(why, store_fault::unreachable));
    work_.notify();
}

void postgres_pool::refuse_all(const std::string& why) noexcept {
    std::array<std::deque<entry>, step_kinds> all;
    {
        const std::lock_guard guard(lock_);
        all.swap(waiting_);
    }
    for (const auto& kind : all) {
        for (const entry& each : kind)
            each.step.call->done(failure(why, store_fault::unreachable));
    }
}

// --- Connections ---

/// Under the lock.
void postgres_pool::show_connected() noexcept {
    if (how_.reachable != nullptr)
        *how_.reachable = connected_ != 0;
}

void postgres_pool::connected(bool led) noexcept {
    {
        const std::lock_guard guard(lock_);
        ++connected_;
        refusal_.clear();
        led_ = led_ && !led;
        show_connected();
    }
    found_.notify();
}

void postgres_pool::disconnected() noexcept {
    const std::lock_guard guard(lock_);
    --connected_;
    show_connected();
    calmer_.notify_all();
}

void postgres_pool::cannot_connect(const std::string& why) noexcept {
    {
        const std::lock_guard guard(lock_);
        if (connected_ != 0) { // the others do what there is; else calls fail, which is told
            if (std::exchange(warned_, why) != why)
                rota::log::warn("{}", why);
            return;
        }
        refusal_ = why;
    }
    refuse_all(why);
}

rota::task<void> postgres_pool::connect(postgres_connection* over) {
    co_await over->open(connecting_limit);
    over->set_patience(preparing_limit);
    co_await set_up_session(over);
    co_await migrate(over);
    over->set_patience(preparing_limit);
    co_await prepare_statements(over);
}

rota::task<void> postgres_pool::serve(std::size_t index) {
    postgres_connection over(on_, url_, &shutdown_);
    const std::int64_t shard = (first_shard_ + static_cast<std::int64_t>(index)) % shards;
    postgres_session session(over, how_.limits, how_.lease_ids, shard, tokens_, tell_);
    try {
        co_await serve_until_the_end(&over, &session);
    } catch (const rota::operation_cancelled&) {
    }
    bool last = false;
    {
        const std::lock_guard guard(lock_);
        last = --serving_ == 0;
    }
    if (last)
        refuse_all("the job store has been closed");
}

/// While there is no connection one routine tries, and says what comes of it. False: it is another.
bool postgres_pool::may_try(bool& leads) noexcept {
    bool others_may = false;
    {
        const std::lock_guard guard(lock_);
        if (connected_ == 0 && !leads) {
            if (led_)
                return false;
            led_ = leads = true;
        }
        others_may = connected_ != 0;
    }
    if (others_may)
        found_.notify();
    return true;
}

rota::task<bool> postgres_pool::try_to_connect(postgres_connection* over) {
    std::string why;
    // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): it is read, after a wait
    const auto begin = std::chrono::steady_clock::now();
    // Whatever cut all connections may have cut one that was being made: before anybody is refused
    // for that there is another try, unless the first took long.
    for (int tries = 0; tries < 2; ++tries) {
        try {
            co_await connect(over);
            co_return true;
        } catch (const rota::operation_cancelled&) {
            throw;
        } catch (const std::exception& e) {
            why = e.what();
        }
        over->close();
        if (std::chrono::steady_clock::now() - begin > second_try_within)
            break;
    }
    cannot_connect(why);
    co_return false;
}

rota::task<void> postgres_pool::serve_until_the_end(postgres_connection* over,
                                                    postgres_session* session) {
    milliseconds pause = first_pause;
    bool leads = false;
    for (;;) {
        if (!over->is_open()) {
            if (!may_try(leads)) {
                co_await found_.wait();
                continue;
            }
            const bool there = co_await try_to_connect(over);
            if (!there) {
                co_await rota::sleep_for(pause);
                pause = std::min(2 * pause, longest_pause);
                continue;
            }
            pause = first_pause;
            connected(std::exchange(leads, false));
        }
        steps batch = next_batch();
        if (batch.empty()) {
            co_await work_.wait();
            continue;
        }
        work_.notify(); // there may be more
        co_await do_together(over, session, std::move(batch));
        if (!over->is_open())
            disconnected();
    }
}

/// Answers all of them, whatever happens.
rota::task<void> postgres_pool::do_together(postgres_connection* over, postgres_session* session,
                                            steps batch) {
    std::string why;
    bool lost = false;
    bool apart = false;
    bool unknown = false;
    try {
        co_await session->run(batch);
    } catch (const connection_lost& e) {
        lost = true;
        why = e.what();
    } catch (const outcome_unknown& e) {
        unknown = true;
        why = e.what();
    } catch (const store_error& e) {
        apart = batch.size() > 1;
        why = e.what();
    } catch (const rota::operation_cancelled&) {
        why = "the job store has been closed";
    } catch (const std::exception& e) {
        why = std::string("the job store cannot be used: ") + e.what();
    }
    if (apart) { // the step at fault fails alone
        for (std::size_t i = 0; i < batch.size(); ++i) {
            if (std::chrono::steady_clock::now() >= batch[i].until) {
                batch[i].call->done(failure(why));
                continue;
            }
            {
                const std::lock_guard guard(lock_);
                ++busy_;
            }
            rota::task<void> doing = do_together(over, session, steps(1, batch[i]));
            co_await std::move(doing);
        }
    } else if (lost) {
        put_back(std::move(batch), why);
    } else {
        for (const postgres_step& each : batch) {
            if (why.empty()) {
                each.call->done(nullptr);
            } else if (unknown) {
                each.call->done(failure<outcome_unknown>(why));
            } else {
                each.call->done(failure(why));
            }
        }
    }
    const std::lock_guard guard(lock_);
    --busy_;
    calmer_.notify_all();
}

} // namespace jobs
