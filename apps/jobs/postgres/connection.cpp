#include "connection.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include <poll.h>

#include <libpq-fe.h>

#include <rota/blocking.hpp>
#include <rota/errors.hpp>
#include <rota/io/wait_fd.hpp>
#include <rota/routine.hpp>
#include <rota/worker.hpp>

namespace jobs {
namespace {

/// How often one that waits looks whether it still is to.
constexpr std::chrono::seconds look_again_every{1};

struct free_options {
    void operator()(PQconninfoOption* o) const noexcept { PQconninfoFree(o); }
};

struct free_notification {
    void operator()(PGnotify* n) const noexcept { PQfreemem(n); }
};

void say_nothing(void*, const PGresult*) {}

/// What the options of the URL say of one, empty if nothing.
std::string option_of(const std::string& url, std::string_view keyword) {
    const std::unique_ptr<PQconninfoOption, free_options> all(
        PQconninfoParse(url.c_str(), nullptr));
    for (const PQconninfoOption* o = all.get(); o != nullptr && o->keyword != nullptr; ++o) {
        if (o->keyword == keyword && o->val != nullptr)
            return o->val;
    }
    return "";
}

/// Statements of more parameters than libpq takes do not occur.
int count_of(const postgres_values::view& v) noexcept { return static_cast<int>(v.values.size()); }

} // namespace

bool is_postgres_url(const std::string& text) {
    if (!text.starts_with("postgres://") && !text.starts_with("postgresql://"))
        return false;
    return std::unique_ptr<PQconninfoOption, free_options>(
               PQconninfoParse(text.c_str(), nullptr)) != nullptr;
}

void require_ok(const std::vector<postgres_result>& results) {
    for (const postgres_result& each : results) {
        if (!each.ok())
            throw statement_refused("the job store's server says: " + each.error(),
                                    each.error_code());
    }
}

postgres_connection::postgres_connection(rota::io::context& on, std::string url,
                                         const postgres_shutdown* shutdown)
    : on_(on), url_(std::move(url)), shutdown_(shutdown) {}

postgres_connection::~postgres_connection() = default;

void postgres_connection::finish::operator()(pg_conn* c) const noexcept { PQfinish(c); }

void postgres_connection::close() noexcept {
    handle_.reset();
    expected_ = 0;
    inside_result_ = false;
}

pg_conn* postgres_connection::handle() {
    if (!handle_)
        throw connection_lost("the job store is not connected");
    return handle_.get();
}

std::string postgres_connection::reason() const {
    std::string words = handle_ ? PQerrorMessage(handle_.get()) : "";
    while (!words.empty() && words.back() == '\n')
        words.pop_back();
    std::ranges::replace_if(
        words, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return words.empty() ? "the connection is broken" : words;
}

void postgres_connection::fail(const std::string& why) {
    close();
    throw connection_lost(why);
}

std::string postgres_connection::where() const {
    if (!handle_)
        return "PostgreSQL";
    const auto text = [](const char* of) { return std::string(of == nullptr ? "" : of); };
    return text(PQdb(handle_.get())) + " at " + text(PQhost(handle_.get())) + ", port " +
           text(PQport(handle_.get()));
}

// --- Connecting ---

/// Names are looked up, and passwords are hashed, on threads that may take their time.
rota::task<void> postgres_connection::open(milliseconds limit) {
    close();
    const std::string said = option_of(url_, "connect_timeout");
    int seconds = 0;
    std::from_chars(said.data(), said.data() + said.size(), seconds);
    if (seconds > 0)
        limit = std::chrono::seconds(seconds);
    rota::routine& self = co_await rota::current_routine;
    const auto until = self.home().now() + limit;
    const char* const keywords[] = {"dbname", "client_encoding", "fallback_application_name",
                                    nullptr};
    const char* const values[] = {url_.c_str(), "UTF8", "rota-jobs", nullptr};
    auto begin = [&] { return PQconnectStartParams(keywords, values, 1); };
    handle_.reset(co_await rota::blocking(std::ref(begin)));
    if (!handle_)
        fail("cannot connect to the job store: out of memory");
    PQsetNoticeReceiver(handle_.get(), say_nothing, nullptr);
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    if (PQstatus(handle_.get()) == CONNECTION_BAD)
        status = PGRES_POLLING_FAILED;
    auto poll = [this] { return PQconnectPoll(handle_.get()); };
    while (status != PGRES_POLLING_OK) {
        if (status == PGRES_POLLING_FAILED)
            fail("cannot connect to the job store: " + reason());
        const short event = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        co_await wait_for_socket(event, until);
        status = co_await rota::blocking(std::ref(poll));
    }
    if (PQsetnonblocking(handle_.get(), 1) != 0 || PQenterPipelineMode(handle_.get()) != 1)
        fail("cannot connect to the job store: " + reason());
}

rota::task<void> postgres_connection::wait_for_socket(std::uint32_t events,
                                                      std::chrono::steady_clock::time_point until) {
    rota::routine& self = co_await rota::current_routine;
    std::string why;
    do {
        const auto next_look = std::min(until, self.home().now() + look_again_every);
        try {
            (void)co_await rota::io::wait_fd(on_, PQsocket(handle_.get()), events, next_look);
            co_return;
        } catch (const rota::timed_out&) {
            why = "the job store's server does not answer";
        } catch (const std::system_error& e) {
            fail(std::string("the job store's connection: ") + e.what());
        } catch (const rota::operation_cancelled&) {
            close(); // in the middle of something
            throw;
        }
    } while (!(shutdown_ != nullptr && shutdown_->is_on()) && self.home().now() < until);
    fail(why);
}

// --- Statements ---

void postgres_connection::send(const char* prepared, const postgres_values& values) {
    const postgres_values::view v = values.get();
    if (PQsendQueryPrepared(handle(), prepared, count_of(v), v.values.data(), v.lengths.data(),
                            v.formats.data(), 1) != 1)
        fail("the job store's connection: " + reason());
    ++expected_;
}

void postgres_connection::send_text(const char* sql, const postgres_values& values) {
    const postgres_values::view v = values.get();
    if (PQsendQueryParams(handle(), sql, count_of(v), nullptr, v.values.data(), v.lengths.data(),
                          v.formats.data(), 1) != 1)
        fail("the job store's connection: " + reason());
    ++expected_;
}

void postgres_connection::prepare(const char* name, const char* sql) {
    if (PQsendPrepare(handle(), name, sql, 0, nullptr) != 1)
        fail("the job store's connection: " + reason());
    ++expected_;
}

rota::task<std::vector<postgres_result>> postgres_connection::flush() { return exchange(false); }

rota::task<std::vector<postgres_result>> postgres_connection::sync() { return exchange(true); }

/// True once all are there.
bool postgres_connection::read_results(std::vector<postgres_result>& into, bool ends) {
    PGconn* const c = handle();
    for (;;) {
        if (into.size() == expected_ && !inside_result_ && !ends)
            return true;
        if (PQisBusy(c) != 0)
            return false;
        PGresult* const next = PQgetResult(c);
        postgres_result result(next);
        if (next == nullptr) {
            if (!std::exchange(inside_result_, false))
                fail("the job store's connection: " + reason());
        } else if (PQresultStatus(next) == PGRES_PIPELINE_SYNC) {
            return true;
        } else if (inside_result_) { // the server closes: the error follows the last result
            fail("the job store's connection: " + reason());
        } else {
            into.push_back(std::move(result));
            inside_result_ = true;
        }
        if (PQstatus(c) == CONNECTION_BAD)
            fail("the job store's connection: " + reason());
    }
}

rota::task<std::vector<postgres_result>> postgres_connection::exchange(bool ends) {
    const int asked = ends ? PQpipelineSync(handle()) : PQsendFlushRequest(handle());
    if (asked != 1)
        fail("the job store's connection: " + reason());
    rota::routine& self = co_await rota::current_routine;
    const auto until = deadline_.value_or(self.home().now() + patience_);
    std::vector<postgres_result> results;
    for (;;) {
        const int left = PQflush(handle());
        if (left < 0)
            fail("the job store's connection: " + reason());
        // What the server says while it is not read keeps it from reading.
        if (left == 0 && read_results(results, ends))
            break;
        const std::uint32_t events = left > 0 ? POLLIN | POLLOUT : POLLIN;
        co_await wait_for_socket(events, until);
        if (PQconsumeInput(handle()) != 1)
            fail("the job store's connection: " + reason());
    }
    if (results.size() != expected_)
        fail("the job store's server has answered something else than was asked");
    expected_ = 0;
    co_return std::move(results);
}

rota::task<postgres_result> postgres_connection::run(const char* sql) {
    send_text(sql);
    std::vector<postgres_result> results = co_await sync();
    require_ok(results);
    co_return std::move(results.front());
}

rota::task<void> postgres_connection::roll_back() {
    (void)co_await sync();
    if (PQtransactionStatus(handle()) == PQTRANS_IDLE)
        co_return;
    send_text("ROLLBACK");
    (void)co_await sync();
}

// --- News ---

rota::task<void> postgres_connection::wait_for_news(milliseconds limit) {
    rota::routine& self = co_await rota::current_routine;
    const auto until = self.home().now() + limit;
    std::string why;
    try {
        (void)co_await rota::io::wait_fd(on_, PQsocket(handle()), POLLIN, until);
        if (PQconsumeInput(handle()) == 1)
            co_return;
        why = reason();
    } catch (const rota::timed_out&) {
        co_return;
    } catch (const std::system_error& e) {
        why = e.what();
    }
    fail("the job store's connection: " + why);
}

std::vector<postgres_connection::notification> postgres_connection::take_news() {
    std::vector<notification> news;
    while (const std::unique_ptr<PGnotify, free_notification> each{PQnotifies(handle())})
        news.push_back({each->extra == nullptr ? "" : each->extra});
    return news;
}

} // namespace jobs
