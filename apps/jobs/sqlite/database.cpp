#include "database.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <sqlite3.h>

#include "file_reserve.hpp"
#include "jobs/store_error.hpp"

namespace jobs {
namespace {

/// What brings a file from version i to i + 1 (PRAGMA user_version). A job's place is its queue's
/// number times 2^40, plus its id: places of a queue lie together.
constexpr std::array upgrades{R"(
CREATE TABLE queues (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, next_id INTEGER NOT NULL,
    max_jobs INTEGER NOT NULL, max_attempts INTEGER NOT NULL, lease_ms INTEGER NOT NULL,
    payload_bytes_max INTEGER NOT NULL, paused INTEGER NOT NULL,
    queued INTEGER NOT NULL, delayed INTEGER NOT NULL, in_progress INTEGER NOT NULL,
    dead INTEGER NOT NULL, added INTEGER NOT NULL, completed INTEGER NOT NULL,
    failures INTEGER NOT NULL, expired INTEGER NOT NULL, duplicates INTEGER NOT NULL,
    queued_ms INTEGER NOT NULL, in_progress_ms INTEGER NOT NULL
);
CREATE TABLE jobs (
    place INTEGER PRIMARY KEY, queue INTEGER NOT NULL, state INTEGER NOT NULL,
    rank INTEGER NOT NULL, attempts INTEGER NOT NULL, duplicates INTEGER NOT NULL,
    added_at INTEGER NOT NULL, since INTEGER NOT NULL, due INTEGER NOT NULL,
    queued_ms INTEGER NOT NULL, in_progress_ms INTEGER NOT NULL, lease TEXT NOT NULL,
    error TEXT NOT NULL, key TEXT NOT NULL, payload TEXT NOT NULL
);
CREATE UNIQUE INDEX jobs_key ON jobs (queue, key) WHERE state < 3;
CREATE INDEX jobs_order ON jobs (queue, state, rank, place);
CREATE INDEX jobs_due ON jobs (due, place) WHERE due > 0;
CREATE UNIQUE INDEX jobs_lease ON jobs (lease) WHERE lease <> '';
CREATE TABLE tokens (
    queue INTEGER NOT NULL, token TEXT NOT NULL, fingerprint INTEGER NOT NULL,
    id INTEGER NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (queue, token)
) WITHOUT ROWID;
CREATE INDEX tokens_end ON tokens (expires_at);
)",
                              R"(
ALTER TABLE jobs ADD COLUMN cause INTEGER NOT NULL DEFAULT 0;
)",
                              R"(
ALTER TABLE queues ADD COLUMN backoff_after INTEGER NOT NULL DEFAULT -1;
ALTER TABLE queues ADD COLUMN backoff_initial_ms INTEGER NOT NULL DEFAULT -1;
ALTER TABLE queues ADD COLUMN backoff_factor_milli INTEGER NOT NULL DEFAULT -1;
ALTER TABLE queues ADD COLUMN backoff_max_ms INTEGER NOT NULL DEFAULT -1;
)",
                              R"(
CREATE INDEX jobs_dead ON jobs (queue, key, place) WHERE state = 3;
)"};

constexpr std::uint64_t log_bytes_max = 4'194'304;

} // namespace

// --- Statements ---

sqlite_statement::sqlite_statement(sqlite_database& on, std::string_view sql) : on_(on) {
    sqlite3_stmt* made = nullptr;
    const int result = sqlite3_prepare_v3(on.handle(), sql.data(), static_cast<int>(sql.size()),
                                          SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    statement_.reset(made);
    if (result != SQLITE_OK)
        on.fail();
}

void sqlite_statement::finalize::operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }

void sqlite_statement::bind_at(int index, std::int64_t value) {
    if (sqlite3_bind_int64(statement_.get(), index, value) != SQLITE_OK)
        on_.fail();
}

void sqlite_statement::bind_at(int index, std::string_view text) {
    // SQLITE_STATIC: it is there until the statement is reset. A null pointer would be NULL.
    const char* const begin = text.data() == nullptr ? "" : text.data();
    if (sqlite3_bind_text64(statement_.get(), index, begin, text.size(), SQLITE_STATIC,
                            SQLITE_UTF8) != SQLITE_OK)
        on_.fail();
}

