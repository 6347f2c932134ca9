#include <rota/http/decoding.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "decoding_reader.hpp"
#include "negotiation.hpp"

namespace rota::http {
namespace {

/// A quarter of the least that blocking() has by itself.
constexpr std::size_t slow_steps_at_once = 4;

struct decoding_state {
    explicit decoding_state(const decoding_options& from)
        : options(from), budget(from.memory_bytes_max) {}
    const decoding_options options;
    mutable memory_budget budget;
    mutable semaphore places{slow_steps_at_once};
};

using state_ptr = std::shared_ptr<const decoding_state>;

response refuse(const error_page& page) {
    const std::string reason =
        "the content has a Content-Encoding, or more of them in a row, than can be read";
    response made = page ? page(415, reason) : response::text(reason + '\n');
    made.status(415).header("Accept-Encoding", available_codings());
    return made;
}

/// A producer may go on reading, so what it reads from stays with it.
task<response> go_on_decoded(const state_ptr& self, request& req,
                             std::vector<coding::format> applied, next proceed) {
    auto reader = std::make_shared<decoding_reader>(
        req, std::move(applied), self->options.bytes_max, self->budget, self->places);
    return then(proceed(req), [self, reader](response& answer) {
        if (answer.streamed()) {
            answer.producer() = [self, reader, inner = std::move(answer.producer())](
                                    body_writer& to) mutable { return inner(to); };
        } else if (answer.takes_over() && !answer.forgets_request()) {
            answer.taker() = [self, reader, inner = std::move(answer.taker())](
                                 takeover& from) mutable { return inner(from); };
        }
    });
}

} // namespace

middleware decoding(decoding_options options, error_page page) {
    auto self = std::make_shared<const decoding_state>(options);
    return [self = std::move(self), page = std::move(page)](request& req, next proceed) {
        if (!req.header("Content-Encoding")) // no coroutine for those
            return proceed(req);
        auto applied = applied_codings(req.headers(), self->options.codings_max);
        if (!applied)
            return ready_task(refuse(page));
        if (applied->empty())
            return proceed(req);
        return go_on_decoded(self, req, std::move(*applied), proceed);
    };
}

} // namespace rota::http
