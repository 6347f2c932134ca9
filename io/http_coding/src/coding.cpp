#include <rota/http/coding.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <rota/http/detail/request_access.hpp>

#include "coder.hpp"

namespace rota::http {
namespace {

task<response> answer_coded(const coder* self, const error_page* page, request* req, next proceed) {
    if (req->header("If-Range")) {
        request_access::facts(*req).would_code = [self, req](std::string_view type,
                                                             std::uint64_t size) {
            return self->would_code(req->headers(), type, size);
        };
    }
    response answer = co_await proceed(*req);
    const coding_choice how = self->prepare(*req, answer, page);
    if (!how.coding)
        co_return std::move(answer);
    task<response> coding = self->code(std::move(answer), how);
    response coded = co_await std::move(coding);
    co_return std::move(coded);
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
        return answer_coded(self.get(), &page, &req, proceed);
    };
}

} // namespace rota::http
