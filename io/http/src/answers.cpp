#include "answers.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <rota/detail/one_line.hpp>
#include <rota/errors.hpp>
#include <rota/http/detail/responder.hpp>
#include <rota/http/status.hpp>

namespace rota::http {
namespace {

bool is_failure(int status) noexcept { return status >= 400 && status <= 599; }

std::string text_of(const std::exception& error) {
    const char* const what = error.what();
    // What a client has sent may be part of it.
    return what != nullptr ? rota::detail::one_line(what) : "an exception without a text";
}

std::string describe(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const http_error& e) {
        if (is_failure(e.status()))
            return text_of(e);
        return "http_error of " + std::to_string(e.status()) +
               ", which is no failure: " + text_of(e);
    } catch (const std::exception& e) {
        return text_of(e);
    } catch (...) {
        return "something that is no std::exception";
    }
}

response plain_error(int status, const char* reason) {
    std::string text(reason_phrase(status));
    if (*reason != '\0')
        text.append(": ").append(reason);
    text += '\n';
    return response::text(std::move(text)).status(status);
}

/// Reports what a handler threw: that of the request that `asked()` names.
template <class Asked>
void report_named(const std::exception_ptr& error, const Asked& asked,
                  const session_hooks* hooks) noexcept {
    if (hooks == nullptr || !hooks->on_error)
        return;
    try {
        std::string message("handler of ");
        message.append(asked()).append(" threw: ").append(describe(error));
        hooks->on_error(message);
    } catch (...) { // a report that cannot be made is not made
    }
}

/// What is to be told of what a handler threw, if it says that itself. Rethrows what ends all.
std::optional<http_error> said_by(const std::exception_ptr& error, const std::stop_token& stop,
                                  bool client_gone) {
    try {
        std::rethrow_exception(error);
    } catch (const http_error& e) {
        if (is_failure(e.status()))
            return e;
    } catch (const operation_cancelled&) {
        if (stop.stop_requested())
            throw;
    } catch (const std::system_error&) {
        if (client_gone)
            throw;
    } catch (...) { // to be reported
    }
    return std::nullopt;
}

} // namespace

response error_answer(const error_page* page, const http_error& failure) {
    const int status = failure.status();
    const char* const reason = failure.what();
    if (!failure.content_type().empty())
        return response::with_body(reason, failure.content_type()).status(status);
    if (page == nullptr)
        return plain_error(status, reason);
    response made = (*page)(status, *reason != '\0' ? reason : reason_phrase(status));
    if (made.streamed() || made.takes_over())
        return plain_error(status, reason);
    return std::move(made.status(status));
}

void report(const std::exception_ptr& error, const request& req,
            const session_hooks* hooks) noexcept {
    report_named(
        error, [&] { return name_of(req); }, hooks);
}

void report_changed_file(const request& req, const session_hooks* hooks) noexcept {
    if (hooks == nullptr)
        return;
    const auto& told = hooks->on_warning ? hooks->on_warning : hooks->on_error;
    if (!told)
        return;
    try {
        told("answer to " + name_of(req) + " was cut: its file changed while it was sent");
    } catch (...) { // as above
    }
}

void report_thrown(std::string_view by, const std::exception_ptr& error,
                   const session_hooks* hooks) noexcept {
    if (hooks == nullptr || !hooks->on_error)
        return;
    try {
        hooks->on_error(std::string(by).append(" threw: ").append(describe(error)));
    } catch (...) { // as above
    }
}

std::string name_of(const request& asked) {
    std::string name(to_string(asked.method()));
    return name.append(" ").append(asked.raw_path());
}

http_error failure_of(const std::exception_ptr& error, const request& req,
                      const std::stop_token& stop, bool client_gone, const session_hooks* hooks) {
    if (std::optional<http_error> said = said_by(error, stop, client_gone))
        return *std::move(said);
    report(error, req, hooks);
    return {500, ""};
}

void report_failure(const std::exception_ptr& error, std::string_view asked,
                    const std::stop_token& stop, bool client_gone, const session_hooks* hooks) {
    if (!said_by(error, stop, client_gone))
        report_named(
            error, [&] { return asked; }, hooks);
}

} // namespace rota::http
