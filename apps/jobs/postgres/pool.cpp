#include "pool.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <random>
#include <utility>

#include <rota/errors.hpp>
#include <rota/io/log.hpp>
#include <rota/routine.hpp>
#include <rota/sleep_awaiter.hpp>
#include <rota/worker.hpp>

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

constexpr std::string_view closed = "the job store has been closed";

/// Whether it may be done together with others of its kind.
bool joins(const store_step& what) noexcept {
    const step_kind kind = kind_of(what.what());
    return kind != step_kind::single && kind != step_kind::reading && !what.waits.alone;
}

/// As far as there is memory for them.
std::string words(std::string_view text, std::string_view more = {}) noexcept {
    try {
        return std::string(text).append(more);
    } catch (const std::bad_alloc&) {
        return "out of memory"; // which needs none
    }
}

} // namespace

/// What becomes of a batch, or of an attempt to connect.
struct postgres_pool::outcome {
    enum class what : std::uint8_t {
        done,
        failed,
        unknown, ///< it may have been done
        lost,    ///< it has not been done because of the connection
        apart,   ///< each is to be done by itself, so that the one at fault fails alone
    };

    /// `may_be_done`, whatever `error` says.
    static outcome of(const std::exception_ptr& error, bool may_be_done, bool several) noexcept {
        const what otherwise = may_be_done ? what::unknown : what::failed;
        try {
            std::rethrow_exception(error);
        } catch (const connection_lost& e) {
            return {may_be_done ? what::unknown : what::lost, words(e.what()), e.kind()};
        } catch (const outcome_unknown& e) {
            return {what::unknown, words(e.what())};
        } catch (const store_error& e) {
            return {several && !may_be_done ? what::apart : otherwise, words(e.what()), e.kind()};
        } catch (const rota::operation_cancelled&) {
            return {otherwise, words(closed)};
        } catch (const std::exception& e) {
            return {otherwise, words("the job store cannot be used: ", reason_of(e))};
        } catch (...) {
            return {otherwise, words("the job store: an unknown error")};
        }
    }

    [[nodiscard]] std::exception_ptr error() const noexcept {
        switch (how) {
        case what::done:
            return nullptr;
        case what::unknown:
            return failure<outcome_unknown>(why);
        case what::failed:
        case what::lost:
        case what::apart:
            break;
        }
        return failure(why, kind);
    }

    what how = what::done;
    std::string why{};
    store_fault kind = store_fault::failed;
};

/// Of a routine, as long as it serves.
class postgres_pool::attendance {
public:
    attendance(postgres_pool& at, const lane* by) noexcept : at_(at), by_(by) {}
    attendance(const attendance&) = delete;
    attendance& operator=(const attendance&) = delete;
    ~attendance() {
        bool last = false;
        {
            const std::lock_guard guard(at_.lock_);
            last = --at_.serving_ == 0;
            if (at_.leader_ == by_)
                at_.leader_ = nullptr;
        }
        at_.found_.notify();
        if (last)
            at_.refuse_all(closed, store_fault::failed);
    }

private:
    postgres_pool& at_;
    const lane* const by_;
};

postgres_pool::lane::lane(postgres_pool& of, std::size_t index)
    : over(of.on_, of.url_, &of.shutdown_),
      transactions(over, of.how_.limits, of.how_.lease_ids,
                   (of.first_shard_ + static_cast<std::int64_t>(index)) % shards, of.tokens_,
                   of.tell_) {}

