#include "forms.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/crypto/digest.hpp>
#include <rota/http/error.hpp>
#include <rota/http/form.hpp>
#include <rota/http/response.hpp>
#include <rota/json/writer.hpp>

#include "echo_memory.hpp"

namespace rota_http {
namespace {

using rota::task;
using rota::http::body_writer;
using rota::http::form;
using rota::http::form_part;
using rota::http::form_reader;
using rota::http::http_error;
using rota::http::request;
using rota::http::response;

/// What is longer is written while it is sent: escaped, a value may be six times as long.
constexpr std::size_t whole_bytes_max = 65'536;
/// Kept of the fields of all requests together.
constexpr std::size_t forms_bytes_max = 134'217'728;

struct file {
    std::string name;
    std::string filename;
    std::string type;
    std::uint64_t size = 0;
    rota::crypto::digest digest{};
};

/// What one request keeps of forms_bytes_max.
class share final : public rota::http::form_memory {
public:
    explicit share(std::shared_ptr<echo_memory> from) : from_(std::move(from)), share_(*from_) {}
    void reach(std::uint64_t bytes) override {
        if (!share_.reach(static_cast<std::size_t>(bytes)))
            throw http_error(503, "the memory for forms is used up at the moment");
    }

private:
    std::shared_ptr<echo_memory> from_;
    echo_memory::share share_;
};

struct listing {
    explicit listing(std::shared_ptr<echo_memory> from) : kept(std::move(from)) {}
    share kept;
    form content;
    std::vector<file> files;
};

task<void> look_at(const form_part* part, form_reader* content, std::vector<file>* files) {
    file found{part->name, *part->filename, part->type};
    rota::crypto::sha256 digest;
    for (;;) {
        const std::string_view piece = co_await content->read();
        if (piece.empty())
            break;
        digest.update(piece);
        found.size += piece.size();
    }
    found.digest = digest.finish();
    files->push_back(std::move(found));
}

void write_field(rota::json::writer& out, const form::field& field) {
    out.begin_object().member("name", field.name).member("value", field.value).end_object();
}

void write_files(rota::json::writer& out, const std::vector<file>& files) {
    out.key("files").begin_array();
    for (const file& each : files) {
        out.begin_object()
            .member("name", each.name)
            .member("filename", each.filename)
            .member("type", each.type)
            .member("size", each.size)
            .member("sha256", rota::crypto::to_hex(each.digest))
            .end_object();
    }
    out.end_array();
}

/// One field after the other, so that none but it is there twice.
task<void> write(std::shared_ptr<const listing> from, body_writer* to) {
    std::string text;
    rota::json::writer out(text);
    out.begin_object().key("fields").begin_array();
    for (const form::field& each : from->content.fields) {
        write_field(out, each);
        if (text.size() >= whole_bytes_max)
            co_await to->write_owned(std::exchange(text, {}));
    }
    out.end_array();
    write_files(out, from->files);
    out.end_object();
    co_await to->write_owned(std::move(text));
}

std::size_t bytes_of(const listing& all) noexcept {
    std::size_t bytes = 0;
    for (const form::field& each : all.content.fields)
        bytes += each.name.size() + each.value.size();
    for (const file& each : all.files)
        bytes += each.name.size() + each.filename.size() + each.type.size();
    return bytes;
}

response answer_of(std::shared_ptr<const listing> all) {
    if (bytes_of(*all) > whole_bytes_max) {
        return response::stream([all = std::move(all)](body_writer& to) { return write(all, &to); },
                                "application/json");
    }
    std::string text;
    rota::json::writer out(text);
    out.begin_object().key("fields").begin_array();
    for (const form::field& each : all->content.fields)
        write_field(out, each);
    out.end_array();
    write_files(out, all->files);
    out.end_object();
    return response::json(std::move(text));
}

/// An answer of its own for what is not only about this form.
response refusal(const http_error& why) {
    response answer = response::text(std::string(why.what()) + '\n').status(why.status());
    if (why.status() == 503) {
        answer.header("Retry-After", "1").close();
    } else { // RFC 9110 section 15.5.16
        answer.header("Accept", "application/x-www-form-urlencoded, multipart/form-data");
    }
    return answer;
}

task<response> tell(request* req, rota::http::form_limits limits,
                    std::shared_ptr<echo_memory> memory) {
    const auto all = std::make_shared<listing>(std::move(memory));
    limits.memory = &all->kept;
    std::vector<file>* const files = &all->files;
    const auto look = [files](const form_part& part, form_reader& content) {
        return look_at(&part, &content, files);
    };
    try {
        all->content = co_await req->form(limits, look);
    } catch (const http_error& e) {
        if (e.status() != 415 && e.status() != 503)
            throw;
        co_return refusal(e);
    }
    co_return answer_of(all);
}

} // namespace

void add_forms(rota::http::router& to, std::uint64_t bytes_max, std::function<void()> return_memory,
               const codings& coded) {
    rota::http::form_limits limits;
    limits.content_bytes_max = bytes_max;
    const auto memory = std::make_shared<echo_memory>(forms_bytes_max, std::move(return_memory));
    to.post("/form",
            coded.requests([limits, memory](request& req) { return tell(&req, limits, memory); }));
}

} // namespace rota_http
