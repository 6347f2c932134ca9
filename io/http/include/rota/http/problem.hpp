#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <rota/http/error.hpp>
#include <rota/http/response.hpp>

namespace rota::http {

/// What is wrong with a request, as JSON that programs read: application/problem+json (RFC 9457).
///
///     throw http::problem(409, "there is an item of that name").type("/errors/taken").error();
///
/// A value. Texts may be anything; what is not UTF-8 in them becomes U+FFFD.
class problem {
public:
    /// `title` is the status' reason phrase, unless title() sets another. `detail` is for people,
    /// and about this very request; left out if it is empty.
    explicit problem(int status, std::string detail = {});

    /// Sets a URI that names the kind of problem: what programs distinguish problems by.
    problem& type(std::string uri) &;
    problem&& type(std::string uri) && { return std::move(type(std::move(uri))); }
    problem& title(std::string text) &;
    problem&& title(std::string text) && { return std::move(title(std::move(text))); }
    /// Sets a URI of this one occurrence.
    problem& instance(std::string uri) &;
    problem&& instance(std::string uri) && { return std::move(instance(std::move(uri))); }
    /// Adds a further member.
    problem& member(std::string_view name, std::string_view text) &;
    problem&& member(std::string_view name, std::string_view text) && {
        return std::move(member(name, text));
    }
    problem& member(std::string_view name, std::int64_t number) &;
    problem&& member(std::string_view name, std::int64_t number) && {
        return std::move(member(name, number));
    }
    /// Adds a member whose value is JSON already.
    problem& member_json(std::string_view name, std::string_view json) &;
    problem&& member_json(std::string_view name, std::string_view json) && {
        return std::move(member_json(name, json));
    }

    [[nodiscard]] int status() const noexcept { return status_; }
    /// Returns the problem as JSON, with a line end.
    [[nodiscard]] std::string text() const;
    /// Returns a response, to return.
    [[nodiscard]] response answer() const;
    /// Returns an exception, to throw.
    [[nodiscard]] http_error error() const;

private:
    int status_;
    std::string detail_;
    std::string type_;
    std::string title_;
    std::string instance_;
    std::string members_; // each as ,"name":value
};

/// Makes a problem of every error that is not a handler's own answer:
/// routes.error(http::problem_page).
[[nodiscard]] response problem_page(int status, std::string_view reason);

} // namespace rota::http
