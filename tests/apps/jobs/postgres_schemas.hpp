#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include <rota/io/context.hpp>

#include "jobs/postgres/connection.hpp"

/// The URL of a database for tests, if there is one: postgres.py sets it.
inline std::optional<std::string> postgres_for_tests() {
    const char* const url = std::getenv("ROTA_TEST_POSTGRES");
    if (url == nullptr || *url == '\0')
        return std::nullopt;
    return url;
}

/// A schema in that database for one test, which goes with it.
class scratch_schema {
public:
    scratch_schema() : name_("test_" + std::to_string(::getpid()) + '_' + std::to_string(next())) {
        run("CREATE SCHEMA " + name_);
    }
    scratch_schema(const scratch_schema&) = delete;
    scratch_schema& operator=(const scratch_schema&) = delete;
    ~scratch_schema() {
        try {
            run("DROP SCHEMA " + name_ + " CASCADE");
        } catch (const std::exception&) { // the whole server goes with the tests
        }
    }

    /// Of the database, with this schema and no other.
    [[nodiscard]] std::string url() const {
        const std::string base = postgres_for_tests().value();
        return base + (base.find('?') == std::string::npos ? '?' : '&') +
               "options=-csearch_path%3D" + name_;
    }
    /// Where it is reached from.
    [[nodiscard]] rota::io::context& context() const { return *context_; }
    /// One statement, and the first column of its first row, if it is an integer.
    std::int64_t run(const std::string& sql) const {
        jobs::postgres_connection on(*context_, postgres_for_tests().value());
        return context_->block_on(run_on(&on, &sql, &name_));
    }

private:
    static int next() {
        static std::atomic<int> last{0};
        return ++last;
    }
    static rota::task<std::int64_t> run_on(jobs::postgres_connection* on, const std::string* sql,
                                           const std::string* schema) {
        rota::task<void> opening = on->open(std::chrono::seconds(60));
        co_await std::move(opening);
        const std::string path = "SET search_path = " + *schema;
        rota::task<jobs::postgres_result> setting = on->run(path.c_str());
        (void)co_await std::move(setting);
        rota::task<jobs::postgres_result> running = on->run(sql->c_str());
        const jobs::postgres_result result = co_await std::move(running);
        co_return result.rows() == 0 ? 0 : result.integer(0, 0);
    }

    std::unique_ptr<rota::io::context> context_ =
        std::make_unique<rota::io::context>(rota::io::context_options{.workers = 2});
    const std::string name_;
};
