#include "request_fields.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include <rota/detail/frame_pool.hpp>
#include <rota/http/detail/expect.hpp>
#include <rota/http/detail/host.hpp>
#include <rota/http/detail/kept_text.hpp>
#include <rota/http/detail/trailer_rules.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/percent.hpp>
#include <rota/thread_end.hpp>

namespace rota::http::h2 {
namespace {

/// What each field counts beside its text (RFC 9113 section 6.5.2).
constexpr std::size_t field_overhead = 32;

/// Of one that is known.
constexpr std::size_t method_bytes_max = 16;

/// What text and fields are in.
struct buffers {
    std::string text;
    std::vector<field_span> fields;
};
constexpr std::size_t spare_max = 64;
constexpr std::size_t spare_fields_max = 64;

/// Of the last ones that have gone on this thread; null if there are none, or it ends.
constinit thread_local std::vector<buffers>* spare = nullptr;

void drop_spare(void* kept) noexcept {
    delete static_cast<std::vector<buffers>*>(kept);
    spare = nullptr;
}

/// Throws std::bad_alloc.
std::vector<buffers>& spare_here() {
    static const thread_end end(&drop_spare);
    if (spare == nullptr) {
        auto made = std::make_unique<std::vector<buffers>>();
        made->reserve(spare_max);
        if (!end.note(made.get()))
            throw std::bad_alloc();
        spare = made.release();
    }
    return *spare;
}

/// As HTTP/1.1 has it (RFC 3986 is ASCII); controls are seen to.
bool is_of_no_target(char c) noexcept {
    return c == ' ' || c == '#' || static_cast<unsigned char>(c) >= 0x80;
}

/// `:protocol` is one value (RFC 8441 section 4), as an element of Upgrade is (RFC 9110 section
/// 7.8): a list would be read as a choice.
bool is_one_protocol(std::string_view value) noexcept {
    const std::size_t slash = std::min(value.find('/'), value.size());
    return fields::is_token(value.substr(0, slash)) &&
           (slash == value.size() || fields::is_token(value.substr(slash + 1)));
}

/// Without a port that the scheme says already (RFC 3986 section 6.2.3).
std::string_view without_default_port(std::string_view authority, bool https) noexcept {
    const std::size_t colon = authority.rfind(':');
    if (colon == std::string_view::npos)
        return authority;
    const std::string_view port = authority.substr(colon + 1);
    const bool says_nothing = port.empty() || port == (https ? "443" : "80");
    return says_nothing ? authority.substr(0, colon) : authority;
}

} // namespace

/// Those of the last ones that have gone are the next ones': several hundred instructions less.
request_fields::request_fields(const parser_limits& limits) noexcept : limits_(&limits) {
    if (spare == nullptr || spare->empty())
        return;
    text_.swap(spare->back().text);
    head_.fields.swap(spare->back().fields);
    spare->pop_back();
}

request_fields::~request_fields() {
    if (!frame_pool::keeps || text_.capacity() > detail::kept_capacity_max ||
        head_.fields.capacity() > spare_fields_max)
        return;
    try {
        std::vector<buffers>& to = spare_here();
        if (to.size() == spare_max)
            return;
        text_.clear();
        head_.fields.clear();
        to.push_back({std::move(text_), std::move(head_.fields)});
    } catch (const std::bad_alloc&) { // then there is none to spare
    }
}

void request_fields::forget_spare() noexcept {
    if (spare != nullptr)
        spare->clear();
}

void request_fields::refuse(int status, const char* reason) noexcept {
    if (!refused_)
        refused_ = refusal{status, reason};
}

text_span request_fields::keep(std::string_view text) {
    const text_span at{static_cast<std::uint32_t>(text_.size()),
                       static_cast<std::uint32_t>(text.size())};
    text_.append(text);
    return at;
}

void request_fields::keep_field(std::string_view name, std::string_view value) {
    const text_span kept_name = keep(name);
    head_.fields.push_back({kept_name, keep(value)});
}

bool request_fields::has_room(std::string_view name, std::string_view value) noexcept {
    section_bytes_ += name.size() + value.size() + field_overhead;
    if (section_bytes_ <= limits_->head_bytes_max)
        return true;
    refuse(431, "header section too large");
    return false;
}

void request_fields::add(std::string_view name, std::string_view value) {
    if (!has_room(name, value)) {
        if (name == ":method" && value.size() <= method_bytes_max) // HEAD is answered otherwise
            add_pseudo(name, value);
        return;
    }
    if (name.starts_with(':')) {
        add_pseudo(name, value);
        return;
    }
    // RFC 9113 section 8.2.3: in pieces, so that they compress better.
    if (name == "cookie") {
        if (!cookies_.empty())
            cookies_.append("; ");
        cookies_.append(value);
        return;
    }
    if (head_.fields.size() >= limits_->header_count_max) {
        refuse(431, "too many header fields");
        return;
    }
    if (name == "host") {
        if (host_.size > 0)
            refuse(400, "more than one Host");
        keep_field(name, value);
        host_ = head_.fields.back().value;
        return;
    }
    if (name == "content-length") {
        add_length(value);
    } else if (name == "expect") {
        if (!read_expect(value, head_.expects_continue))
            head_.unfit = 417;
    }
    keep_field(name, value);
}

void request_fields::add_pseudo(std::string_view name, std::string_view value) {
    if (name == ":method")
        method_ = keep(value);
    else if (name == ":path")
        path_ = keep(value);
    else if (name == ":authority")
        authority_ = keep(value);
    else if (name == ":protocol")
        protocol_ = keep(value);
    else if (name == ":scheme")
        add_scheme(value);
    if (name == ":protocol" && !is_one_protocol(value))
        refuse(400, "malformed :protocol");
}

/// In clear, too, it may be https: a gateway that has ended TLS passes on what it was asked for,
/// and haproxy 2.6 says so of all that came by HTTP/1.1.
void request_fields::add_scheme(std::string_view value) noexcept {
    https_ = fields::iequals(value, "https");
    if (!https_ && !fields::iequals(value, "http"))
        refuse(400, "neither http nor https");
}

void request_fields::add_length(std::string_view value) {
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), head_.content_length);
    if (error == std::errc::result_out_of_range)
        refuse(413, "content too large");
    else if (error != std::errc{} || end != value.data() + value.size())
        refuse(400, "malformed Content-Length");
    head_.has_content_length = true;
}

