#include "live.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <rota/blocking.hpp>
#include <rota/errors.hpp>
#include <rota/linked_stop.hpp>
#include <rota/routine.hpp>
#include <rota/worker.hpp>

#include "live_feed.hpp"
#include "live_text.hpp"

namespace rota_http {
namespace {

using rota::task;
using rota::http::body_writer;
using rota::http::response;

constexpr std::chrono::milliseconds interval{1'000};
/// Figures of a look that is older say nothing of now.
constexpr std::chrono::seconds gap_max{5};

/// Looks, and remembers the last look. One call at a time.
class looker {
public:
    explicit looker(const inspected* of) noexcept : of_(of) {}

    static task<std::string> make(std::shared_ptr<looker> self) {
        rota::runtime& workers = self->of_->context->workers();
        live_look now;
        now.seen.queues = co_await queues_of(self->of_->queues);
        // With very many clients this takes its time: not a worker's.
        now.tasks = co_await list_aside(&workers);
        now.seen.http = self->of_->server->metrics();
        now.at = rota::worker::current()->now();
        now.started_ms = self->of_->queues->epoch();
        now.now_ms = self->of_->queues->now();
        const bool follows = self->last_ && now.at - self->last_->at < gap_max;
        std::string text = "data: " + live_text(now, follows ? &*self->last_ : nullptr) + "\n\n";
        now.tasks = {};
        now.seen.queues.clear();
        self->last_ = std::move(now);
        co_return std::move(text);
    }

private:
    static task<task_list> list_aside(rota::runtime* workers) {
        const auto list = [workers] { return list_tasks(*workers); };
        task_list all = co_await rota::blocking(list);
        co_return std::move(all);
    }

    const inspected* of_;
    std::optional<live_look> last_;
};

/// Until the client goes or the server drains.
task<void> send_issues(std::shared_ptr<live_feed> feed, std::stop_token draining, body_writer* to) {
    const std::stop_token stopped = co_await rota::current_stop_token;
    const rota::linked_stop enough(stopped, draining);
    const std::stop_token& token = enough.token();
    co_await to->write("retry: 1000\n\n");
    std::uint64_t seen = 0;
    while (!token.stop_requested()) {
        live_feed::issue latest;
        try {
            task<live_feed::issue> waiting = feed->next(seen);
            latest = co_await waiting.under(token);
        } catch (const rota::operation_cancelled&) {
            break;
        }
        seen = latest.number;
        co_await to->write(*latest.text);
        co_await to->flush();
    }
    if (stopped.stop_requested())
        throw rota::operation_cancelled();
    co_await to->write("event: drain\ndata: {}\n\n");
}

} // namespace

void add_live(rota::http::router& to, const inspected& of) {
    const auto by = std::make_shared<looker>(&of);
    const auto feed = std::make_shared<live_feed>([by] { return looker::make(by); }, interval);
    const inspected* const from = &of;
    to.get("/live", [from, feed] {
        auto producer = [feed, draining = from->server->drain_token()](body_writer& writer) {
            return send_issues(feed, draining, &writer);
        };
        response answer = response::stream(std::move(producer), "text/event-stream");
        answer.header("Cache-Control", "no-store");
        return answer;
    });
}

} // namespace rota_http
