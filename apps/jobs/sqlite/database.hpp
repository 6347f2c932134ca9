#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/watch/store_health.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace jobs {

class sqlite_database;

/// A prepared statement: bind() all parameters, then step() through the rows, then reset(). Texts
/// that are bound outlive the steps. Throws store_error.
class sqlite_statement {
public:
    sqlite_statement(sqlite_database& on, std::string_view sql);

    template <class... Values>
    sqlite_statement& bind(const Values&... values) {
        reset();
        int index = 0;
        (bind_at(++index, values), ...);
        return *this;
    }
    /// True: there is a row to be read.
    bool step();
    /// To its end, without rows; then reset().
    void run();
    /// As run(); whether it has failed is found out otherwise.
    void try_to_run() noexcept;
    void reset() noexcept;

    [[nodiscard]] std::int64_t integer(int column) const noexcept;
    /// Until the next step() or reset().
    [[nodiscard]] std::string_view text(int column) const noexcept;

private:
    struct finalize {
        void operator()(sqlite3_stmt* s) const noexcept;
    };
    void bind_at(int index, std::int64_t value);
    void bind_at(int index, std::uint64_t value) {
        bind_at(index, static_cast<std::int64_t>(value));
    }
    void bind_at(int index, std::string_view text);

    sqlite_database& on_;
    std::unique_ptr<sqlite3_stmt, finalize> statement_;
};

/// A database file that is ours alone while it is open: in WAL mode, with every commit on disk
/// before it returns (synchronous=FULL), its schema brought to the version that this program knows.
/// One thread at a time. The one place, with sqlite_statement, that knows the library.
class sqlite_database {
public:
    /// Opens or makes the file. Throws store_error, also if another process has it open, if it
    /// cannot be written, if it is damaged, if another program has made it, or if a newer one of
    /// ours has changed it; the file is then as it was.
    explicit sqlite_database(const std::string& path);
    /// What fails from now on is told without the path: clients may be told.
    void opened();
    /// Whether its path leads to another file by now, or to none.
    [[nodiscard]] bool has_moved() noexcept;

    void execute(const char* sql);
    /// Writes as little as can be written, within a transaction.
    void touch();
    /// Of pages that nothing is in.
    [[nodiscard]] std::uint64_t unused_bytes();
    /// The file as a transaction is about to leave it.
    [[nodiscard]] std::uint64_t bytes();
    /// Has so much of the disk, whatever is in the log: it can then be written back.
    void allocate(std::uint64_t bytes);
    /// The log is written back into the file whenever a commit leaves it with so many pages.
    void write_back_at(int pages) noexcept;
    /// Writes the log back into the file now; `gives_up`: and gives up the room that it takes.
    void write_back(bool gives_up) noexcept;
    /// Ends a transaction that has failed; does nothing if there is none. Needs no memory.
    void roll_back() noexcept;
    /// What went wrong last.
    [[nodiscard]] std::string reason() const;
    [[nodiscard]] store_fault fault() const noexcept;
    /// Throws store_error with what went wrong last, or with another reason.
    [[noreturn]] void fail() const;
    [[noreturn]] void fail(const std::string& why, store_fault kind = store_fault::failed) const;
    /// Of its pages: that of a file made elsewhere may be another than ours.
    [[nodiscard]] std::uint64_t page_bytes() const noexcept { return page_bytes_; }
    [[nodiscard]] sqlite3* handle() const noexcept { return handle_.get(); }

private:
    struct close {
        void operator()(sqlite3* db) const noexcept;
    };
    std::int64_t number(std::string_view query);
    std::size_t version();
    void check_pages();
    void set_up();
    void migrate(std::size_t from);

    std::string doing_; // what fails if anything does
    std::unique_ptr<sqlite3, close> handle_;
    std::uint64_t page_bytes_ = 4'096;
    std::optional<sqlite_statement> pages_;     // once it has been asked for
    std::optional<sqlite_statement> roll_back_; // once it is open
};

} // namespace jobs