void request_fields::finish(bool more) {
    head_.major = 2;
    head_.minor = 1;
    head_.keep_alive = true;
    if (!cookies_.empty())
        keep_field("cookie", cookies_);
    finish_host();
    if (extended_connect())
        show_upgrade();
    head_.base = text_.data();
    const auto known = parse_method(head_.text(method_));
    head_.method = extended_connect() ? method::get : known.value_or(method::other);
    if (!known) {
        head_.unknown_method = method_;
        head_.unfit = 501;
    }
    finish_target();
    head_.chunked = more && !head_.has_content_length && !extended_connect();
    if (head_.form == target_form::authority)
        head_.chunked = false;
    if (!more || !head_.has_body())
        head_.expects_continue = false;
    if (head_.content_length > limits_->body_bytes_max)
        refuse(413, "content too large");
    // As in HTTP/1.1: what follows is another protocol's. Of an extended one nghttp2 would take
    // a length of 0 for the tunnel's.
    const bool has_length =
        extended_connect() ? head_.has_content_length : head_.content_length > 0;
    if (is_connect() && has_length)
        refuse(400, "content in CONNECT");
    head_.base = text_.data();
}

/// RFC 9113 section 8.3.1: :authority is what Host is in HTTP/1.1; where both are there they say
/// the same, in whatever spelling.
void request_fields::finish_host() {
    const auto text = [this](text_span span) {
        return std::string_view(text_).substr(span.offset, span.size);
    };
    const auto shortest = [&](text_span span) { return without_default_port(text(span), https_); };
    if (authority_.size == 0) {
        if (host_.size == 0)
            refuse(400, "Host is missing");
        head_.host = host_;
    } else {
        if (host_.size == 0)
            head_.fields.insert(head_.fields.begin(), {keep("host"), authority_});
        else if (!fields::iequals(shortest(host_), shortest(authority_)))
            refuse(400, "Host is not what :authority says");
        head_.host = authority_;
    }
    if (!valid_host(text(head_.host)))
        refuse(400, "malformed Host");
}

void request_fields::finish_target() {
    if (head_.method == method::connect && !extended_connect()) {
        const std::string_view target = head_.text(authority_);
        const std::size_t colon = target.rfind(':');
        if (colon == std::string_view::npos || colon + 1 == target.size())
            refuse(400, "malformed request target");
        head_.form = target_form::authority;
        head_.target = authority_;
        return;
    }
    const std::string_view path = head_.text(path_);
    head_.target = path_;
    // As long as its line would be in HTTP/1.1.
    constexpr std::string_view beside = "  HTTP/1.1";
    if (head_.text(method_).size() + path.size() + beside.size() > limits_->request_line_bytes_max)
        refuse(414, "request target too long");
    if (path == "*" && head_.method == method::options) {
        head_.form = target_form::asterisk;
        head_.path = path_;
        return;
    }
    finish_origin(path);
}

void request_fields::finish_origin(std::string_view path) {
    if (!path.starts_with('/') || std::any_of(path.begin(), path.end(), is_of_no_target))
        refuse(400, "malformed request target");
    const std::size_t query = path.find('?');
    const auto size = static_cast<std::uint32_t>(std::min(query, path.size()));
    head_.path = {path_.offset, size};
    if (query != std::string_view::npos) {
        head_.query = {path_.offset + size + 1, static_cast<std::uint32_t>(path.size() - size - 1)};
    }
    head_.path_escaped = path.substr(0, size).find('%') != std::string_view::npos;
    if (head_.path_escaped && !valid_escapes(path.substr(0, size))) {
        head_.path_escaped = false;
        if (has_escaped_nul(path.substr(0, size)))
            refuse(404, "no path here has a NUL in it");
        else
            refuse(400, "bad percent-encoding in the path");
    }
}

/// As RFC 6455 has it: handlers need not know of RFC 8441. It has no key (one that
/// comes is not processed, section 5), so that is a fixed one.
void request_fields::show_upgrade() {
    keep_field("connection", "Upgrade");
    const text_span name = keep("upgrade");
    head_.fields.push_back({name, protocol_});
    head_.base = text_.data();
    std::erase_if(head_.fields, [this](const auto& field) {
        return fields::iequals(head_.text(field.name), "sec-websocket-key");
    });
    keep_field("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==");
}

void request_fields::add_trailer(std::string_view name, std::string_view value) {
    trailer_bytes_ += name.size() + value.size() + field_overhead;
    if (trailer_bytes_ > limits_->trailer_bytes_max) {
        trailers_refused_ = true;
        return;
    }
    if (!may_be_trailer(name))
        return;
    if (trailers_.size() >= limits_->header_count_max) {
        trailers_refused_ = true;
        return;
    }
    const auto put = [this](std::string_view text) {
        const text_span at{static_cast<std::uint32_t>(trailer_text_.size()),
                           static_cast<std::uint32_t>(text.size())};
        trailer_text_.append(text);
        return at;
    };
    const text_span kept_name = put(name);
    trailers_.push_back({kept_name, put(value)});
}

} // namespace rota::http::h2
