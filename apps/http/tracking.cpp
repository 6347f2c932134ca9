#include "tracking.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <rota/http/request_id.hpp>
#include <rota/http/tracing.hpp>
#include <rota/io/log.hpp>

namespace rota_http {
namespace {

/// For a log in which what a client says stands in quotes.
std::string quotable(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\')
            result.append(1, '\\').append(1, c);
        else if (c >= ' ' && c < '\x7f')
            result += c;
        else
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return result;
}

void log_access(const rota::http::access_entry& entry) {
    rota::log::info("{} \"{} {}\" {} {} bytes {} us {}", entry.peer, entry.method,
                    quotable(entry.target), entry.status, entry.bytes_sent, entry.took.count(),
                    entry.protocol);
}

} // namespace

std::shared_ptr<rota::http::access_log> open_access_log(const settings& from) {
    if (from.tracking.log_file.empty())
        return nullptr;
    return std::make_shared<rota::http::access_log>(rota::http::access_log_options{
        .path = from.tracking.log_file,
        .format = from.tracking.log_format,
        .report = [](std::string_view line) { rota::log::warn("{}", line); }});
}

void log_requests(rota::http::session_hooks& to, const settings& from,
                  const std::shared_ptr<rota::http::access_log>& file) {
    if (!file) {
        if (from.access_log)
            to.on_access = log_access;
        return;
    }
    to.on_access = rota::http::access_log::hook(file);
    if (from.access_log) {
        to.on_access = [file](const rota::http::access_entry& entry) {
            file->write(entry);
            log_access(entry);
        };
    }
}

void track_requests(rota::http::router& to, const settings& from) {
    if (from.tracking.request_ids)
        to.use(rota::http::request_id());
    if (from.tracking.traces)
        to.use(rota::http::tracing());
}

} // namespace rota_http