bool sqlite_statement::step() {
    switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
        return true;
    case SQLITE_DONE:
        return false;
    default:
        const std::string why = on_.reason();
        const store_fault kind = on_.fault();
        reset();
        on_.fail(why, kind);
    }
}

void sqlite_statement::run() {
    while (step()) {
    }
    reset();
}

void sqlite_statement::try_to_run() noexcept {
    sqlite3_step(statement_.get());
    reset();
}

void sqlite_statement::reset() noexcept { sqlite3_reset(statement_.get()); }

std::int64_t sqlite_statement::integer(int column) const noexcept {
    return sqlite3_column_int64(statement_.get(), column);
}

std::string_view sqlite_statement::text(int column) const noexcept {
    const unsigned char* const begin = sqlite3_column_text(statement_.get(), column);
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(size)};
}

// --- The file ---

sqlite_database::sqlite_database(const std::string& path)
    : doing_("cannot open the job store " + path) {
    std::error_code ignored;
    const auto there = std::filesystem::status(path, ignored);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
        fail("it is no regular file"); // the library would wait for a pipe, and write to a device
    sqlite3* opened = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int result = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
    handle_.reset(opened);
    if (result != SQLITE_OK) {
        // The library tries again to read only, so that what it tells is that there is no file.
        const auto folder = ("." / std::filesystem::path(path)).parent_path();
        if (sqlite3_system_errno(handle()) == ENOENT && std::filesystem::exists(folder, ignored))
            fail("there can be no new file in its folder");
        fail();
    }
    if (sqlite3_db_readonly(handle(), "main") != 0) // opened all the same
        fail("the file can be read, but not written");
    // The lock that the first transaction takes is kept: two processes never share the file.
    execute("PRAGMA locking_mode=EXCLUSIVE");
    execute("BEGIN EXCLUSIVE; COMMIT");
    // Before the file is changed, also by what its log holds: it may be another program's.
    sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    const std::size_t from = version();
    check_pages();
    sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
    set_up();
    migrate(from);
    roll_back_.emplace(*this, "ROLLBACK");
}

void sqlite_database::opened() { doing_ = "the job store cannot be used"; }

bool sqlite_database::has_moved() noexcept {
    int moved = 0;
    sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

void sqlite_database::close::operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }

std::int64_t sqlite_database::number(std::string_view query) {
    sqlite_statement ask(*this, query);
    return ask.step() ? ask.integer(0) : 0;
}

/// The version of a file of ours; 0 if there is nothing in it.
std::size_t sqlite_database::version() {
    const std::int64_t found = number("PRAGMA user_version");
    const std::int64_t tables = number("SELECT count(*) FROM sqlite_master");
    const std::int64_t ours = number("SELECT count(*) FROM sqlite_master "
                                     "WHERE type='table' AND name IN ('queues', 'jobs')");
    if (found == 0 ? tables != 0 : ours != 2)
        fail("it is a database, but none of this program");
    if (found < 0 || static_cast<std::uint64_t>(found) > upgrades.size()) {
        fail("it is of version " + std::to_string(found) + ", this program knows up to " +
             std::to_string(upgrades.size()));
    }
    return static_cast<std::size_t>(found);
}

/// All of them, in about a second for a million jobs: what is damaged may not be met for long.
void sqlite_database::check_pages() {
    sqlite_statement check(*this, "PRAGMA quick_check(1)");
    if (!check.step() || check.text(0) == "ok")
        return;
    const std::string_view why = check.text(0); // perhaps below a line that names the database
    fail("database disk image is malformed: " + std::string(why.substr(why.rfind('\n') + 1)));
}

