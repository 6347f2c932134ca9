#include <rota/http/handler.hpp>

#include <exception>

namespace rota::http {
namespace {

task<response> call_with_body(const handler::whole_body* function, request* req) {
    std::string content = co_await req->text();
    co_return (*function)(*req, std::move(content));
}

} // namespace

task<response> handler::call(request& req) const {
    if (const auto* function = std::get_if<coroutine>(&shape_))
        return rota::detail::returned((*function)(req));
    if (const auto* function = std::get_if<whole_body>(&shape_))
        return call_with_body(function, &req);
    const plain* const function = std::get_if<plain>(&shape_);
    return rota::detail::ready_by<response>([function, &req] { return (*function)(req); });
}

task<response> next::operator()(request& req) const {
    try {
        if (index_ == chain_->size())
            return last_(context_, req);
        const middleware& function = *(*chain_)[index_];
        next following = *this;
        ++following.index_;
        return rota::detail::returned(function(req, following));
    } catch (...) { // to be caught where the task is awaited, whatever is there already
        return failed_task<response>(std::current_exception());
    }
}

} // namespace rota::http
