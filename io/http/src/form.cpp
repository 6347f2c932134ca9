#include <rota/http/form.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <rota/blocking.hpp>
#include <rota/http/error.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/media_type.hpp>

#include "form_text.hpp"

namespace rota::http {
namespace {

/// So much goes to a file at once.
constexpr std::size_t save_bytes = 262'144;
constexpr std::string_view urlencoded = "application/x-www-form-urlencoded";
constexpr std::string_view multipart = "multipart/form-data";

using parser = std::variant<urlencoded_parser, multipart_parser>;

/// The type, where its parameters are not to be read.
bool names(std::string_view content_type, std::string_view essence) noexcept {
    return fields::iequals(fields::next_part(content_type, ';'), essence);
}

parser parser_of(const request& from, const form_limits& most) {
    const auto is_type = [](const header_field& field) {
        return fields::iequals(field.name, "Content-Type");
    };
    if (std::ranges::count_if(from.headers(), is_type) > 1)
        throw http_error(400, "there is more than one Content-Type");
    const std::optional<std::string_view> text = from.header("Content-Type");
    const std::optional<media_type> type = text ? media_type::parse(*text) : std::nullopt;
    if (!type && text && (names(*text, urlencoded) || names(*text, multipart)))
        throw http_error(400, "the Content-Type is malformed");
    if (type && type->is(urlencoded))
        return urlencoded_parser({most.parts_max, most.head_bytes_max});
    if (!type || !type->is(multipart)) {
        throw http_error(415, "the content of a form is application/x-www-form-urlencoded or "
                              "multipart/form-data");
    }
    const std::optional<std::string_view> boundary = type->parameter("boundary");
    if (!boundary)
        throw http_error(400, "multipart/form-data without its boundary parameter");
    if (!multipart_parser::valid_boundary(*boundary)) {
        throw http_error(400, "a boundary has 1 to 70 letters, digits and characters of "
                              "'()+_,-./:=? and spaces, the last of them not a space");
    }
    return multipart_parser(*boundary, {most.parts_max, most.head_bytes_max});
}

/// Writes all of it. Returns 0, or what went wrong.
int write_all(int descriptor, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno != EINTR)
            return errno;
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return 0;
}

/// The charset of a field that its part names, or nothing.
std::string charset_of(const form_part& part) {
    const std::optional<media_type> type = media_type::parse(part.type);
    return type ? std::string(type->parameter("charset").value_or("")) : std::string();
}

} // namespace

form_reader::form_reader(request& from, form_limits most)
    : body_(&from.body()), limits_(most), parser_(parser_of(from, most)) {
    body_->limit(most.content_bytes_max);
}

std::string_view form_reader::data() const noexcept {
    return std::visit([](const auto& of) { return of.data(); }, parser_);
}

task<form_step> form_reader::step() {
    for (;;) {
        const auto advance = [&](auto& of) { return body_ended_ ? of.finish() : of.next(input_); };
        const form_step at = std::visit(advance, parser_);
        if (at == form_step::failed) {
            const form_failure why =
                std::visit([](const auto& of) { return of.failure(); }, parser_);
            throw http_error(why.status, why.reason);
        }
        if (at == form_step::end && !body_ended_) {
            input_ = {}; // what follows the form is read, so that the connection can go on
        } else if (at != form_step::more) {
            co_return at;
        }
        input_ = co_await body_->read();
        body_ended_ = input_.empty();
    }
}

task<std::optional<form_part>> form_reader::next() {
    form_step at = form_step::more;
    do {
        at = co_await step();
    } while (at != form_step::part && at != form_step::end);
    in_part_ = at == form_step::part;
    if (!in_part_)
        co_return std::nullopt;
    if (const auto* const of = std::get_if<multipart_parser>(&parser_))
        co_return form_part::parse(of->head(), limits_.percent_filenames);
    form_part part;
    part.name = std::get<urlencoded_parser>(parser_).name();
    co_return std::move(part);
}

task<std::string_view> form_reader::read() {
    if (!in_part_)
        co_return std::string_view();
    const form_step at = co_await step();
    in_part_ = at == form_step::data;
    co_return in_part_ ? data() : std::string_view();
}

task<std::string> form_reader::text(std::size_t bytes_max) {
    std::string whole;
    for (;;) {
        const std::string_view piece = co_await read();
        if (piece.empty())
            co_return whole;
        if (piece.size() > bytes_max - whole.size())
            throw http_error(413, "a part of the form is too long");
        kept_bytes_ += piece.size();
        body_->keep(kept_bytes_);
        whole.append(piece);
    }
}

