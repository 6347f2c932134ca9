#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <unistd.h>

#include <rota/inline_scheduler.hpp>

#include "jobs/rules/memory_store.hpp"
#ifdef ROTA_WITH_SQLITE
#include "jobs/sqlite/store.hpp"
#endif
#ifdef ROTA_WITH_POSTGRES
#include "jobs/postgres/store.hpp"
#include "postgres_schemas.hpp"
#endif

/// A folder that goes with the test.
class scratch_folder {
public:
    scratch_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "rota-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("mkdtemp");
        path_ = name;
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }
    /// As the host of a URL: a folder of sockets.
    [[nodiscard]] std::string url_path() const {
        std::string result;
        for (const char c : path_.string())
            result += c == '/' ? std::string("%2F") : std::string(1, c);
        return result;
    }

private:
    std::filesystem::path path_;
};

/// Lease ids that can be told beforehand: "lease-1", "lease-2", ...
struct numbered_leases {
    std::shared_ptr<int> last = std::make_shared<int>(0);
    std::string operator()() const { return "lease-" + std::to_string(++*last); }
};

/// One kind of store, to be opened afresh; reopen() closes it first, and keeps what lasts.
class store_kind {
public:
    explicit store_kind(std::string kind) : kind_(std::move(kind)) {}

    jobs::store& open(jobs::store_limits limits = {}) {
        limits_ = limits;
        return reopen();
    }
    jobs::store& reopen() {
        store_.reset();
#ifdef ROTA_WITH_SQLITE
        if (kind_ == "sqlite") {
            store_ = std::make_unique<jobs::sqlite_store>(file(), limits_, leases_);
            return *store_;
        }
#endif
#ifdef ROTA_WITH_POSTGRES
        if (kind_ == "postgres") {
            if (!schema_)
                schema_ = std::make_unique<scratch_schema>();
            // With one connection calls are done in their order, though nobody waits for them.
            store_ = std::make_unique<jobs::postgres_store>(
                schema_->context(), schema_->url(), limits_,
                jobs::postgres_options{.connections = 1}, leases_);
            return *store_;
        }
#endif
        store_ = std::make_unique<jobs::memory_store>(limits_, leases_);
        return *store_;
    }
    void close() { store_.reset(); }
    /// Of an sqlite store.
    [[nodiscard]] std::string file() const { return folder_.file("jobs.db"); }
    /// Whether what it holds outlives it.
    [[nodiscard]] bool lasts() const { return kind_ != "memory"; }
    /// Where ROTA_TEST_POSTGRES names a database, that one; else those that need nothing.
    [[nodiscard]] static std::vector<std::string> all() {
#ifdef ROTA_WITH_POSTGRES
        if (postgres_for_tests())
            return {"postgres"};
#endif
#ifdef ROTA_WITH_SQLITE
        return {"memory", "sqlite"};
#else
        return {"memory"};
#endif
    }

private:
    std::string kind_;
    scratch_folder folder_;
    jobs::store_limits limits_;
    numbered_leases leases_;
#ifdef ROTA_WITH_POSTGRES
    std::unique_ptr<scratch_schema> schema_;
#endif
    std::unique_ptr<jobs::store> store_;
};

/// Runs the test case for every kind of store.
inline std::string each_kind() { return GENERATE(from_range(store_kind::all())); }
