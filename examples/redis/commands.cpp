#include "commands.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

namespace redis {
namespace {

using namespace std::chrono;

[[noreturn]] void fail(const char* what) { throw std::runtime_error(what); }

template <class Number = long long>
Number number_of(std::string_view text) {
    const auto n = number<Number>(text);
    if (!n)
        fail("ERR value is not an integer or out of range");
    return *n;
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

void text_or_nil(const std::string* text, reply& out) {
    text != nullptr ? out.text(*text) : out.nil();
}

// -- keys and strings

void ping(database&, const request& w, reply& out) {
    w.size() > 1 ? out.text(w[1]) : out.simple("PONG");
}
void echo(database&, const request& w, reply& out) { out.text(w[1]); }

void get(database& d, const request& w, reply& out) { text_or_nil(d.get<std::string>(w[1]), out); }

void put(database& d, const request& w, reply& out) {
    std::optional<milliseconds> life;
    for (std::size_t i = 3; i < w.size(); ++i) {
        const std::string option = lower(w[i]);
        if ((option == "nx" && d.find(w[1]) != nullptr) ||
            (option == "xx" && d.find(w[1]) == nullptr))
            return out.nil();
        if (option == "nx" || option == "xx")
            continue;
        if ((option != "ex" && option != "px") || ++i == w.size())
            fail("ERR syntax error");
        const auto n = number_of<int>(w[i]);
        if (n <= 0)
            fail("ERR invalid expire time in 'set' command");
        life = option == "ex" ? milliseconds(seconds(n)) : milliseconds(n);
    }
    entry& made = d.put(w[1], std::string(w[2]));
    if (life)
        made.expires = steady_clock::now() + *life;
    out.ok();
}

void put_many(database& d, const request& w, reply& out) {
    if (w.size() % 2 == 0)
        fail("ERR wrong number of arguments for 'mset' command");
    for (std::size_t i = 1; i < w.size(); i += 2)
        d.put(w[i], std::string(w[i + 1]));
    out.ok();
}

void add(database& d, std::string_view key, long long by, reply& out) {
    const std::string* const before = d.get<std::string>(key);
    long long n = before == nullptr ? 0 : number_of(*before);
    if (__builtin_add_overflow(n, by, &n))
        fail("ERR increment or decrement would overflow");
    d.make<std::string>(key) = std::to_string(n);
    out.integer(n);
}
void increment(database& d, const request& w, reply& out) { add(d, w[1], 1, out); }
void decrement(database& d, const request& w, reply& out) { add(d, w[1], -1, out); }
void increment_by(database& d, const request& w, reply& out) { add(d, w[1], number_of(w[2]), out); }

void erase(database& d, const request& w, reply& out) {
    out.integer(std::count_if(w.begin() + 1, w.end(), [&](auto key) { return d.erase(key); }));
}
void exists(database& d, const request& w, reply& out) {
    out.integer(
        std::count_if(w.begin() + 1, w.end(), [&](auto key) { return d.find(key) != nullptr; }));
}
void expire(database& d, const request& w, reply& out) {
    const seconds life(number_of<int>(w[2]));
    entry* const found = d.find(w[1]);
    if (found != nullptr)
        found->expires = steady_clock::now() + life;
    out.integer(found != nullptr);
}
void time_to_live(database& d, const request& w, reply& out) {
    const entry* const found = d.find(w[1]);
    if (found == nullptr || !found->expires)
        return out.integer(found == nullptr ? -2 : -1);
    out.integer(round<seconds>(*found->expires - steady_clock::now()).count());
}
void clear(database& d, const request&, reply& out) {
    d.clear();
    out.ok();
}
void size(database& d, const request&, reply& out) {
    out.integer(static_cast<long long>(d.size()));
}

// -- lists

void push_left(database& d, const request& w, reply& out) {
    auto& l = d.make<list>(w[1]);
    for (std::size_t i = 2; i < w.size(); ++i)
        l.emplace_front(w[i]);
    out.integer(static_cast<long long>(l.size()));
}
void push_right(database& d, const request& w, reply& out) {
    auto& l = d.make<list>(w[1]);
    l.insert(l.end(), w.begin() + 2, w.end());
    out.integer(static_cast<long long>(l.size()));
}
void pop(database& d, std::string_view key, bool left, reply& out) {
    list* const l = d.get<list>(key);
    text_or_nil(l == nullptr ? nullptr : left ? &l->front() : &l->back(), out);
    if (l == nullptr)
        return;
    left ? l->pop_front() : l->pop_back();
    if (l->empty())
        d.erase(key);
}
void pop_left(database& d, const request& w, reply& out) { pop(d, w[1], true, out); }
void pop_right(database& d, const request& w, reply& out) { pop(d, w[1], false, out); }
void length(database& d, const request& w, reply& out) {
    const list* const l = d.get<list>(w[1]);
    out.integer(l == nullptr ? 0 : static_cast<long long>(l->size()));
}
void range(database& d, const request& w, reply& out) {
    const auto from = number_of(w[2]);
    const auto to = number_of(w[3]);
    const list* const l = d.get<list>(w[1]);
    const auto count = l == nullptr ? 0 : static_cast<long long>(l->size());
    const auto first = std::max(0LL, from < 0 ? from + count : from);
    const auto last = std::min(count - 1, to < 0 ? to + count : to);
    out.array(first > last ? 0 : static_cast<std::size_t>(last - first + 1));
    for (auto i = first; i <= last; ++i)
        out.text((*l)[static_cast<std::size_t>(i)]);
}

// -- sets, hashes, sorted sets

void add_members(database& d, const request& w, reply& out) {
    auto& s = d.make<set>(w[1]);
    out.integer(std::count_if(w.begin() + 2, w.end(),
                              [&](auto member) { return s.emplace(member).second; }));
}
void pop_member(database& d, const request& w, reply& out) {
    set* const s = d.get<set>(w[1]);
    text_or_nil(s == nullptr ? nullptr : &*s->begin(), out);
    if (s != nullptr && s->size() == 1)
        d.erase(w[1]);
    else if (s != nullptr)
        s->erase(s->begin());
}
void put_fields(database& d, const request& w, reply& out) {
    if (w.size() % 2 != 0)
        fail("ERR wrong number of arguments for 'hset' command");
    auto& h = d.make<hash>(w[1]);
    long long added = 0;
    for (std::size_t i = 2; i < w.size(); i += 2)
        added += h.insert_or_assign(std::string(w[i]), std::string(w[i + 1])).second ? 1 : 0;
    out.integer(added);
}
void get_field(database& d, const request& w, reply& out) {
    const hash* const h = d.get<hash>(w[1]);
    const auto at = h == nullptr ? hash::const_iterator() : h->find(std::string(w[2]));
    text_or_nil(h == nullptr || at == h->end() ? nullptr : &at->second, out);
}
void add_scored(database& d, const request& w, reply& out) {
    if (w.size() % 2 != 0)
        fail("ERR syntax error");
    for (std::size_t i = 2; i < w.size(); i += 2)
        if (std::isnan(number<double>(w[i]).value_or(NAN)))
            fail("ERR value is not a valid float");
    auto& z = d.make<sorted_set>(w[1]);
    long long added = 0;
    for (std::size_t i = 2; i < w.size(); i += 2) {
        const double score = *number<double>(w[i]);
        const auto [at, is_new] = z.scores.try_emplace(std::string(w[i + 1]), score);
        if (!is_new)
            z.by_score.erase({std::exchange(at->second, score), at->first});
        z.by_score.emplace(score, at->first);
        added += is_new ? 1 : 0;
    }
    out.integer(added);
}
void pop_lowest(database& d, const request& w, reply& out) {
    sorted_set* const z = d.get<sorted_set>(w[1]);
    out.array(z == nullptr ? 0 : 2);
    if (z == nullptr)
        return;
    const auto [score, member] = *z->by_score.begin();
    out.text(member);
    std::array<char, 32> digits{};
    out.text({digits.data(), std::to_chars(digits.begin(), digits.end(), score).ptr});
    z->by_score.erase(z->by_score.begin());
    z->scores.erase(member);
    if (z->scores.empty())
        d.erase(w[1]);
}

void none(database&, const request&, reply& out) { out.array(0); }

struct command {
    int words; // exactly, or -n: n or more
    void (*run)(database&, const request&, reply&);
};

const std::unordered_map<std::string, command> commands{
    {"command", {-1, none}},
    {"config", {-2, none}},
    {"dbsize", {1, size}},
    {"decr", {2, decrement}},
    {"del", {-2, erase}},
    {"echo", {2, echo}},
    {"exists", {-2, exists}},
    {"expire", {3, expire}},
    {"flushall", {-1, clear}},
    {"flushdb", {-1, clear}},
    {"get", {2, get}},
    {"hget", {3, get_field}},
    {"hset", {-4, put_fields}},
    {"incr", {2, increment}},
    {"incrby", {3, increment_by}},
    {"llen", {2, length}},
    {"lpop", {2, pop_left}},
    {"lpush", {-3, push_left}},
    {"lrange", {4, range}},
    {"mset", {-3, put_many}},
    {"ping", {-1, ping}},
    {"rpop", {2, pop_right}},
    {"rpush", {-3, push_right}},
    {"sadd", {-3, add_members}},
    {"set", {-3, put}},
    {"spop", {2, pop_member}},
    {"ttl", {2, time_to_live}},
    {"zadd", {-4, add_scored}},
    {"zpopmin", {2, pop_lowest}},
};

} // namespace

void run(database& data, const request& words, reply& out) {
    const std::string name = lower(words.front());
    const auto found = commands.find(name);
    if (found == commands.end())
        return out.error("ERR unknown command '", std::string_view(name).substr(0, 128), "'");
    const auto count = static_cast<int>(words.size());
    const int wanted = found->second.words;
    if (wanted < 0 ? count < -wanted : count != wanted)
        return out.error("ERR wrong number of arguments for '", name, "' command");
    try {
        found->second.run(data, words, out);
    } catch (const std::runtime_error& e) {
        out.error(e.what());
    }
}

} // namespace redis
