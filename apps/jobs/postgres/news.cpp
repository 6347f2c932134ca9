#include "news.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include <rota/errors.hpp>
#include <rota/io/log.hpp>
#include <rota/routine.hpp>
#include <rota/sleep.hpp>
#include <rota/when_any.hpp>
#include <rota/worker.hpp>

#include "jobs/rules/ledger.hpp"
#include "schema.hpp"
#include "statements.hpp"

namespace jobs {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view channel = "rota_jobs";
constexpr std::size_t piece_bytes_max = 7'900;
/// What waits to be sent while there is no connection; the tables tell of the rest.
constexpr std::size_t outgoing_max = 10'000;
constexpr std::size_t wished_max = 20'000;
constexpr std::size_t others_max = 1'000;
constexpr milliseconds limit{15'000};
constexpr milliseconds pause{500};
constexpr milliseconds look_every{1'000};
constexpr milliseconds look_every_without_news{200};

template <class Number>
bool read(std::string_view& from, Number& into) {
    const auto end = std::from_chars(from.data(), from.data() + from.size(), into);
    if (end.ec != std::errc())
        return false;
    from.remove_prefix(static_cast<std::size_t>(end.ptr - from.data()));
    if (from.starts_with(' '))
        from.remove_prefix(1);
    return true;
}

std::string_view next_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

std::string line_of(const change& each) {
    std::string line;
    for (const std::int64_t number :
         {static_cast<std::int64_t>(each.kind), static_cast<std::int64_t>(each.id),
          std::int64_t{each.attempt}, each.at, each.due})
        line += (line.empty() ? "" : " ") + std::to_string(number);
    return line + '\n';
}

std::string news_head(const std::string& sender, const std::string& schema) {
    return sender + '\n' + schema + '\n';
}

rota::task<void> wait_for(rota::auto_event* event) { co_await event->wait(); }

} // namespace

// --- Texts ---

std::vector<std::string> write_news(const std::string& sender, const std::string& schema,
                                    const std::vector<change>& what, std::size_t pieces_max) {
    const std::string head = news_head(sender, schema);
    std::vector<std::string> pieces;
    std::set<std::string> left;
    const std::string* queue = nullptr;
    const auto add = [&](const std::string& named, const std::string& line, bool bounded) {
        const bool same = !pieces.empty() && queue != nullptr && *queue == named;
        if (pieces.empty() ||
            pieces.back().size() + named.size() + line.size() + 2 > piece_bytes_max) {
            if (bounded && pieces.size() == pieces_max)
                return false;
            pieces.push_back(head + '=' + named + '\n' + line);
        } else {
            pieces.back() += same ? line : '=' + named + '\n' + line;
        }
        queue = &named;
        return true;
    };
    for (const change& each : what) {
        if (!left.empty() || !add(*each.queue, line_of(each), true))
            left.insert(*each.queue);
    }
    for (const std::string& each : left)
        add(each, "?\n", false);
    return pieces;
}

std::optional<news> read_news(std::string_view text) {
    news result;
    result.sender = next_line(text);
    result.schema = next_line(text);
    std::shared_ptr<const std::string> queue;
    while (!text.empty()) {
        std::string_view line = next_line(text);
        if (line.starts_with('=')) {
            queue = std::make_shared<const std::string>(line.substr(1));
            continue;
        }
        if (!queue)
            return std::nullopt;
        if (line == "?") {
            result.queues.push_back(*queue);
            continue;
        }
        change each;
        unsigned kind = 0;
        if (!read(line, kind) || !read(line, each.id) || !read(line, each.attempt) ||
            !read(line, each.at) || !read(line, each.due) || !line.empty() ||
            kind > static_cast<unsigned>(change_kind::removed))
            return std::nullopt;
        each.kind = static_cast<change_kind>(kind);
        each.queue = queue;
        result.changes.push_back(std::move(each));
    }
    return result;
}

// --- The connection ---

postgres_news::postgres_news(rota::io::context& on, std::string url,
                             const std::atomic<bool>& reachable, postgres_news_reader& reader)
    : sender_(random_id()), reachable_(reachable), reader_(reader), over_(on, std::move(url)) {
    over_.set_patience(limit);
    routine_ = on.workers().spawn(work(), {.name = "job store news"});
}

postgres_news::~postgres_news() {
    routine_->request_stop();
    routine_->wait_stopped();
}

void postgres_news::tell(const std::vector<change>& what) noexcept {
    try {
        const std::lock_guard guard(lock_);
        if (!is_heard_ || outgoing_.size() + what.size() > outgoing_max)
            return; // it will be found in the tables
        outgoing_.insert(outgoing_.end(), what.begin(), what.end());
    } catch (const std::bad_alloc&) { // the same
        return;
    }
    outgoing_there_.notify();
}

void postgres_news::wish(const std::string& queue) noexcept {
    try {
        const std::lock_guard guard(lock_);
        if (wished_.size() < wished_max)
            wished_.insert(queue);
    } catch (const std::bad_alloc&) { // what others tell is left
    }
}

std::vector<std::string> postgres_news::take_outgoing() {
    std::vector<change> what;
    {
        const std::lock_guard guard(lock_);
        what.swap(outgoing_);
    }
    std::vector<std::string> pieces = write_news(sender_, schema_, what);
    if (std::exchange(greets_, false) && pieces.empty())
        pieces.push_back(news_head(sender_, schema_));
    return pieces;
}

/// Whether another server is to be told.
void postgres_news::know_others() {
    const std::lock_guard guard(lock_);
    is_heard_ = listens_ && !others_.empty();
}

rota::task<void> postgres_news::work() {
    for (;;) {
        std::string why;
        try {
            if (!reachable_) {
                over_.close();
            } else if (!over_.is_open()) {
                co_await connect();
            }
            if (over_.is_open()) {
                co_await turn();
                continue;
            }
        } catch (const rota::operation_cancelled&) {
            break;
        } catch (const std::exception& e) {
            why = reason_of(e);
        }
        if (!why.empty())
            rota::log::debug("no news from the job store: {}", why);
        over_.close();
        {
            const std::lock_guard guard(lock_);
            is_heard_ = false;
            outgoing_.clear();
        }
        co_await rota::sleep_for(pause);
    }
    over_.close();
}

rota::task<void> postgres_news::connect() {
    co_await over_.open(limit);
    co_await migrate(&over_);
    const postgres_result schema = co_await over_.run("SELECT current_schema()::text");
    schema_ = schema.text(0, 0);
    co_await set_up_session(&over_);
    // News are lost when the machine is: they need not be on disk. Not every engine knows this.
    over_.send_text("SET synchronous_commit = off");
    (void)co_await over_.sync();
    for (const sql::prepared* each : {&sql::have_jobs, &sql::next_due_job})
        over_.prepare(each->name, each->text);
    const std::vector<postgres_result> prepared = co_await over_.sync();
    require_ok(prepared);
    over_.send_text("LISTEN rota_jobs");
    over_.prepare(sql::notify.name, sql::notify.text);
    const std::vector<postgres_result> heard = co_await over_.sync();
    const bool refused = std::ranges::any_of(heard, [](const auto& r) { return !r.ok(); });
    if (refused && !told_)
        rota::log::info("the job store's server has no LISTEN: it is looked into more often");
    told_ |= refused;
    listens_ = !refused;
    look_at_ = {};
    greets_ = listens_;
    know_others();
}

/// Sends what there is, hears what there is, looks if it is time, waits for any of these.
rota::task<void> postgres_news::turn() {
    std::vector<std::string> pieces = take_outgoing();
    if (!pieces.empty()) {
        co_await send(std::move(pieces));
    }
    hear();
    rota::routine& self = co_await rota::current_routine;
    if (self.home().now() >= look_at_) {
        co_await look();
        look_at_ = self.home().now() + (listens_ ? look_every : look_every_without_news);
        hear();
    }
    if (greets_)
        co_return; // at once
    const auto left = std::chrono::ceil<milliseconds>(look_at_ - self.home().now());
    rota::task<void> wake = wait_for(&outgoing_there_);
    rota::task<void> news = over_.wait_for_news(left);
    (void)co_await rota::when_any(std::move(wake), std::move(news));
    if (over_.is_open())
        hear();
}

rota::task<void> postgres_news::send(std::vector<std::string> pieces) {
    for (const std::string& piece : pieces)
        over_.send(sql::notify.name, postgres_values().add(channel).add(std::string_view(piece)));
    const std::vector<postgres_result> told = co_await over_.sync();
    for (const postgres_result& each : told) {
        if (!each.ok())
            rota::log::debug("the job store's server does not notify: {}", each.error());
    }
}

void postgres_news::hear() {
    for (const postgres_connection::notification& each : over_.take_news()) {
        const std::optional<news> heard = read_news(each.payload);
        if (!heard || heard->sender == sender_ || heard->schema != schema_)
            continue;
        if (!others_.contains(heard->sender)) {
            if (others_.size() == others_max) // most are gone
                others_.clear();
            others_.insert(heard->sender);
            greets_ = true; // it may have come after the last time
            know_others();
        }
        reader_.told(heard->changes);
        for (const std::string& queue : heard->queues)
            reader_.may_have_jobs(queue);
    }
}

/// What the tables say.
rota::task<void> postgres_news::look() {
    std::vector<std::string> wished;
    {
        const std::lock_guard guard(lock_);
        wished.assign(wished_.begin(), wished_.end());
    }
    over_.send(sql::next_due_job.name);
    if (!wished.empty())
        over_.send(sql::have_jobs.name, postgres_values().add_texts(wished));
    const std::vector<postgres_result> seen = co_await over_.sync();
    require_ok(seen);
    const postgres_result& next = seen.front();
    if (next.rows() != 0)
        reader_.ends_first(std::string(next.text(0, 0)), next.integer(0, 1));
    if (wished.empty())
        co_return;
    for (int i = 0; i < seen.at(1).rows(); ++i) {
        const std::string queue(seen[1].text(i, 0));
        {
            const std::lock_guard guard(lock_);
            wished_.erase(queue); // a consumer that still finds none wishes again
        }
        reader_.may_have_jobs(queue);
    }
}

} // namespace jobs
