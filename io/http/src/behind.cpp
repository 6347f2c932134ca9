#include <rota/http/behind.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

namespace rota::http {
namespace {

struct both {
    middleware outer;
    handler inner;
};

task<response> call_inner(const void* context, request& req) {
    return static_cast<const both*>(context)->inner.call(req);
}

} // namespace

handler behind(middleware outer, handler inner) {
    if (!outer)
        throw std::invalid_argument("a middleware is a function");
    auto kept = std::make_shared<const both>(both{std::move(outer), std::move(inner)});
    return [kept = std::move(kept)](request& req) {
        static const middleware_chain nothing_else;
        return kept->outer(req, next(nothing_else, &call_inner, kept.get()));
    };
}

} // namespace rota::http
