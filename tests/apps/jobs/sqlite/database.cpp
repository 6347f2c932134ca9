#include "jobs/sqlite/database.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sqlite3.h>

#include "file_limit.hpp"
#include "jobs/store.hpp"
#include "stores.hpp"

using namespace jobs;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

constexpr uid_t nobody = 65'534;

/// Whoever runs the tests has no more rights on files here than they say (man 2 setfsuid).
class without_rights {
public:
    without_rights() : before_(::setfsuid(nobody)) {}
    without_rights(const without_rights&) = delete;
    without_rights& operator=(const without_rights&) = delete;
    ~without_rights() { ::setfsuid(static_cast<uid_t>(before_)); }

private:
    int before_;
};

/// The rights of a file or folder, for a while.
class with_mode {
public:
    with_mode(fs::path what, fs::perms mode)
        : what_(std::move(what)), before_(fs::status(what_).permissions()) {
        fs::permissions(what_, mode);
    }
    with_mode(const with_mode&) = delete;
    with_mode& operator=(const with_mode&) = delete;
    ~with_mode() { fs::permissions(what_, before_); }

private:
    fs::path what_;
    fs::perms before_;
};

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

/// What another program has made.
void make_database(const std::string& path, const char* sql) {
    sqlite3* made = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &made) == SQLITE_OK);
    REQUIRE(sqlite3_exec(made, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(made);
}

/// Why it cannot be opened.
std::string refusal(const std::string& path) {
    try {
        const sqlite_database file(path);
    } catch (const store_error& e) {
        CHECK_THAT(e.what(), StartsWith("cannot open the job store " + path + ": "));
        return e.what();
    }
    return "none";
}

/// Whether all is there, and can be written.
bool is_whole(const std::string& path) {
    sqlite_database file(path);
    sqlite_statement tables(file, "SELECT count(*) FROM sqlite_master WHERE type='table'");
    file.execute("BEGIN IMMEDIATE; INSERT INTO tokens VALUES (1, 'a', 1, 1, 1); ROLLBACK");
    return tables.step() && tables.integer(0) == 3;
}

/// Opens a file in a process that is killed where it first writes beyond so many bytes of any file.
/// False if it ended before that.
bool killed_at(const std::string& path, rlim_t bytes) {
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit no_core{0, 0};
        ::setrlimit(RLIMIT_CORE, &no_core);
        const rlimit small{bytes, RLIM_INFINITY};
        ::setrlimit(RLIMIT_FSIZE, &small);
        std::signal(SIGXFSZ, SIG_DFL);
        try {
            const sqlite_database file(path);
        } catch (...) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status)) {
        REQUIRE(WTERMSIG(status) == SIGXFSZ);
        return true;
    }
    REQUIRE(WEXITSTATUS(status) == 0);
    return false;
}

} // namespace

TEST_CASE("a path where no file can be is refused, with the reason") {
    const scratch_folder folder;
    CHECK_THAT(refusal(folder.file("no/such/folder")),
               ContainsSubstring("No such file or directory"));
    const std::string directory = folder.file("directory");
    fs::create_directory(directory);
    CHECK_THAT(refusal(directory), ContainsSubstring("no regular file"));
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THAT(refusal(pipe), ContainsSubstring("no regular file"));
    CHECK(std::distance(fs::directory_iterator(folder.file("")), {}) == 2); // and no journal
    CHECK_THAT(refusal(":memory:"), ContainsSubstring("write-ahead log"));
}

TEST_CASE("a file that cannot be written is refused, with the reason") {
    const scratch_folder folder;
    const with_mode enter(folder.file(""), fs::perms(0755));
    const std::string path = folder.file("jobs.db");
    REQUIRE(is_whole(path));
    const std::string before = content_of(path);
    {
        const with_mode read_only(path, fs::perms(0444));
        const without_rights now;
        CHECK_THAT(refusal(path), ContainsSubstring("can be read, but not written"));
    }
    {
        const with_mode secret(path, fs::perms(0000));
        const without_rights now;
        CHECK_THAT(refusal(path), ContainsSubstring("Permission denied"));
    }
    {
        const with_mode all(path, fs::perms(0666)); // but there is no room for its log
        const with_mode closed(folder.file(""), fs::perms(0555));
        const without_rights now;
        CHECK_THAT(refusal(path), ContainsSubstring("no file for its log"));
        CHECK_THAT(refusal(folder.file("new.db")), ContainsSubstring("no new file in its folder"));
    }
    CHECK(content_of(path) == before);
    CHECK(is_whole(path));
}

