#pragma once

#include <memory>

#include <rota/http/handler.hpp>
#include <rota/http/router.hpp>

#include "settings.hpp"

namespace rota_http {

/// What of the answers is compressed, and which requests may be.
class codings {
public:
    explicit codings(const settings& from);

    /// For answers to GET and HEAD, with encoders of its own; `page` makes what is refused. With
    /// --no-compress it does nothing.
    [[nodiscard]] rota::http::middleware of_answers(rota::http::error_page page) const;
    /// A handler whose answers are compressed; with --no-compress it is the same.
    [[nodiscard]] rota::http::handler answers(rota::http::handler of) const;
    /// A handler whose requests may be compressed; with --no-compress such get a 415.
    [[nodiscard]] rota::http::handler requests(rota::http::handler of) const;

private:
    using shared = std::shared_ptr<const rota::http::middleware>;
    shared answers_;  // null: as they are
    shared requests_; // never null
};

} // namespace rota_http
