#include <rota/http/caching.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <rota/detail/hex.hpp>
#include <rota/http/conditional.hpp>
#include <rota/http/date.hpp>
#include <rota/http/headers.hpp>

#include "answer_fields.hpp"
#include "answers.hpp"

namespace rota::http {
namespace {

/// FNV-1a, from another beginning for each half.
std::uint64_t hash_of(std::string_view content, std::uint64_t hash) noexcept {
    for (const char c : content) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3;
        hash ^= hash >> 32;
    }
    return hash;
}

void append_hex(std::string& to, std::uint64_t bits) {
    for (int shift = 60; shift >= 0; shift -= 4)
        to += rota::detail::hex_digit(static_cast<unsigned>(bits >> shift & 15));
}

response::representation representation_of(const response& whole) {
    const bool coded = whole.headers().find("Content-Encoding").has_value();
    const auto type = whole.headers().find("Content-Type");
    return {.content_type = std::string(coded ? "" : type.value_or("")),
            .length = whole.body().size()};
}

/// The same without its content; fields that describe content, and no cache goes by, stay away
/// (section 15.4.5).
response without_content(response& from, int status) {
    response made(status);
    made.stands_for(representation_of(from));
    made.headers() = std::move(from.headers());
    for (const std::string_view name :
         {"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition"}) {
        while (made.headers().remove(name)) {
        }
    }
    if (from.closes())
        made.close();
    return made;
}

void tag(response& answer, std::size_t bytes_max, const error_page* page, const request& req) {
    const bool reads = req.method() == method::get || req.method() == method::head;
    // A handler may leave content out for HEAD, and nothing tells that from content that is empty:
    // so that has none for GET, either.
    if (!reads || answer.body().empty() || answer.status() != 200 || !answer.is_whole() ||
        answer.body().size() > bytes_max || answer.headers().find("ETag"))
        return;
    const bool coded = answer.headers().find("Content-Encoding").has_value();
    const std::string tag = (coded ? "W/" : "") + content_tag(answer.body());
    answer.header("ETag", tag);
    validators current{.tag = entity_tag::parse(tag)};
    if (const auto modified = answer.headers().find("Last-Modified"))
        current.last_modified = parse_http_date(*modified);
    const precondition what = check_preconditions(req.method(), req.headers(), current);
    if (what == precondition::not_modified)
        answer = without_content(answer, 304);
    if (what == precondition::failed) {
        response refused = error_answer(page, http_error(412, ""));
        refused.stands_for(representation_of(answer));
        answer = std::move(refused);
    }
}

} // namespace

std::string content_tag(std::string_view content) {
    std::string tag = "\"";
    append_hex(tag, hash_of(content, 0xcbf29ce484222325));
    append_hex(tag, hash_of(content, 0x84222325cbf29ce4 ^ content.size()));
    return tag += '"';
}

middleware etag(std::size_t bytes_max, error_page page) {
    const auto own = page ? std::make_shared<const error_page>(std::move(page)) : nullptr;
    return [bytes_max, own](request& req, next proceed) {
        return then(proceed(req), [bytes_max, page = own.get(), asked = &req](response& answer) {
            tag(answer, bytes_max, page, *asked);
        });
    };
}

middleware cache_control(std::string value, bool errors) {
    headers().add("Cache-Control", value); // throws if it must
    auto kept = std::make_shared<const std::string>(std::move(value));
    return [kept = std::move(kept), errors](request& req, next proceed) {
        if (errors) // of what is thrown, too
            promise_field_instead(req, "Cache-Control", *kept);
        return then(proceed(req), [value = kept.get(), errors](response& answer) {
            if ((errors || answer.status() < 400) && !answer.headers().find("Cache-Control"))
                answer.header("Cache-Control", *value);
        });
    };
}

} // namespace rota::http