TEST_CASE("what another program has made is refused, and stays as it is") {
    const scratch_folder folder;
    const std::string path = folder.file("theirs.db");
    SECTION("a database") { make_database(path, "CREATE TABLE people (name TEXT)"); }
    SECTION("a database with a version") {
        make_database(path, "CREATE TABLE people (name TEXT); PRAGMA user_version=1");
    }
    SECTION("a database with a table of a name that we have") {
        make_database(path, "CREATE TABLE jobs (name TEXT); PRAGMA user_version=1");
    }
    SECTION("a text") { write_file(path, std::string(5'000, 'x')); }
    const std::string before = content_of(path);
    const std::string why = refusal(path);
    CHECK((why.ends_with("it is a database, but none of this program") ||
           why.ends_with("file is not a database")));
    CHECK(content_of(path) == before);
    CHECK_FALSE(fs::exists(path + "-wal"));
}

TEST_CASE("a file of a newer program is refused, and stays as it is") {
    const scratch_folder folder;
    const std::string path = folder.file("newer.db");
    {
        sqlite_database file(path);
        file.execute("PRAGMA user_version=1000");
    }
    const std::string before = content_of(path);
    CHECK_THAT(refusal(path), ContainsSubstring("version 1000"));
    CHECK(content_of(path) == before);
}

TEST_CASE("a file with nothing in it is taken") {
    const scratch_folder folder;
    const std::string path = folder.file("empty.db");
    write_file(path, "");
    CHECK(is_whole(path));
    const std::string with_version = folder.file("no tables.db");
    make_database(with_version, "PRAGMA user_version=0; VACUUM");
    CHECK(is_whole(with_version));
}

TEST_CASE("a file of version 1 is brought to this one, with what it holds") {
    const scratch_folder folder;
    const std::string path = folder.file("old.db");
    {
        sqlite_database file(path);
        file.execute("INSERT INTO jobs (place, queue, state, rank, attempts, duplicates, added_at, "
                     "since, due, queued_ms, in_progress_ms, lease, error, key, payload) "
                     "VALUES (1, 1, 0, 9, 0, 0, 1, 1, 0, 0, 0, '', '', 'k', '1')");
        file.execute("DROP INDEX jobs_dead");
        file.execute("ALTER TABLE jobs DROP COLUMN cause");
        for (const char* name : {"after", "initial_ms", "factor_milli", "max_ms"}) {
            const std::string dropping = "ALTER TABLE queues DROP COLUMN backoff_";
            file.execute((dropping + name).c_str());
        }
        file.execute("PRAGMA user_version=1");
    }
    sqlite_database file(path);
    sqlite_statement ask(file, "SELECT cause FROM jobs INDEXED BY jobs_key WHERE queue = 1 AND "
                               "key = 'k' AND state < 3");
    REQUIRE(ask.step());
    CHECK(ask.integer(0) == 0);
}

TEST_CASE("a process that is killed while it makes the file leaves one that can be used") {
    const scratch_folder folder;
    int rounds = 0;
    for (rlim_t bytes = 0;; bytes += 1'000) { // in the midst of pages, too
        const std::string path = folder.file(std::to_string(bytes));
        if (!killed_at(path, bytes))
            break;
        CAPTURE(bytes);
        REQUIRE(is_whole(path));
        ++rounds;
    }
    CHECK(rounds > 20);
}

TEST_CASE("a disk that is full while the file is made is told, and leaves one that can be used") {
    const scratch_folder folder;
    int rounds = 0;
    for (rlim_t bytes = 0;; bytes += 1'000) {
        const std::string path = folder.file(std::to_string(bytes));
        std::string why;
        {
            const file_limit full(bytes);
            why = refusal(path);
        }
        if (why == "none")
            break;
        CAPTURE(bytes, why);
        REQUIRE_THAT(why, ContainsSubstring("disk"));
        REQUIRE(is_whole(path));
        ++rounds;
    }
    CHECK(rounds > 20);
}
