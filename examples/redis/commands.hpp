#pragma once

// What is stored, and the commands on it. Knows nothing of clients.

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "protocol.hpp"

namespace redis {

using list = std::deque<std::string>;
using set = std::unordered_set<std::string>;
using hash = std::unordered_map<std::string, std::string>;
struct sorted_set {
    std::set<std::pair<double, std::string>> by_score;
    std::unordered_map<std::string, double> scores;
};

struct entry {
    std::variant<std::string, list, set, hash, sorted_set> value;
    std::optional<std::chrono::steady_clock::time_point> expires{};
};

class database {
public:
    /// Null if there is no such key, or not any more.
    entry* find(std::string_view key) {
        const auto at = entries_.find(std::string(key));
        if (at == entries_.end())
            return nullptr;
        if (at->second.expires && *at->second.expires <= std::chrono::steady_clock::now()) {
            entries_.erase(at);
            return nullptr;
        }
        return &at->second;
    }
    /// The value of a key, null if there is none. Throws for one of another kind.
    template <class Value>
    Value* get(std::string_view key) {
        entry* const found = find(key);
        if (found == nullptr)
            return nullptr;
        if (!std::holds_alternative<Value>(found->value))
            throw std::runtime_error(
                "WRONGTYPE Operation against a key holding the wrong kind of value");
        return &std::get<Value>(found->value);
    }
    /// The same, made if there is none.
    template <class Value>
    Value& make(std::string_view key) {
        if (Value* const found = get<Value>(key))
            return *found;
        return std::get<Value>(put(key, Value()).value);
    }
    template <class Value>
    entry& put(std::string_view key, Value value) {
        return entries_[std::string(key)] = entry{std::move(value)};
    }
    bool erase(std::string_view key) {
        return find(key) != nullptr && entries_.erase(std::string(key)) != 0;
    }
    void clear() { entries_.clear(); }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    std::unordered_map<std::string, entry> entries_;
};

/// Runs one request, and appends the reply to it.
void run(database& data, const request& words, reply& out);

} // namespace redis