postgres_pool::postgres_pool(rota::io::context& on, std::string url, options how,
                             postgres_transactions::teller tell)
    : on_(on), url_(std::move(url)), how_(std::move(how)), tell_(std::move(tell)),
      first_shard_(static_cast<std::int64_t>(std::random_device{}() % shards)),
      tokens_(how_.limits.tokens_max) {
    serving_ = std::max<std::size_t>(how_.connections, 1);
    for (std::size_t i = 0; i < serving_; ++i)
        lanes_.emplace_back(*this, i);
    routines_.reserve(lanes_.size());
    try {
        for (lane& each : lanes_)
            routines_.push_back(
                on_.workers().spawn(serve(&each), {.name = "job store connection"}));
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
    refuse_all(closed, store_fault::failed);
}

void postgres_pool::stop_routines() noexcept {
    for (const rota::routine_ptr& each : routines_)
        each->request_stop();
    for (const rota::routine_ptr& each : routines_)
        each->wait_stopped();
}

// --- Steps ---

bool postgres_pool::submit(store_step& what, std::exception_ptr& error) {
    {
        const std::lock_guard guard(lock_);
        if (serving_ == 0 || ending_) {
            error = failure(closed);
            return false;
        }
        if (!refusal_.empty()) {
            error = failure(refusal_, refused_as_);
            return false;
        }
        what.waits = {.until = std::chrono::steady_clock::now() + step_limit};
        waiting_[static_cast<std::size_t>(kind_of(what.what()))].push_back(what);
    }
    work_.notify();
    return true;
}

bool postgres_pool::withdraw(const store_step& what, bool shuts_down) noexcept {
    const std::lock_guard guard(lock_);
    if (waiting_[static_cast<std::size_t>(kind_of(what.what()))].remove(what))
        return true;
    if (shuts_down)
        shutdown_.begin();
    return false;
}

/// What has waited longest, and what can be done together with it; makes the connection busy.
step_line postgres_pool::next_batch() noexcept {
    step_line batch;
    const std::lock_guard guard(lock_);
    step_line* oldest = nullptr;
    for (step_line& kind : waiting_) {
        if (!kind.empty() &&
            (oldest == nullptr || kind.front()->waits.until < oldest->front()->waits.until))
            oldest = &kind;
    }
    if (oldest == nullptr)
        return batch;
    std::size_t weight = 0;
    do {
        weight += weight_of(oldest->front()->what());
        if (!batch.empty() && (weight > weight_max || !joins(*oldest->front())))
            break;
        batch.push_back(oldest->pop_front());
    } while (!oldest->empty() && joins(*batch.front()));
    ++busy_;
    return batch;
}

/// The end of each batch, however that came: each step waits again, or is answered.
void postgres_pool::finish(step_line batch, const outcome& of) noexcept {
    step_line answered;
    bool some_wait = false;
    {
        const std::lock_guard guard(lock_);
        step_line again;
        step_line& kind = waiting_[static_cast<std::size_t>(kind_of(batch.front()->what()))];
        while (!batch.empty()) {
            store_step& each = batch.pop_front();
            (waits_again(each, of) ? again : answered).push_back(each);
        }
        some_wait = !again.empty();
        kind.push_front(std::move(again));
    }
    while (!answered.empty())
        answered.pop_front().done(of.error()); // which may be its end
    {
        const std::lock_guard guard(lock_);
        --busy_;
        calmer_.notify_all();
    }
    if (some_wait)
        work_.notify();
}

/// Under the lock.
bool postgres_pool::waits_again(store_step& what, const outcome& of) const noexcept {
    const auto now = std::chrono::steady_clock::now();
    step_wait& waits = what.waits;
    if (of.how == outcome::what::apart) {
        waits.alone = true;
        return now < waits.until;
    }
    // All connections may have been broken by the same restart of the server.
    return of.how == outcome::what::lost &&
           ++waits.broken <= static_cast<int>(how_.connections) + 2 && !ending_ &&
           !shutdown_.is_on() && now < waits.until - step_needs;
}

void postgres_pool::refuse_all(std::string_view why, store_fault kind) noexcept {
    step_line all;
    {
        const std::lock_guard guard(lock_);
        for (step_line& line : waiting_)
            all.push_front(std::move(line));
    }
    while (!all.empty())
        all.pop_front().done(failure(why, kind));
}

// --- Connections ---

/// Under the lock.
void postgres_pool::show_connected() noexcept {
    if (how_.reachable != nullptr)
        *how_.reachable = connected_ != 0;
}

void postgres_pool::connected(const lane* by) noexcept {
    {
        const std::lock_guard guard(lock_);
        ++connected_;
        refusal_.clear();
        if (leader_ == by)
            leader_ = nullptr;
        show_connected();
    }
    found_.notify();
}

void postgres_pool::disconnected() noexcept {
    const std::lock_guard guard(lock_);
    if (--connected_ == 0)
        ++outage_;
    show_connected();
    calmer_.notify_all();
}

/// False: that says nothing, since there was a connection after it began.
bool postgres_pool::cannot_connect(const lane* by, std::string why, store_fault kind) noexcept {
    {
        const std::lock_guard guard(lock_);
        if (connected_ != 0) { // the others do what there is; else calls fail, which is told
            if (warned_ != why) {
                rota::log::warn("{}", why);
                warned_ = std::move(why);
            }
            return true;
        }
        if (by->outage != outage_)
            return false;
        refusal_ = words(why);
        refused_as_ = kind;
    }
    refuse_all(why, kind);
    return true;
}

/// While there is no connection one routine tries, and says what comes of it. False: it is another.
bool postgres_pool::may_try(lane* by) noexcept {
    {
        const std::lock_guard guard(lock_);
        by->outage = connected_ == 0 ? outage_ : 0;
        if (connected_ == 0) {
            if (leader_ == nullptr)
                leader_ = by;
            return leader_ == by;
        }
    }
    found_.notify(); // the others may, too
    return true;
}

rota::task<void> postgres_pool::connect(postgres_connection* over) {
    co_await over->open(connecting_limit);
    over->set_patience(preparing_limit);
    co_await set_up_session(over);
    co_await migrate(over);
    over->set_patience(preparing_limit);
    co_await prepare_statements(over);
}

rota::task<void> postgres_pool::try_to_connect(postgres_connection* over) {
    // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): it is read, after a wait
    const auto begin = std::chrono::steady_clock::now();
    try {
        co_await connect(over);
        co_return;
    } catch (const rota::operation_cancelled&) {
        throw;
    } catch (const std::exception&) {
        if (std::chrono::steady_clock::now() - begin > second_try_within)
            throw;
    }
    // Whatever cut all connections may have cut one that was being made: before anybody is refused
    // for that there is another try.
    over->close();
    co_await connect(over);
}

/// Waits, when it can do nothing, without memory: else it would end for the lack of that.
rota::task<void> postgres_pool::serve(lane* by) {
    const attendance here(*this, by);
    const rota::routine& self = co_await rota::current_routine;
    milliseconds pause = first_pause;
    for (;;) {
        if (!by->over.is_open()) {
            if (!may_try(by)) {
                co_await found_.wait();
                continue;
            }
            outcome of;
            try {
                co_await try_to_connect(&by->over);
            } catch (const rota::operation_cancelled&) {
                throw;
            } catch (...) {
                of = outcome::of(std::current_exception(), false, false);
            }
            if (of.how != outcome::what::done) {
                by->over.close();
                if (!cannot_connect(by, std::move(of.why), of.kind))
                    continue;
                rota::sleep_awaiter sleep(self.home().now() + pause);
                co_await sleep;
                pause = std::min(2 * pause, longest_pause);
                continue;
            }
            pause = first_pause;
            connected(by);
        }
        step_line batch = next_batch();
        if (batch.empty()) {
            co_await work_.wait();
            continue;
        }
        work_.notify(); // there may be more
        outcome of;
        try {
            co_await by->transactions.run(&batch);
        } catch (const store_error&) {
            of = outcome::of(std::current_exception(), by->transactions.may_be_done(),
                             batch.front()->waits.next);
        } catch (...) {
            by->over.close(); // it may be in the middle of something
            of = outcome::of(std::current_exception(), by->transactions.may_be_done(), false);
        }
        finish(std::move(batch), of);
        if (!by->over.is_open())
            disconnected();
    }
}

} // namespace jobs
