// Reads structs out of JSON, and writes them.
#include <cstdio>
#include <string>
#include <vector>

#include <rota/http/json.hpp>

struct item {
    std::string name;
    int count = 1;

    static constexpr auto json_members =
        rota::json::members(rota::json::member("name", &item::name),
                            rota::json::optional_member("count", &item::count));
};

int main() {
    const auto items =
        rota::http::read_json<std::vector<item>>(R"([{"name": "a"}, {"name": "b", "count": 2}])");
    std::puts(rota::json::to_text(items).c_str());
}
