#include "route_tree.hpp"

#include <algorithm>
#include <stdexcept>

#include <rota/http/detail/syntax.hpp>

namespace rota::http::detail {
namespace {

[[noreturn]] void refuse(std::string_view pattern, std::string_view why) {
    throw std::invalid_argument("route pattern \"" + std::string(pattern) +
                                "\": " + std::string(why));
}

bool has_escape(std::string_view pattern) noexcept {
    for (std::size_t at = 0; at + 2 < pattern.size(); ++at) {
        if (pattern[at] == '%' && syntax::hex_value(pattern[at + 1]) >= 0 &&
            syntax::hex_value(pattern[at + 2]) >= 0)
            return true;
    }
    return false;
}

bool before(const std::unique_ptr<route_node>& node, std::string_view segment) noexcept {
    return std::string_view(node->text) < segment;
}

/// A match under way.
struct search {
    method wanted;
    std::string_view path;
    route_match& found;
    std::size_t values = 0;

    bool take(const route_ends& ends) {
        found.allowed.insert(ends.methods);
        const route* target = ends.by_method[static_cast<std::size_t>(wanted)];
        if (target == nullptr && wanted == method::head) {
            target = ends.by_method[static_cast<std::size_t>(method::get)];
        }
        if (target == nullptr)
            return false;
        found.target = target;
        found.values.names = &target->parameters;
        return true;
    }

    bool push(std::size_t offset, std::size_t size) {
        if (values == route_values::count_max)
            return false;
        found.values.values[values++] = {static_cast<std::uint32_t>(offset),
                                         static_cast<std::uint32_t>(size)};
        return true;
    }

    /// `at`: where the next segment starts, or one past the end of the path if there is none.
    bool descend(const route_node& node, std::size_t at) {
        if (at > path.size())
            return node.ends && take(*node.ends);
        const std::size_t end = std::min(path.find('/', at), path.size());
        const std::string_view segment = path.substr(at, end - at);
        if (const route_node* next = node.child(segment)) {
            if (descend(*next, end + 1))
                return true;
        }
        if (node.parameter && !segment.empty() && push(at, segment.size())) {
            if (descend(*node.parameter, end + 1))
                return true;
            --values;
        }
        if (node.wildcard && push(at, path.size() - at)) {
            if (take(*node.wildcard))
                return true;
            --values;
        }
        return false;
    }
};

} // namespace

const route_node* route_node::child(std::string_view segment) const noexcept {
    const auto at = std::lower_bound(children.begin(), children.end(), segment, before);
    return at != children.end() && (*at)->text == segment ? at->get() : nullptr;
}

route_node& route_node::child_or_new(std::string_view segment) {
    auto at = std::lower_bound(children.begin(), children.end(), segment, before);
    if (at == children.end() || (*at)->text != segment) {
        at = children.insert(at, std::make_unique<route_node>());
        (*at)->text = segment;
    }
    return **at;
}

parsed_pattern::parsed_pattern(std::string_view pattern) {
    if (pattern.empty())
        return;
    if (pattern.front() != '/')
        refuse(pattern, "does not start with a slash");
    if (pattern.find_first_of("?#") != std::string_view::npos)
        refuse(pattern, "a path has neither query nor fragment");
    if (has_escape(pattern))
        refuse(pattern, "paths are compared decoded: write it decoded");
    for (std::size_t at = 1; at <= pattern.size();) {
        const std::size_t end = std::min(pattern.find('/', at), pattern.size());
        std::string_view text = pattern.substr(at, end - at);
        at = end + 1;
        if (wildcard)
            refuse(pattern, "a wildcard is the last segment");
        const bool braces = text.size() >= 2 && text.front() == '{' && text.back() == '}';
        if (!braces && text != "*") {
            if (text.find_first_of(std::string_view("{}*\0", 4)) != std::string_view::npos) {
                refuse(pattern, "a parameter is a whole segment");
            }
            if (text == "." || text == "..")
                refuse(pattern, "clients take the segments . and .. out of a path");
            segments.push_back({text, false});
            continue;
        }
        if (braces) {
            text = text.substr(1, text.size() - 2);
            wildcard = text.ends_with("...");
            if (wildcard)
                text.remove_suffix(3);
            if (text.empty() || text.find_first_of("{}*") != std::string_view::npos) {
                refuse(pattern, "a parameter needs a name");
            }
        } else {
            wildcard = true;
        }
        if (std::find(parameters.begin(), parameters.end(), text) != parameters.end()) {
            refuse(pattern, "two parameters of the same name");
        }
        if (parameters.size() == route_values::count_max)
            refuse(pattern, "too many parameters");
        parameters.emplace_back(text);
        if (!wildcard)
            segments.push_back({text, true});
    }
}

void route_tree::insert(const route& added) {
    const parsed_pattern pattern(added.pattern);
    route_node* node = &root_;
    for (const auto& segment : pattern.segments) {
        if (!segment.parameter) {
            node = &node->child_or_new(segment.text);
            continue;
        }
        if (!node->parameter)
            node->parameter = std::make_unique<route_node>();
        node = node->parameter.get();
    }
    std::unique_ptr<route_ends>& ends = pattern.wildcard ? node->wildcard : node->ends;
    if (!ends)
        ends = std::make_unique<route_ends>();
    const route*& place = ends->by_method[static_cast<std::size_t>(added.method)];
    if (place != nullptr) {
        refuse(added.pattern, std::string(to_string(added.method)) + " is taken by pattern \"" +
                                  place->pattern + '"');
    }
    place = &added;
    ends->methods.insert(added.method);
    if (pattern.parameters.empty() && !added.pattern.empty())
        plain_.emplace(added.pattern, ends.get());
}

void route_tree::find(method m, std::string_view path, route_match& found) const {
    search looking{m, path, found};
    const auto plain = plain_.find(path);
    if (plain == plain_.end() || !looking.take(*plain->second))
        looking.descend(root_, 1);
}

} // namespace rota::http::detail
