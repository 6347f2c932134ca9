// Range fields held against a model that knows each byte of a small content, and lists of tags.
#include <bitset>
#include <regex>

#include <rota/http/conditional.hpp>
#include <rota/http/range.hpp>

#include "target.hpp"

namespace {

using namespace rota::http;
using rota::fuzz::require;
using rota::fuzz::require_equal;
using answer = requested_ranges::answer;

constexpr std::size_t size_max = 64;
using byte_set = std::bitset<size_max>;

/// The number, or one that is behind everything.
std::uint64_t number(const std::string& digits) {
    std::uint64_t value = 0;
    for (const char c : digits)
        value = value > 1'000'000 ? value : value * 10 + static_cast<std::uint64_t>(c - '0');
    return value;
}

bool smaller(std::string a, std::string b) { // as numbers, however long
    a.erase(0, a.find_first_not_of('0'));
    b.erase(0, b.find_first_not_of('0'));
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

bool fits(const std::string& digits) { return digits.size() < 19; }

struct model {
    bool valid = false; // nothing is malformed, and something is named
    bool exact = true;  // no number that might not fit
    byte_set bytes;
    bool any = false; // one that can be satisfied
};

model read(const std::string& value, std::size_t size) {
    static const std::regex whole("[bB][yY][tT][eE][sS]=((?![ \t]+[^ \t,])[^]*)");
    static const std::regex one("[ \t]*(([0-9]*)-([0-9]*))?[ \t]*");
    model m;
    std::smatch found;
    if (!std::regex_match(value, found, whole))
        return m;
    std::string list = found[1].str() + ',';
    for (std::size_t comma = 0; (comma = list.find(',')) != std::string::npos;) {
        const std::string item = list.substr(0, comma);
        list.erase(0, comma + 1);
        if (!std::regex_match(item, found, one))
            return {};
        if (found[1].str().empty())
            continue;
        const std::string from = found[2];
        const std::string to = found[3];
        if ((from.empty() && to.empty()) || (!from.empty() && !to.empty() && smaller(to, from)))
            return {};
        m.valid = true;
        m.exact = m.exact && fits(from) && fits(to);
        if (from.empty()) {
            const std::uint64_t last = number(to);
            m.any = m.any || last > 0;
            for (std::size_t i = 0; i < size; ++i)
                m.bytes[i] = m.bytes[i] || size - i <= last;
        } else {
            m.any = m.any || number(from) < size;
            for (std::size_t i = 0; i < size; ++i)
                m.bytes[i] = m.bytes[i] || (i >= number(from) && (to.empty() || i <= number(to)));
        }
    }
    return m;
}

void check_ranges(const std::string& value, std::size_t size) {
    const requested_ranges got = read_range(value, size);
    byte_set bytes;
    for (const byte_range& part : got.parts) {
        require(part.size > 0 && part.offset + part.size <= size, "a part is in the content",
                value);
        for (std::uint64_t i = 0; i < part.size; ++i) {
            require(!bytes[part.offset + i], "no part overlaps another", value);
            bytes.set(part.offset + i);
        }
    }
    require((got.how == answer::parts) == !got.parts.empty(), "parts are there", value);
    require(got.parts.size() <= ranges_max, "not too many", value);
    const model want = read(value, size);
    if (!want.valid) {
        require(got.how == answer::whole, "what is malformed is passed over", value);
        return;
    }
    if (got.how == answer::parts)
        require_equal(bytes.to_string(), want.bytes.to_string(), "the bytes that were asked for");
    else if (want.exact)
        require((got.how == answer::unsatisfiable) == !want.any, "unsatisfiable", value);
}

void check_tags(std::string_view list) {
    std::string_view rest = list;
    std::size_t at = 0;
    while (const auto tag = next_entity_tag(rest)) {
        const std::string text = tag->to_string();
        at = list.find(text, at);
        require(at != std::string_view::npos, "tags are in the list, in order", text, list);
        at += text.size();
        const auto again = entity_tag::parse(text);
        require(again && weakly_equal(*again, *tag) && again->weak == tag->weak,
                "a tag there and back", text);
    }
    require(rest.empty(), "a list is read to its end", list);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    const std::string text(in.text.substr(0, 400)); // std::regex recurses
    const std::size_t content = in.choice % (size_max + 1);
    check_ranges(text, content);
    check_ranges("bytes=" + text, content);
    check_tags(text);
    return 0;
}
