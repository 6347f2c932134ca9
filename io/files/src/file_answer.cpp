#include "file_answer.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <rota/http/conditional.hpp>
#include <rota/http/detail/request_access.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/percent.hpp>
#include <rota/http/quality.hpp>
#include <rota/http/range.hpp>

#include "byte_ranges.hpp"

namespace rota::http {
namespace {

constexpr std::string_view nosniff = "X-Content-Type-Options: nosniff\r\n";

response refusal(int status, std::string text, const representation& of) {
    response answer = response::text(std::move(text));
    answer.status(status);
    answer.headers().append_trusted(nosniff);
    if (of.varies) // another representation might not be refused
        answer.headers().append_trusted(varies_by_coding);
    return answer;
}

response add_fields(response answer, const representation& of) {
    answer.headers().append_trusted(of.stays);
    answer.headers().append_trusted(of.fields);
    return answer;
}

response about(response answer, const representation& of, std::string_view type) {
    answer.stands_for({.content_type = of.coded ? std::string() : std::string(type),
                       .length = of.facts.size,
                       .is_file = true});
    return answer;
}

response one_part(const representation& of, const byte_range& part, std::string_view type) {
    io::file_slice content = of.whole();
    content.offset = part.offset;
    content.size = part.size;
    response answer = response::file(std::move(content), type);
    answer.status(206);
    answer.header("Content-Range", content_range(part, of.facts.size));
    return answer;
}

/// Whether the client takes the bytes that there are. If not, only the whole can be coded for it,
/// by what stands around this, or be refused: there are no ranges (RFC 9110 section 14.2).
bool takes_bytes(const request& asked, const representation& of) {
    static constexpr std::array<std::string_view, 1> as_it_is{"identity"};
    return of.coded ||
           preferred_coding(fields::joined(asked.headers(), "Accept-Encoding"), as_it_is);
}

/// Whether the whole of it, as its client would get it now, may have other bytes at the same date.
bool may_be_coded(const request& asked, const representation& of, std::string_view type) {
    const request_facts* const facts = request_access::known_facts(asked);
    return !of.coded && facts != nullptr && facts->would_code &&
           facts->would_code(type, of.facts.size);
}

/// A path or a query as it came, but for what no URI has (RFC 3986 section 3.3).
std::string as_uri(std::string_view raw) {
    std::string text;
    for (std::size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] == '%' && percent_decoded(raw.substr(i, 3)))
            text += '%';
        else
            text += percent_encoded(raw.substr(i, 1), "/?:@!$&'()*+,;=");
    }
    return text;
}

} // namespace

const representation& choose_representation(const request& asked, const site_file& of) {
    if (!of.has_siblings)
        return of.plain;
    const std::optional<std::string> accepted = fields::joined(asked.headers(), "Accept-Encoding");
    if (!accepted)
        return of.plain;
    std::array<std::string_view, sibling_kinds.size() + 1> offers;
    std::size_t count = 0;
    for (std::size_t i = 0; i < sibling_kinds.size(); ++i) {
        if (of.siblings[i].fits)
            offers[count++] = sibling_kinds[i].coding;
    }
    offers[count++] = "identity";
    const auto chosen = preferred_coding(*accepted, std::span(offers).first(count));
    for (std::size_t i = 0; i < sibling_kinds.size(); ++i) {
        if (of.siblings[i].fits && chosen == sibling_kinds[i].coding)
            return of.siblings[i].of;
    }
    return of.plain;
}

response file_answer(const request& asked, const representation& of, std::string_view type,
                     std::chrono::system_clock::time_point now) {
    validators current{.tag = entity_tag{.opaque = of.tag, .weak = !of.settled},
                       .last_modified = of.modified};
    switch (check_preconditions(asked.method(), asked.headers(), current)) {
    case precondition::failed:
        return about(refusal(412, "Precondition Failed\n", of), of, type);
    case precondition::not_modified: {
        response answer(304);
        answer.headers().append_trusted(of.stays);
        return about(std::move(answer), of, type);
    }
    case precondition::go_on:
        break;
    }
    // Then a date is none of this content alone (RFC 9110 section 8.8.2.2).
    if (!of.settled || of.shares_date || of.varies || may_be_coded(asked, of, type))
        current.last_modified.reset();
    requested_ranges ranges;
    const auto field = applicable_range(asked.method(), asked.headers(), current, now);
    if (field && takes_bytes(asked, of))
        ranges = read_range(*field, of.facts.size);
    using answer = requested_ranges::answer;
    if (ranges.how == answer::unsatisfiable) {
        response refused = refusal(416, "Range Not Satisfiable\n", of);
        refused.header("Content-Range", content_range_unsatisfied(of.facts.size));
        refused.headers().append_trusted("Accept-Ranges: bytes\r\n");
        return about(std::move(refused), of, type);
    }
    if (ranges.how == answer::whole)
        return add_fields(response::file(of.whole(), type), of);
    if (ranges.parts.size() == 1)
        return about(add_fields(one_part(of, ranges.parts.front(), type), of), of, type);
    response parts = byte_ranges_answer(of.whole(), type, ranges.parts);
    return about(add_fields(std::move(parts), of), of, type);
}

response slash_answer(const request& asked) {
    std::string to = as_uri(asked.raw_path()) + '/';
    if (const std::string_view query = asked.query_string(); !query.empty())
        to.append("?").append(as_uri(query));
    return response::redirect(to, 301);
}

} // namespace rota::http
