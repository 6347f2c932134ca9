#include <rota/http/response.hpp>

#include <stdexcept>
#include <utility>

#include <rota/http/cookie.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/percent.hpp>

namespace rota::http {
namespace {

std::int16_t checked_status(int status) {
    if (status < 200 || status > 599) {
        throw std::invalid_argument("a response status is between 200 and 599");
    }
    return static_cast<std::int16_t>(status);
}

/// An empty one is none: it is not in the grammar.
void add_type(headers& to, std::string_view content_type) {
    if (!fields::trim(content_type).empty())
        to.add("Content-Type", content_type);
}

/// `text` as a reference (RFC 3986 section 4.1): what may not stand in one is percent-encoded.
std::string as_reference(std::string_view text) {
    if (fields::has_control(text))
        throw std::invalid_argument("a control character in the location of a redirection");
    text = fields::trim(text);
    std::string reference;
    bool in_fragment = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool stays = true;
        if (text[i] == '%')
            stays = percent_decoded(text.substr(i, 3)).has_value();
        else if (text[i] == '#')
            stays = !std::exchange(in_fragment, true);
        reference += percent_encoded(text.substr(i, 1), stays ? "%:/?#[]@!$&'()*+,;=" : "");
    }
    return reference;
}

} // namespace

response::response(int status) : status_(checked_status(status)) {}

response response::text(std::string body) {
    response answer;
    answer.headers_.append_trusted_type("text/plain; charset=utf-8");
    answer.owned_ = std::move(body);
    answer.kind_ = kind::owned;
    return answer;
}

response response::html(std::string body) {
    response answer;
    answer.headers_.append_trusted_type("text/html; charset=utf-8");
    answer.owned_ = std::move(body);
    answer.kind_ = kind::owned;
    return answer;
}

response response::json(std::string body) {
    response answer;
    answer.headers_.append_trusted_type("application/json");
    answer.owned_ = std::move(body);
    answer.kind_ = kind::owned;
    return answer;
}

response response::with_body(std::string body, std::string_view content_type) {
    response answer;
    add_type(answer.headers_, content_type);
    answer.owned_ = std::move(body);
    answer.kind_ = kind::owned;
    return answer;
}

response response::fixed(literal body, literal content_type) {
    response answer;
    answer.headers_.append_trusted_type(content_type.text);
    answer.fixed_ = body.text;
    return answer;
}

response response::shared(shared_body body, std::string_view content_type) {
    response answer;
    add_type(answer.headers_, content_type);
    answer.rare_ = std::make_unique<rare>();
    answer.fixed_ = body.view();
    answer.rare_->bytes = std::move(body);
    answer.kind_ = kind::shared;
    return answer;
}

response response::stream(body_producer producer, std::string_view content_type) {
    if (!producer)
        throw std::invalid_argument("a streaming response needs a producer");
    response answer;
    add_type(answer.headers_, content_type);
    answer.producer_ = std::move(producer);
    answer.kind_ = kind::streamed;
    return answer;
}

response response::stream(std::uint64_t length, body_producer producer,
                          std::string_view content_type) {
    response answer = stream(std::move(producer), content_type);
    answer.length_ = length;
    answer.length_known_ = true;
    return answer;
}

response response::file(io::file_slice content, std::string_view content_type) {
    const std::uint64_t size = content.facts.size;
    if (!content.file || content.offset > size || content.size > size - content.offset)
        throw std::invalid_argument("an answer of a file is a part of one");
    response answer;
    add_type(answer.headers_, content_type);
    answer.length_ = content.size;
    answer.length_known_ = true;
    answer.rare_ = std::make_unique<rare>();
    answer.rare_->content = std::move(content);
    answer.kind_ = kind::file;
    return answer;
}

response& response::stands_for(representation whole) & {
    if (!rare_)
        rare_ = std::make_unique<rare>();
    rare_->whole = std::move(whole);
    return *this;
}

const response::representation* response::stands_for() const noexcept {
    return rare_ && rare_->whole ? &*rare_->whole : nullptr;
}

response response::upgrade(std::string_view protocol, connection_taker taker) {
    if (!taker)
        throw std::invalid_argument("a connection that is taken over needs a taker");
    if (protocol.empty())
        throw std::invalid_argument("a protocol to go on in has a name");
    response answer;
    answer.headers_.add("Upgrade", protocol);
    answer.rare_ = std::make_unique<rare>();
    answer.rare_->taker = std::move(taker);
    answer.status_ = 101;
    answer.kind_ = kind::upgrade;
    return answer;
}

response response::tunnel(connection_taker taker) {
    if (!taker)
        throw std::invalid_argument("a connection that is taken over needs a taker");
    response answer;
    answer.rare_ = std::make_unique<rare>();
    answer.rare_->taker = std::move(taker);
    answer.kind_ = kind::tunnel;
    return answer;
}

response& response::forget_request() & noexcept {
    if (takes_over())
        rare_->forgets_request = true;
    return *this;
}

response response::redirect(std::string_view location, int status) {
    if (status < 300 || status > 399)
        throw std::invalid_argument("a redirection has a status between 300 and 399");
    response answer(status);
    answer.headers_.add("Location", as_reference(location));
    return answer;
}

response& response::status(int code) & {
    status_ = checked_status(code);
    return *this;
}

response& response::header(std::string_view name, std::string_view value) & {
    headers_.set(name, value);
    return *this;
}

response& response::set_cookie(const cookie& one) & {
    headers_.add("Set-Cookie", one.to_string());
    return *this;
}

response& response::close() & noexcept {
    close_ = true;
    return *this;
}

void response::share_owned() {
    if (kind_ != kind::owned)
        return;
    auto made = std::make_unique<rare>();
    made->bytes = shared_body::take(std::move(owned_));
    fixed_ = made->bytes.view();
    rare_ = std::move(made);
    kind_ = kind::shared;
}

shared_body response::shared_content() const {
    switch (kind_) {
    case kind::shared:
        return rare_->bytes;
    case kind::owned:
        return shared_body(owned_);
    default:
        return shared_body::of_static(fixed_);
    }
}

void response::stream_file() {
    producer_ = [content = std::move(rare_->content)](body_writer& to) {
        return to.write_file(content);
    };
    rare_.reset();
    kind_ = kind::streamed;
}

std::optional<std::uint64_t> response::length() const noexcept {
    if (kind_ != kind::streamed && kind_ != kind::file)
        return body().size();
    if (length_known_)
        return length_;
    return std::nullopt;
}

std::string response::take_owned_body() noexcept {
    return kind_ == kind::owned ? std::move(owned_) : std::string();
}

} // namespace rota::http
