#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <rota/http/router.hpp>

namespace rota::http::detail {

/// The routes of one pattern, by method.
struct route_ends {
    std::array<const route*, method_count> by_method{};
    method_set methods;
};

/// A segment of the patterns; a tree of them is matched segment by segment. Nodes are reached by
/// one way only, so a match looks at each node at most once, whatever the path.
struct route_node {
    std::string text;
    std::vector<std::unique_ptr<route_node>> children; // sorted by text
    std::unique_ptr<route_node> parameter;
    std::unique_ptr<route_ends> ends;     // patterns that end here
    std::unique_ptr<route_ends> wildcard; // patterns that end in a wildcard behind here

    [[nodiscard]] const route_node* child(std::string_view segment) const noexcept;
    [[nodiscard]] route_node& child_or_new(std::string_view segment);
};

/// A pattern taken apart. Throws std::invalid_argument.
struct parsed_pattern {
    explicit parsed_pattern(std::string_view pattern);

    struct segment {
        std::string_view text;
        bool parameter;
    };
    std::vector<segment> segments;
    std::vector<std::string> parameters;
    bool wildcard = false;
};

/// All patterns: as a tree, and those without parameters by their text, too, because for them one
/// look is enough: text wins over everything else.
class route_tree {
public:
    /// `added` outlives the tree. Throws std::invalid_argument if its place is taken.
    void insert(const route& added);
    /// Sets `found`'s target and values; without a target adds to what is allowed.
    void find(method m, std::string_view path, route_match& found) const;

private:
    route_node root_;
    std::unordered_map<std::string_view, const route_ends*> plain_; // keys: the routes' patterns
};

} // namespace rota::http::detail
