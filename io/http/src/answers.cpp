#include "answers.hpp"

#include <string>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/http/status.hpp>

namespace rota::http {
namespace {

std::string describe(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "something that is no std::exception";
    }
}

} // namespace

response error_answer(int status, const char* reason) {
    std::string text(reason_phrase(status));
    if (*reason != '\0')
        text.append(": ").append(reason);
    text += '\n';
    return response::text(std::move(text)).status(status);
}

void report(const std::exception_ptr& error, const request& req,
            const session_hooks* hooks) noexcept {
    if (hooks == nullptr || !hooks->on_error)
        return;
    try {
        std::string message("handler of ");
        message.append(to_string(req.method())).append(" ").append(req.raw_path());
        message.append(" threw: ").append(describe(error));
        hooks->on_error(message);
    } catch (...) { // a report that cannot be made is not made
    }
}

response answer_to(const std::exception_ptr& error, const request& req, const std::stop_token& stop,
                   bool client_gone, const session_hooks* hooks) {
    try {
        std::rethrow_exception(error);
    } catch (const http_error& e) {
        if (e.status() >= 400 && e.status() <= 599)
            return error_answer(e.status(), e.what());
    } catch (const operation_cancelled&) {
        if (stop.stop_requested())
            throw;
    } catch (const std::system_error&) {
        if (client_gone)
            throw;
    } catch (...) { // reported below
    }
    report(error, req, hooks);
    return error_answer(500, "");
}

} // namespace rota::http
