#include <rota/http/event_stream.hpp>

#include <charconv>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/http/fields.hpp>
#include <rota/sleep.hpp>
#include <rota/task_group.hpp>
#include <rota/time_span.hpp>
#include <rota/under.hpp>
#include <rota/with_timeout.hpp>
#include <rota/worker.hpp>

namespace rota::http {
namespace {

constexpr std::size_t last_event_id_max = 1'024;
/// Between two comments to a client that may have gone.
constexpr std::chrono::seconds probe_interval{1};

/// Appends each line of `text` behind `name`. Lines end as a client would have them end.
void append_lines(std::string& to, std::string_view name, std::string_view text) {
    for (;;) {
        const std::size_t end = text.find_first_of("\r\n");
        to.append(name).append(text.substr(0, end)).append("\n");
        if (end == std::string_view::npos)
            return;
        text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
    }
}

std::string one_line(std::string text, const char* what) {
    constexpr std::string_view never("\r\n\0", 3);
    if (text.find_first_of(never) != std::string::npos)
        throw std::invalid_argument(std::string(what) + " of an event has neither CR, LF nor NUL");
    return text;
}

void require_sendable(std::chrono::milliseconds retry) {
    if (retry.count() < 0)
        throw std::invalid_argument("the time to retry after is not negative");
}

} // namespace

server_event& server_event::id(std::string text) & {
    id_ = one_line(std::move(text), "the id");
    return *this;
}

server_event& server_event::type(std::string text) & {
    type_ = one_line(std::move(text), "the type");
    return *this;
}

server_event& server_event::retry(std::chrono::milliseconds time) & {
    require_sendable(time);
    retry_ = time;
    return *this;
}

void server_event::append_to(std::string& to) const {
    if (id_)
        to.append("id: ").append(*id_).append("\n");
    if (!type_.empty())
        to.append("event: ").append(type_).append("\n");
    if (retry_)
        to.append("retry: ").append(std::to_string(retry_->count())).append("\n");
    append_lines(to, "data: ", data_);
    to.append("\n");
}

std::string server_event::text() const {
    std::string all;
    append_to(all);
    return all;
}

std::optional<std::string_view> last_event_id(const request& asked) noexcept {
    std::optional<std::string_view> found;
    for (const header_field field : asked.headers()) {
        if (!fields::iequals(field.name, "Last-Event-ID"))
            continue;
        if (found)
            return std::nullopt;
        found = field.value;
    }
    if (found && (found->empty() || found->size() > last_event_id_max))
        return std::nullopt;
    return found;
}

response event_stream::answer(request& asked, source produce, event_stream_options options) {
    if (options.retry)
        require_sendable(*options.retry);
    if (!produce)
        throw std::invalid_argument("a stream of events needs a function that sends them");
    if (options.heartbeat.count() < 0)
        throw std::invalid_argument("the heartbeat of a stream of events is not negative");
    options.heartbeat = at_most_ten_years(options.heartbeat);
    auto producer = [asked = &asked, produce = std::move(produce), options = std::move(options)](
                        body_writer& to) mutable { return run(asked, &produce, &options, &to); };
    response made = response::stream(std::move(producer), "text/event-stream");
    made.header("Cache-Control", "no-store").header("X-Accel-Buffering", "no");
    return made;
}

task<void> event_stream::run(request* asked, source* produce, const event_stream_options* options,
                             body_writer* to) {
    event_stream self(*asked, *options, *to);
    std::string first;
    if (options->retry)
        first = "retry: " + std::to_string(options->retry->count()) + "\n\n";
    co_await self.send_text(first); // the client learns that it is connected
    event_stream* const stream = &self;
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): the task keeps it
    auto body = [stream, produce](task_group& both) -> task<void> {
        both.spawn(stream->watch(), "events: is the client there");
        co_await stream->produce(produce);
        both.request_stop();
    };
    co_await with_task_group(std::move(body));
}

task<void> event_stream::produce(source* from) {
    const std::stop_token stopped = co_await current_stop_token;
    try {
        co_await under(options_.until, (*from)(*this));
    } catch (const operation_cancelled&) {
        if (stopped.stop_requested() || !options_.until.stop_requested())
            throw;
    }
}

/// Runs beside the source: comments where that is silent, and sees whether the client is there. A
/// receive stays armed for that, so that its end is noticed while nothing happens; whether it has
/// ended one side or both only shows when something is written.
task<void> event_stream::watch() {
    const auto every = options_.heartbeat;
    if (every.count() == 0)
        co_await asked_.disconnected();
    for (bool there = every.count() != 0; there;) {
        task<void> gone = asked_.disconnected();
        try {
            co_await with_deadline(written_ + every, std::move(gone));
            there = false;
        } catch (const timed_out&) {
        }
        if (there)
            co_await beat(every);
    }
    for (std::chrono::milliseconds silence{}; true; silence = probe_interval) {
        co_await sleep_until(written_ + silence);
        co_await beat(silence);
    }
}

task<void> event_stream::beat(std::chrono::milliseconds silence) {
    const mutex::guard held = co_await writing_.lock();
    const bool due = worker::current()->now() - written_ >= silence;
    if (!due)
        co_return;
    co_await to_.write(":\n\n");
    co_await to_.flush();
    written_ = worker::current()->now();
}

task<void> event_stream::send_text(std::string_view events) {
    const mutex::guard held = co_await writing_.lock();
    co_await to_.write(events);
    co_await to_.flush();
    written_ = worker::current()->now();
}

task<void> event_stream::send_owned(std::string text) { co_await send_text(text); }

task<void> event_stream::send(const server_event& what) { return send_owned(what.text()); }

task<void> event_stream::send(shared_event what) { co_await send_text(what.text()); }

task<void> event_stream::comment(std::string_view text) {
    std::string lines;
    append_lines(lines, ": ", text);
    lines += "\n";
    return send_owned(std::move(lines));
}

task<void> event_stream::follow(broadcast<shared_event>& from, lag_policy policy,
                                std::optional<shared_event> on_lag) {
    broadcast<shared_event>::receiver receiver(from, policy);
    std::uint64_t missed = 0;
    for (;;) {
        std::optional<shared_event> next = co_await receiver.next();
        const std::uint64_t missed_now = receiver.missed();
        const bool lagged = std::exchange(missed, missed_now) != missed_now;
        if (lagged && on_lag)
            co_await send(*on_lag);
        if (!next)
            co_return;
        co_await send(*std::move(next));
    }
}

std::optional<std::string_view> event_stream::last_event_id() const noexcept {
    return http::last_event_id(asked_);
}

std::optional<std::uint64_t> event_stream::last_event_number(std::uint64_t most) const noexcept {
    const std::optional<std::string_view> text = last_event_id();
    if (!text)
        return std::nullopt;
    std::uint64_t number = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc() || stop != end || number > most)
        return std::nullopt;
    return number;
}

} // namespace rota::http
