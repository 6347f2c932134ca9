#include "complaints.hpp"

#include <algorithm>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <utility>

#include <rota/http/guard.hpp>
#include <rota/io/endpoint.hpp>
#include <rota/io/network.hpp>

#include "option_files.hpp"

namespace rota_http {
namespace {

/// What is wrong with options that belong together, or nothing.
std::string complaint_of_together(const settings& all) {
    const tls_settings& s = all.tls;
    if (s.certificates.size() != s.keys.size())
        return "each --tls-cert needs its --tls-key";
    if (s.port && s.certificates.empty())
        return "--tls-port needs --tls-cert and --tls-key";
    if (all.access_log && all.log_level > spdlog::level::info)
        return "--access-log is at level info, which --log-level leaves out";
    return complaint_of_files(all);
}

/// What those who use a value would not have, or nothing.
std::string complaint_of_value(const settings& all) {
    using rota::io::endpoint;
    const std::pair<const char*, std::function<void()>> uses[] = {
        {"--host", [&] { (void)endpoint::ip(all.host, all.port); }},
        {"--unix",
         [&] {
             if (!all.unix_path.empty())
                 (void)endpoint::unix_path(all.unix_path);
         }},
        {"--allowed-host", [&] { (void)rota::http::guard({.allowed_hosts = all.allowed_hosts}); }},
        {"--trusted-proxy", [&] { (void)rota::io::network_list(all.proxies.trusted); }},
    };
    for (const auto& [option, use] : uses) {
        try {
            use();
        } catch (const std::invalid_argument& e) {
            return std::string(option) + ": " + e.what();
        }
    }
    return "";
}

} // namespace

std::string complaint_of(const settings& all) {
    const std::string wrong = complaint_of_together(all);
    return wrong.empty() ? complaint_of_value(all) : wrong;
}

std::string in_our_words(std::string message) {
    // What it says of an option that was given twice is none.
    if (const auto tail = message.find(": At Most 1 required"); tail != std::string::npos)
        message.replace(tail, std::string::npos, " is given more than once: once is enough");
    return message;
}

int refuse(std::string why, std::ostream& err) {
    const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
    std::ranges::replace_if(why, is_control, ' ');
    err << "rota-http: " << why << " (see --help)\n";
    return 2;
}

} // namespace rota_http
