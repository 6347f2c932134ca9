#include "coder.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>

#include <rota/blocking.hpp>
#include <rota/detail/usable_cores.hpp>
#include <rota/http/detail/vary.hpp>
#include <rota/http/error.hpp>
#include <rota/http/status.hpp>

#include "coding_writer.hpp"

namespace rota::http {
namespace {

using coding::format;

/// Throws std::invalid_argument for a format that HTTP does not have, or that is there twice.
coding_options checked(coding_options options) {
    for (auto at = options.formats.begin(); at != options.formats.end(); ++at) {
        if (*at == format::zlib || *at == format::deflate)
            throw std::invalid_argument("contents are coded by gzip, br or zstd");
        if (std::find(options.formats.begin(), at, *at) != at)
            throw std::invalid_argument("a coding is there twice");
    }
    std::erase_if(options.formats, [](format each) { return !coding::is_available(each); });
    return options;
}

/// How many contents are compressed on threads of blocking() at once. More than there are cores
/// would be no faster, and one connection, which can ask for 128, would keep all these threads.
std::size_t compressed_at_once() noexcept { return rota::detail::usable_cores(); }

/// `text` as the content of `answer`.
response with_content(std::string text, response& answer) {
    response made = response::text(std::move(text));
    made.headers() = std::move(answer.headers());
    made.status(answer.status());
    if (answer.closes())
        made.close();
    return made;
}

response not_acceptable(const error_page* page) {
    response made =
        page != nullptr && *page
            ? (*page)(406, "there is no coding of this that Accept-Encoding takes")
            : response::text("Accept-Encoding takes none of the codings that there are: " +
                             available_codings() + ", identity\n");
    made.status(406);
    add_to_vary(made.headers(), "Accept-Encoding");
    return made;
}

bool is_safe(method asked) noexcept { return asked == method::get || asked == method::head; }

/// Whether it has, or stands for, a content that nobody has coded yet: what a client may refuse.
bool is_negotiable(const response& answer) noexcept {
    if (answer.takes_over() || answer.headers().find("Content-Encoding"))
        return false;
    if (const response::representation* const whole = answer.stands_for())
        return !whole->content_type.empty();
    const int status = answer.status();
    return status == 200 || status == 206 || status == 304;
}

} // namespace

const std::string* coded_literals::find(std::string_view content, format how) const {
    const auto found = known_.find({content.data(), content.size(), how});
    return found != known_.end() ? &found->second : nullptr;
}

void coded_literals::keep(std::string_view content, format how, const std::string& coded) {
    constexpr std::size_t beside = 128; // of an entry
    const std::size_t size = coded.size() + beside;
    if (size > memory_max - memory_) {
        known_.clear();
        memory_ = 0;
    }
    if (size > memory_max)
        return;
    // Two requests may have coded it at once.
    if (known_.emplace(key{content.data(), content.size(), how}, coded).second)
        memory_ += size;
}

coder::coder(coding_options options)
    : options_(checked(std::move(options))), types_(options_.types),
      budget_(options_.memory_bytes_max), places_(compressed_at_once()) {
    const std::array levels{std::pair(format::gzip, options_.gzip_level),
                            std::pair(format::br, options_.br_level),
                            std::pair(format::zstd, options_.zstd_level)};
    for (const auto& [to, level] : levels) {
        how_[static_cast<std::size_t>(to)] = {.to = to, .level = level};
        if (std::ranges::find(options_.formats, to) == options_.formats.end())
            continue;
        std::unique_ptr<coding::encoder> first = coding::make_encoder(how(to));
        // Some take their memory when content comes.
        (void)coding::encode_whole(*first, std::string(65'536, 'x'));
        memory_[static_cast<std::size_t>(to)] = first->memory();
    }
}

/// Whether it is of those that are coded for some clients.
bool coder::is_codable(const response& answer) const {
    const int status = answer.status();
    if (answer.takes_over() || status_has_no_content(status) || status == 205 || status == 206)
        return false;
    const auto type = answer.headers().find("Content-Type");
    return type && types_.contains(*type) && !must_stay(answer.headers());
}

/// Whether what it is or stands for is of those (RFC 9110 sections 15.3.7, 15.4.5). A 304
/// that does not say may stand for one.
bool coder::is_codable_whole(const response& answer) const {
    const headers& fields = answer.headers();
    if (const response::representation* const whole = answer.stands_for())
        return types_.contains(whole->content_type) && !must_stay_whole(fields);
    const int status = answer.status();
    if (status != 206 && status != 304)
        return is_codable(answer);
    const std::string_view type = fields.find("Content-Type").value_or("");
    return !must_stay_whole(fields) &&
           (status == 304 || type.starts_with("multipart/byteranges") || types_.contains(type));
}

bool coder::is_worth_it(std::optional<std::uint64_t> length, bool is_file) const noexcept {
    if (!length)
        return true;
    return *length >= options_.bytes_min && !(is_file && *length > options_.file_bytes_max);
}

bool coder::would_code(header_list asked, std::string_view type, std::uint64_t size) const {
    const coding_choice choice = choose_coding(asked, options_.formats);
    return choice.coding && types_.contains(type) && (!choice.as_it_is || is_worth_it(size, true));
}

coding_choice coder::prepare(const request& req, response& answer, const error_page* page) const {
    coding_choice as_it_is;
    const bool codable = is_codable(answer);
    const bool negotiable = is_safe(req.method()) && is_negotiable(answer);
    if (!codable && !negotiable)
        return as_it_is;
    std::span<const format> formats;
    if (!negotiable || (codable && answer.stands_for() == nullptr) || is_codable_whole(answer))
        formats = options_.formats;
    const coding_choice choice = choose_coding(req.headers(), formats);
    // Whatever a condition or a range has come to (RFC 9110 sections 13.2.1, 14.2).
    if (negotiable && choice.nothing()) {
        answer = not_acceptable(page);
        return as_it_is;
    }
    add_to_vary(answer.headers(), "Accept-Encoding");
    const bool needed = choice.coding && !choice.as_it_is;
    if (answer.status() == 304 && choice.coding) {
        const response::representation* const whole = answer.stands_for();
        if (needed || whole == nullptr || is_worth_it(whole->length, whole->is_file))
            match_etag(answer.headers(), req.headers());
    }
    const bool worth = needed || is_worth_it(answer.length(), answer.is_file());
    return codable && worth ? choice : as_it_is;
}

task<response> coder::code(response answer, coding_choice how) const {
    if (answer.is_file())
        answer.stream_file();
    if (answer.is_whole()) {
        co_return co_await code_whole(std::move(answer), *how.coding);
    }
    std::optional<response> coded = code_stream(answer, *how.coding);
    if (coded)
        co_return std::move(*coded);
    if (!how.as_it_is)
        throw http_error(503, "the server has no room for what it would take to code this");
    co_return std::move(answer);
}

// --- Whole contents ---

std::string coder::encode_here(std::string_view content, format to) const {
    const pooled_encoder with(local_->encoders, how(to));
    (*with).reset(content.size());
    return encode_whole(*with, content);
}

/// On a thread of blocking().
std::string coder::encode_apart(std::string_view content, format to) const {
    std::unique_ptr<coding::encoder> with;
    {
        const std::lock_guard lock(apart_lock_);
        with = apart_.take(how(to));
    }
    with->reset(content.size());
    std::string coded = encode_whole(*with, content);
    const std::lock_guard lock(apart_lock_);
    apart_.give_back(std::move(with));
    return coded;
}

task<response> coder::code_whole(response answer, format to) const {
    const std::string owned = answer.take_owned_body();
    const bool literal = answer.is_fixed();
    const std::string_view content = owned.empty() ? answer.body() : std::string_view(owned);
    std::string coded;
    const std::string* const known = literal ? local_->literals.find(content, to) : nullptr;
    if (known != nullptr) {
        coded = *known;
    } else if (content.size() >= options_.blocking_bytes) {
        auto work = [&] { return encode_apart(content, to); };
        const semaphore::permit place = co_await places_.acquire();
        coded = co_await blocking(std::ref(work));
    } else {
        coded = encode_here(content, to);
    }
    if (literal && known == nullptr && !content.empty())
        local_->literals.keep(content, to, coded);
    mark_coded(answer.headers(), to);
    co_return with_content(std::move(coded), answer);
}

// --- Streams ---

task<void> coder::produce(const coder* self, format to, std::optional<std::uint64_t> length,
                          body_producer* producer, body_writer* out) {
    const pooled_encoder with(self->local_->encoders, self->how(to));
    (*with).reset(length);
    coding_writer writer(*out, *with, length, self->options_.blocking_bytes, self->places_);
    co_await rota::detail::returned((*producer)(writer));
    co_await writer.end();
}

/// Nothing if there is no room for another encoder; then `answer` is as it was.
std::optional<response> coder::code_stream(response& answer, format to) const {
    auto room = std::make_unique<memory_budget::share>(&budget_);
    if (!room->reach(memory_[static_cast<std::size_t>(to)]))
        return std::nullopt;
    // The coder lives as long as the answer, and the room is taken as long.
    auto producer = [self = shared_from_this(), room = std::move(room), to,
                     length = answer.length(),
                     inner = std::move(answer.producer())](body_writer& out) mutable {
        return produce(self.get(), to, length, &inner, &out);
    };
    response made = response::stream(std::move(producer));
    mark_coded(answer.headers(), to);
    made.headers() = std::move(answer.headers());
    made.status(answer.status());
    if (answer.closes())
        made.close();
    return made;
}

} // namespace rota::http