task<std::uint64_t> form_reader::save(int descriptor) {
    std::uint64_t size = 0;
    std::string gathered;
    bool ended = false;
    while (!ended) {
        const std::string_view piece = co_await read();
        ended = piece.empty();
        gathered.append(piece);
        if (gathered.empty() || (!ended && gathered.size() < save_bytes))
            continue;
        const auto write = [&] { return write_all(descriptor, gathered); };
        const int error = co_await blocking(std::ref(write));
        if (error != 0)
            throw std::system_error(error, std::system_category(), "cannot save a file of a form");
        size += gathered.size();
        gathered.clear();
    }
    co_return size;
}

// --- All of it ---

const std::string* form::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(fields, name, &field::name);
    return found != fields.end() ? &found->value : nullptr;
}

const form::file* form::find_file(std::string_view name) const noexcept {
    const auto found = std::ranges::find(files, name, &file::name);
    return found != files.end() ? &*found : nullptr;
}

namespace {

/// What is kept of a form.
class room {
public:
    room(const form_limits& most, body_reader& of)
        : left_(most.kept_bytes_max), memory_(most.memory), of_(of) {}
    void take(std::size_t bytes) {
        if (bytes > left_)
            throw http_error(413, "the form is too long");
        left_ -= bytes;
        kept_ += bytes;
        if (memory_ == nullptr) {
            of_.keep(kept_);
        } else if (kept_ - told_ >= told_bytes) {
            memory_->reach(kept_);
            told_ = kept_;
        }
    }

private:
    static constexpr std::uint64_t told_bytes = 65'536;
    std::uint64_t left_;
    std::uint64_t kept_ = 0;
    std::uint64_t told_ = 0;
    form_memory* memory_;
    body_reader& of_;
};

/// Appends; where there is no room, makes a quarter more of it. A string makes twice as much, also
/// if it is asked for less, and of these there may be many.
void append(std::string& to, std::string_view piece) {
    if (to.capacity() - to.size() < piece.size()) {
        std::string larger;
        larger.reserve(to.size() + std::max(piece.size(), to.size() / 4));
        larger.append(to);
        to.swap(larger);
    }
    to.append(piece);
}

/// What is left of a part.
task<std::string> keep(form_reader* parts, room* left, std::uint64_t bytes_max) {
    std::string whole;
    for (;;) {
        const std::string_view piece = co_await parts->read();
        if (piece.empty())
            break;
        if (piece.size() > bytes_max - whole.size())
            throw http_error(413, "a field of the form is too long");
        left->take(piece.size());
        append(whole, piece);
    }
    co_return whole;
}

/// Makes UTF-8 of the fields that are said to be something else; `charsets` has what each of them
/// says of itself.
void to_utf8(form& all, const std::vector<std::string>& charsets) {
    const std::string* const named = all.find("_charset_");
    const std::string usual = named != nullptr ? *named : std::string();
    for (std::size_t i = 0; i < charsets.size(); ++i) {
        std::string& value = all.fields[i].value;
        if (is_windows_1252(charsets[i].empty() ? usual : charsets[i]))
            value = utf8_of_windows_1252(value);
    }
}

} // namespace

task<form> form::read(request* from, form_limits most, file_taker on_file) {
    form all;
    form_reader parts(*from, most);
    std::vector<std::string> charsets;
    room left(most, from->body());
    for (;;) {
        std::optional<form_part> part = co_await parts.next();
        if (!part)
            break;
        left.take(part->name.size() + part->filename.value_or("").size() + part->type.size());
        const bool is_file = part->is_file();
        if (is_file && on_file) {
            co_await on_file(*part, parts);
            continue;
        }
        const std::uint64_t bytes_max = is_file ? most.kept_bytes_max : most.value_bytes_max;
        std::string content = co_await keep(&parts, &left, bytes_max);
        if (is_file) {
            file& added = all.files.emplace_back();
            added.name = std::move(part->name);
            added.filename = *std::move(part->filename);
            added.type = std::move(part->type);
            added.content = std::move(content);
        } else {
            charsets.push_back(charset_of(*part));
            field& added = all.fields.emplace_back();
            added.name = std::move(part->name);
            added.value = std::move(content);
        }
    }
    if (parts.is_multipart()) // the other form is UTF-8: WHATWG URL
        to_utf8(all, charsets);
    co_return std::move(all);
}

} // namespace rota::http