void sqlite_database::set_up() {
    {
        sqlite_statement change(*this, "PRAGMA journal_mode=WAL");
        if (!change.step() || change.text(0) != "wal") // ":memory:", for one, has none
            fail("it cannot have a write-ahead log");
    }
    execute("PRAGMA synchronous=FULL");
    execute("PRAGMA temp_store=MEMORY");
    // Some builds of the library write zeros over what is deleted: a purge would need more room in
    // the log than what it removes.
    execute("PRAGMA secure_delete=OFF");
    // Or a log that was large once would have that room for good.
    execute(("PRAGMA journal_size_limit=" + std::to_string(log_bytes_max)).c_str());
    page_bytes_ = static_cast<std::uint64_t>(number("PRAGMA page_size"));
    int chunk = static_cast<int>(page_bytes_); // else allocate() does nothing
    sqlite3_file_control(handle(), "main", SQLITE_FCNTL_CHUNK_SIZE, &chunk);
}

void sqlite_database::migrate(std::size_t from) {
    for (; from < upgrades.size(); ++from) {
        execute("BEGIN IMMEDIATE"); // what fails is undone when the file is closed
        execute(upgrades[from]);
        execute(("PRAGMA user_version=" + std::to_string(from + 1)).c_str());
        execute("COMMIT");
    }
}

void sqlite_database::execute(const char* sql) {
    if (sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        fail();
}

void sqlite_database::touch() {
    execute(("PRAGMA user_version=" + std::to_string(upgrades.size())).c_str());
}

std::uint64_t sqlite_database::unused_bytes() {
    return static_cast<std::uint64_t>(number("PRAGMA freelist_count")) * page_bytes_;
}

std::uint64_t sqlite_database::bytes() {
    if (!pages_)
        pages_.emplace(*this, "PRAGMA page_count");
    const std::int64_t pages = pages_->step() ? pages_->integer(0) : 0;
    pages_->reset();
    return static_cast<std::uint64_t>(pages) * page_bytes_;
}

void sqlite_database::allocate(std::uint64_t bytes) {
    auto wanted = static_cast<sqlite3_int64>(bytes);
    if (sqlite3_file_control(handle(), "main", SQLITE_FCNTL_SIZE_HINT, &wanted) != SQLITE_OK)
        fail("the disk is full", store_fault::full);
}

void sqlite_database::write_back_at(int pages) noexcept {
    sqlite3_wal_autocheckpoint(handle(), pages);
}

void sqlite_database::write_back(bool gives_up) noexcept {
    const int how = gives_up ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
    sqlite3_wal_checkpoint_v2(handle(), nullptr, how, nullptr, nullptr);
}

void sqlite_database::roll_back() noexcept {
    if (sqlite3_get_autocommit(handle()) == 0)
        roll_back_->try_to_run();
}

std::string sqlite_database::reason() const {
    if (handle_ == nullptr)
        return "out of memory";
    const int kind = sqlite3_errcode(handle()) & 0xff;
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
        return "another process uses it";
    if (sqlite3_extended_errcode(handle()) == SQLITE_READONLY_DIRECTORY)
        return "there can be no file for its log in its folder";
    if (kind == SQLITE_IOERR && fault() == store_fault::full)
        return "the disk is full, or a file may not be so large (ulimit -f)";
    std::string why = sqlite3_errmsg(handle());
    const int cause = sqlite3_system_errno(handle());
    if (cause != 0 && kind == SQLITE_CANTOPEN)
        why.append(": ").append(std::system_category().message(cause));
    return why;
}

/// A limit of the file's size, or a quota, is as good as a full disk. SQLite keeps errno only as
/// its own clean-up leaves it, so a write that fails for no other known reason has had no room.
store_fault sqlite_database::fault() const noexcept {
    if (handle_ == nullptr)
        return store_fault::failed;
    const int kind = sqlite3_extended_errcode(handle());
    const int cause = sqlite3_system_errno(handle());
    const bool no_room = cause == ENOSPC || cause == EDQUOT || cause == EFBIG;
    const bool broken = cause == EIO || cause == EROFS || cause == ENXIO || cause == ENODEV;
    const bool full = (kind & 0xff) == SQLITE_FULL || ((kind & 0xff) == SQLITE_IOERR && no_room) ||
                      (kind == SQLITE_IOERR_WRITE && !broken);
    return full ? store_fault::full : store_fault::failed;
}

void sqlite_database::fail() const { fail(reason(), fault()); }
void sqlite_database::fail(const std::string& why, store_fault kind) const {
    throw store_error(doing_ + ": " + why, kind);
}

} // namespace jobs
