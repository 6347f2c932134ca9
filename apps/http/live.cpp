#include "live.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <rota/blocking.hpp>
#include <rota/errors.hpp>
#include <rota/http/event_stream.hpp>
#include <rota/routine.hpp>
#include <rota/under.hpp>
#include <rota/worker.hpp>

#include "live_feed.hpp"
#include "live_text.hpp"

namespace rota_http {
namespace {

using rota::task;
using rota::http::event_stream;
using rota::http::event_stream_options;
using rota::http::request;
using rota::http::response;
using rota::http::server_event;

constexpr std::chrono::milliseconds live_interval{1'000};
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
        std::string text = server_event(live_text(now, follows ? &*self->last_ : nullptr)).text();
        now.tasks = {};
        now.seen.queues.clear();
        self->last_ = std::move(now);
        co_return std::move(text);
    }

private:
    static task<task_list> list_aside(rota::runtime* workers) {
        const auto list = [workers] { return list_tasks(*workers); };
        co_return co_await rota::blocking(list);
    }

    const inspected* of_;
    std::optional<live_look> last_;
};

/// Until the client goes or the server drains, which it is told.
task<void> send_issues(std::shared_ptr<live_feed> feed, std::stop_token draining,
                       event_stream* to) {
    const std::stop_token stopped = co_await rota::current_stop_token;
    std::uint64_t seen = 0;
    while (!draining.stop_requested()) {
        live_feed::issue latest;
        try {
            latest = co_await rota::under(draining, feed->next(seen));
        } catch (const rota::operation_cancelled&) {
            if (stopped.stop_requested())
                throw;
            break;
        }
        seen = latest.number;
        co_await to->send_text(*latest.text);
    }
    server_event last("{}");
    last.type("drain");
    co_await to->send(last);
}

} // namespace

void add_live(rota::http::router& to, const inspected& of) {
    const auto by = std::make_shared<looker>(&of);
    const auto feed = std::make_shared<live_feed>([by] { return looker::make(by); }, live_interval);
    to.get("/live", [from = &of, feed](request& r) -> task<response> {
        auto source = [feed, draining = from->server->drain_token()](event_stream& stream) {
            return send_issues(feed, draining, &stream);
        };
        event_stream_options options;
        options.retry = live_interval;
        co_return event_stream::answer(r, std::move(source), std::move(options));
    });
}

} // namespace rota_http
