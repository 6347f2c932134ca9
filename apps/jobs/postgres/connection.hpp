#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/io/context.hpp>
#include <rota/task.hpp>

#include "jobs/store_error.hpp"
#include "values.hpp"

struct pg_conn;

namespace jobs {

/// The connection is not there, or no more. What was under way on it has been undone by the server,
/// unless it had been asked to commit. Of another kind if the server can be had.
class connection_lost : public store_error {
public:
    explicit connection_lost(const std::string& why, store_fault kind = store_fault::unreachable)
        : store_error(why, kind) {}
};

/// The server has refused a statement.
class statement_refused : public store_error {
public:
    statement_refused(const std::string& what, std::string code)
        : store_error(what, code == disk_full ? store_fault::full : store_fault::failed),
          code_(std::move(code)) {}
    /// The five characters of SQLSTATE.
    [[nodiscard]] const std::string& code() const noexcept { return code_; }

private:
    static constexpr std::string_view disk_full = "53100";
    std::string code_;
};

/// Whether `text` is a URL that libpq understands. It may hold a password: not to be logged.
[[nodiscard]] bool is_postgres_url(const std::string& text);

/// Whether the program shuts down, so that a server which does not answer is not waited for. It is
/// forgotten after some seconds, should the program go on. Any thread.
class postgres_shutdown {
public:
    void begin() noexcept { until_ = (clock::now() + lasts).time_since_epoch().count(); }
    [[nodiscard]] bool is_on() const noexcept {
        return clock::now().time_since_epoch().count() < until_;
    }

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds lasts{5};
    std::atomic<clock::rep> until_ = 0;
};

/// A connection to a server that speaks PostgreSQL's protocol, in pipeline mode: send() as many
/// statements as are known, then flush() or sync() for all that they gave. libpq, in non-blocking
/// mode; its socket is awaited by the reactor. The one place, with postgres_values, that knows the
/// library. For one routine at a time. Source: PostgreSQL 15 manual, 34.4 and 34.5.
class postgres_connection {
public:
    using milliseconds = std::chrono::milliseconds;

    /// Opens nothing yet. `on` and `shutdown`, if there is one, outlive it.
    postgres_connection(rota::io::context& on, std::string url,
                        const postgres_shutdown* shutdown = nullptr);
    postgres_connection(const postgres_connection&) = delete;
    postgres_connection& operator=(const postgres_connection&) = delete;
    ~postgres_connection();

    /// Connects, within `limit` unless the URL says connect_timeout. Throws connection_lost.
    rota::task<void> open(milliseconds limit);
    void close() noexcept;
    [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }
    /// Where it leads to, without secrets.
    [[nodiscard]] std::string where() const;

    /// How long the server may take to answer from now on.
    void set_patience(milliseconds limit) noexcept {
        patience_ = limit;
        deadline_.reset();
    }
    /// By when it has to have answered everything that it is asked from now on.
    void set_deadline(std::chrono::steady_clock::time_point until) noexcept { deadline_ = until; }

    /// Adds a statement that has been prepared. What is sent waits for flush() or sync(). These
    /// throw connection_lost.
    void send(const char* prepared, const postgres_values& values = {});
    /// Adds one statement as text.
    void send_text(const char* sql, const postgres_values& values = {});
    void prepare(const char* name, const char* sql);
    /// What has been sent since the last call gave, each, in order: also what was refused. Those
    /// behind a refused one are skipped until the next sync(). Throws connection_lost, and is
    /// closed then.
    rota::task<std::vector<postgres_result>> flush();
    /// As flush(), and ends the pipeline.
    rota::task<std::vector<postgres_result>> sync();
    /// One statement by itself, with all its results. Throws statement_refused, connection_lost.
    rota::task<postgres_result> run(const char* sql);
    /// Ends what is under way and undoes its transaction, if there is one.
    rota::task<void> roll_back();

    struct notification {
        std::string payload;
    };
    /// Waits until the server says something by itself, or `limit` has passed.
    rota::task<void> wait_for_news(milliseconds limit);
    /// What has been notified (LISTEN) up to now.
    [[nodiscard]] std::vector<notification> take_news();

private:
    struct finish {
        void operator()(pg_conn* c) const noexcept;
    };
    [[nodiscard]] pg_conn* handle();
    [[noreturn]] void fail(const std::string& why);
    [[nodiscard]] std::string reason() const;
    rota::task<std::vector<postgres_result>> exchange(bool ends);
    rota::task<void> wait_for_socket(std::uint32_t events,
                                     std::chrono::steady_clock::time_point until);
    bool read_results(std::vector<postgres_result>& into, bool ends);

    rota::io::context& on_;
    const std::string url_;
    const postgres_shutdown* const shutdown_;
    std::unique_ptr<pg_conn, finish> handle_;
    milliseconds patience_{30'000};
    std::optional<std::chrono::steady_clock::time_point> deadline_; // none: patience_ for each
    std::size_t expected_ = 0;   // results of statements that have been sent
    bool inside_result_ = false; // what follows is the end of a statement's results
};

/// Throws statement_refused if one of them was refused.
void require_ok(const std::vector<postgres_result>& results);

} // namespace jobs
