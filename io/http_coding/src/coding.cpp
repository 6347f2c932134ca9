#include <rota/http/coding.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <rota/http/detail/request_access.hpp>

#include "coder.hpp"

namespace rota::http {
namespace {

task<response> code_later(const coder* self, const error_page* page, const request* req,
                          task<response> made) {
    response answer = co_await std::move(made);
    const coding_choice how = self->prepare(*req, answer, page);
    if (!how.coding)
        co_return std::move(answer);
    co_return co_await self->code(std::move(answer), how);
}

/// No coroutine for an answer that is there, and stays as it is.
task<response> answer_coded(const coder* self, const error_page* page, request& req, next proceed) {
    if (req.header("If-Range")) {
        request_access::facts(req).would_code = [self, asked = &req](std::string_view type,
                                                                     std::uint64_t size) {
            return self->would_code(asked->headers(), type, size);
        };
    }
    task<response> made = proceed(req);
    response* const there = made.ready();
    if (there == nullptr)
        return code_later(self, page, &req, std::move(made));
    const coding_choice how = self->prepare(req, *there, page);
    return how.coding ? self->code(std::move(*there), how) : std::move(made);
}

} // namespace

std::vector<std::string> default_coded_types() {
    return {"!text/event-stream", // small, rare, and one encoder for each that listens
            "text/*",
            "application/json",
            "application/javascript",
            "application/xml",
            "application/x-ndjson",
            "application/wasm",
            "application/x-javascript",
            "application/vnd.ms-fontobject",
            "font/ttf",
            "font/otf",
            "image/svg+xml",
            "*+json",
            "*+xml"};
}

middleware coding(coding_options options, error_page page) {
    auto self = std::make_shared<const coder>(std::move(options));
    return [self = std::move(self), page = std::move(page)](request& req, next proceed) {
        return answer_coded(self.get(), &page, req, proceed);
    };
}

} // namespace rota::http
