#include <rota/json/read.hpp>

#include <charconv>
#include <system_error>

#include <rota/json/writer.hpp>

namespace rota::json::detail {
namespace {

/// Of a path only so much is told: its steps may be names that a client has sent.
constexpr std::size_t path_bytes_max = 200;

bool is_plain(std::string_view name) noexcept {
    if (name.empty() || name.size() > 40)
        return false;
    for (const char c : name) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (c < '0' || c > '9') && c != '_' && c != '-')
            return false;
    }
    return true;
}

void append_path(std::string& out, const place& at) {
    if (at.around == nullptr)
        return;
    append_path(out, *at.around);
    if (at.is_element) {
        out.append("[").append(std::to_string(at.index)).append("]");
    } else if (is_plain(at.name)) {
        out.append(out.empty() ? "" : ".").append(at.name);
    } else {
        out.append("[").append(excerpt(at.name)).append("]");
    }
}

std::string path_of(const place& at) {
    std::string path;
    append_path(path, at);
    if (path.size() > path_bytes_max) {
        path.erase(0, path.size() - path_bytes_max);
        while (!path.empty() && (static_cast<unsigned char>(path.front()) & 0xc0U) == 0x80U)
            path.erase(0, 1);
        path.insert(0, "...");
    }
    return path;
}

/// What came instead: a scalar itself, else what kind it is.
std::string shown(value got) {
    switch (got.kind()) {
    case kind::string:
        return excerpt(got.string());
    case kind::number: {
        const std::string_view digits = got.number_text();
        return digits.size() <= 40 ? std::string(digits)
                                   : std::string(digits.substr(0, 40)) + "...";
    }
    case kind::boolean:
        return *got.boolean() ? "true" : "false";
    default:
        return std::string(to_string(got.kind()));
    }
}

std::string integer_text(const std::string& least, const std::string& most) {
    return "an integer from " + least + " to " + most;
}

template <class Integer>
std::optional<Integer> whole(std::string_view text) {
    Integer result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return result;
}

} // namespace

void fail(const place& at, std::string_view expected, value got) {
    throw read_error(path_of(at), "expected " + std::string(expected) + ", got " + shown(got));
}

void fail_lacking(const place& at) { throw read_error(path_of(at), "is missing"); }
void fail_twice(const place& at) { throw read_error(path_of(at), "is there twice"); }
void fail_unknown(const place& at) { throw read_error(path_of(at), "is not known"); }

void expect(value from, const place& at, kind wanted) {
    if (!from.is(wanted))
        fail(at, to_string(wanted), from);
}

std::string_view read_text(value from, const place& at) {
    expect(from, at, kind::string);
    return from.string();
}

long long read_signed(value from, const place& at, long long least, long long most) {
    const auto number = whole<long long>(from.number_text());
    if (!number || *number < least || *number > most)
        fail(at, integer_text(std::to_string(least), std::to_string(most)), from);
    return *number;
}

unsigned long long read_unsigned(value from, const place& at, unsigned long long most) {
    const auto number = whole<unsigned long long>(from.number_text());
    if (!number || *number > most)
        fail(at, integer_text("0", std::to_string(most)), from);
    return *number;
}

double read_double(value from, const place& at) {
    expect(from, at, kind::number);
    const auto number = whole<double>(from.number_text());
    if (!number)
        fail(at, "a number within the range of a double", from);
    return *number;
}

float read_float(value from, const place& at) {
    expect(from, at, kind::number);
    const auto number = whole<float>(from.number_text()); // a double's would be rounded twice
    if (!number)
        fail(at, "a number within the range of a float", from);
    return *number;
}

} // namespace rota::json::detail
