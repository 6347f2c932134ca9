// Items in a SQLite file, over HTTP: listed, made, read, changed and deleted.
//     rest [ADDRESS] [FILE]        curl -s localhost:8080/items -d '{"name": "pen", "count": 3}'
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <rota/blocking.hpp>
#include <rota/http/json.hpp>
#include <rota/http/problem.hpp>
#include <rota/http/server.hpp>
#include <sqlite3.h>

namespace http = rota::http;
namespace json = rota::json;
using rota::task;

struct item {
    std::int64_t id = 0;
    std::string name;
    std::int64_t count = 0;
    std::optional<std::string> note;

    static constexpr auto json_members =
        json::members(json::optional_member("id", &item::id),
                      json::member("name", &item::name, json::length(1, 100)),
                      json::optional_member("count", &item::count, json::between(0, 1'000'000)),
                      json::member("note", &item::note, json::length(0, 1000)));
};

/// The file. Any thread; its calls wait for the disk, so they are for rota::blocking().
class store {
public:
    explicit store(const std::string& file) {
        sqlite3* opened = nullptr;
        const int code = sqlite3_open(file.c_str(), &opened);
        db_.reset(opened);
        if (code != SQLITE_OK)
            throw std::runtime_error(file + ": " + sqlite3_errmsg(opened));
        query("CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
              "count INTEGER NOT NULL, note TEXT)");
    }

    /// Runs a statement with `?` for each value; the items that it gives: id, name, count, note.
    template <class... Values>
    std::vector<item> query(const char* sql, const Values&... values) {
        const std::lock_guard guard(lock_);
        sqlite3_stmt* prepared = nullptr;
        check(sqlite3_prepare_v2(db_.get(), sql, -1, &prepared, nullptr));
        const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> row(prepared,
                                                                             sqlite3_finalize);
        int place = 0;
        (bind(prepared, ++place, values), ...);
        std::vector<item> found;
        int code = sqlite3_step(prepared);
        for (; code == SQLITE_ROW; code = sqlite3_step(prepared)) {
            item& next = found.emplace_back();
            next.id = sqlite3_column_int64(prepared, 0);
            next.name = text_of(prepared, 1);
            next.count = sqlite3_column_int64(prepared, 2);
            if (sqlite3_column_type(prepared, 3) != SQLITE_NULL)
                next.note = text_of(prepared, 3);
        }
        check(code);
        return found;
    }

private:
    static void bind(sqlite3_stmt* to, int place, std::int64_t number) {
        sqlite3_bind_int64(to, place, number);
    }
    static void bind(sqlite3_stmt* to, int place, const std::string& text) {
        sqlite3_bind_text(to, place, text.data(), static_cast<int>(text.size()), nullptr);
    }
    static void bind(sqlite3_stmt* to, int place, const std::optional<std::string>& text) {
        if (text)
            bind(to, place, *text); // else it is null
    }
    static std::string text_of(sqlite3_stmt* row, int column) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
        return {text, static_cast<std::size_t>(sqlite3_column_bytes(row, column))};
    }
    void check(int code) {
        if (code == SQLITE_CONSTRAINT)
            throw http::problem(409, "there is an item of that name").error();
        if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
            throw std::runtime_error(sqlite3_errmsg(db_.get()));
    }

    std::mutex lock_;
    std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db_{nullptr, sqlite3_close};
};

/// The one item that there is, or a 404.
http::response one(const std::vector<item>& found, int status = 200) {
    if (found.empty())
        throw http::problem(404, "there is no item of that id").error();
    return http::json_answer(found.front(), status);
}

http::router routes_of(store& items) {
    http::router routes;
    routes.error(http::problem_page);
    routes.get("/items", [&items](http::request& r) -> task<http::response> {
        const auto limit = r.query<std::int64_t>("limit", 20, 1, 100);
        const auto after = r.query<std::int64_t>("after", 0);
        const auto work = [&] {
            return items.query("SELECT * FROM item WHERE id > ? ORDER BY id LIMIT ?", after, limit);
        };
        const std::vector<item> found = co_await rota::blocking(work);
        co_return http::json_answer(found);
    });
    routes.post("/items", [&items](http::request& r) -> task<http::response> {
        const item added = co_await r.json<item>();
        const auto work = [&] {
            return items.query("INSERT INTO item (name, count, note) VALUES (?, ?, ?) RETURNING *",
                               added.name, added.count, added.note);
        };
        const std::vector<item> made = co_await rota::blocking(work);
        co_return one(made, 201).header("Location", "/items/" + std::to_string(made[0].id));
    });
    routes.get("/items/{id}", [&items](http::request& r) -> task<http::response> {
        const auto id = r.param<std::int64_t>("id");
        const auto work = [&] { return items.query("SELECT * FROM item WHERE id = ?", id); };
        const std::vector<item> found = co_await rota::blocking(work);
        co_return one(found);
    });
    routes.put("/items/{id}", [&items](http::request& r) -> task<http::response> {
        const auto id = r.param<std::int64_t>("id");
        const item changed = co_await r.json<item>();
        const auto work = [&] {
            return items.query(
                "UPDATE item SET name = ?, count = ?, note = ? WHERE id = ? RETURNING *",
                changed.name, changed.count, changed.note, id);
        };
        const std::vector<item> found = co_await rota::blocking(work);
        co_return one(found);
    });
    routes.delete_("/items/{id}", [&items](http::request& r) -> task<http::response> {
        const auto id = r.param<std::int64_t>("id");
        const auto work = [&] {
            return items.query("DELETE FROM item WHERE id = ? RETURNING *", id);
        };
        const std::vector<item> gone = co_await rota::blocking(work);
        co_return one(gone).status(204);
    });
    return routes;
}

int main(int argc, char** argv) {
    return rota::io::exit_code_of([&] {
        store items(argc > 2 ? argv[2] : "items.db");
        return http::serve(routes_of(items), argc > 1 ? argv[1] : "8080");
    });
}
