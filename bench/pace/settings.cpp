#include "settings.hpp"

#include <regex>

#include <CLI/CLI.hpp>

namespace pace {
namespace {

constexpr const char* description =
    "Sends GET requests at a constant rate, whether answers come or not, and tells how long they\n"
    "took from when each was due. Prints one line of JSON.";

constexpr unsigned connections_max = 50'000;
constexpr double rate_max = 1e6;

bool is_path(const std::string& text) { return std::regex_match(text, std::regex("/[!-~]*")); }

/// Takes http://HOST:PORT/PATH apart; false if it is something else.
bool parse_url(const std::string& text, settings& into) {
    std::smatch parts;
    if (!std::regex_match(text, parts,
                          std::regex(R"(http://([\w.-]+|\[[\da-fA-F:.]+\])(:\d{1,5})?(/[!-~]*)?)")))
        return false;
    into.host = parts[1];
    if (into.host.front() == '[')
        into.host = into.host.substr(1, into.host.size() - 2);
    into.port = parts[2].matched ? parts[2].str().substr(1) : "80";
    into.light.path = parts[3].matched ? parts[3].str() : "/";
    return true;
}

CLI::Option* add_connections(CLI::App& app, const std::string& name, unsigned& into) {
    return app.add_option(name, into, "Connections")->check(CLI::Range(1U, connections_max));
}

/// What a range does not refuse: nan and inf.
std::string complain_of_number(const std::string& text) {
    const bool plain = std::regex_match(text, std::regex(R"(-?\d+(\.\d+)?)"));
    return plain ? std::string() : text + ": not a number";
}

CLI::Option* add_number(CLI::App& app, const std::string& name, double& into,
                        const std::string& help, double least, double most) {
    return app.add_option(name, into, help)
        ->check(complain_of_number)
        ->check(CLI::Range(least, most));
}

CLI::Option* add_rate(CLI::App& app, const std::string& name, double& into) {
    return add_number(app, name, into, "Requests a second, over all connections", 0.1, rate_max);
}

} // namespace

std::optional<int> read_command_line(int argc, const char* const* argv, settings& into) {
    CLI::App app(description, "rota-pace");
    std::string url;
    stream_settings heavy;
    app.add_option("--url", url, "What to ask for: http://HOST:PORT/PATH")->required();
    add_connections(app, "--connections", into.light.connections)->required();
    add_rate(app, "--rate", into.light.rate)->required();
    add_number(app, "--seconds", into.seconds, "How long to measure", 0.1, 3600)
        ->capture_default_str();
    add_number(app, "--warmup", into.warmup, "How long to send before that", 0, 600)
        ->capture_default_str();
    auto* const path = app.add_option("--heavy", heavy.path, "A page to ask for besides");
    auto* const connections = add_connections(app, "--heavy-connections", heavy.connections);
    auto* const rate = add_rate(app, "--heavy-rate", heavy.rate);
    path->needs(connections, rate);
    connections->needs(path);
    rate->needs(path);
    try {
        app.parse(argc, argv);
        if (!parse_url(url, into))
            throw CLI::ValidationError("--url", url + ": not of the form http://HOST:PORT/PATH");
        if (path->count() != 0) {
            if (!is_path(heavy.path))
                throw CLI::ValidationError("--heavy", heavy.path + ": not a path");
            into.heavy = heavy;
        }
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return std::nullopt;
}

} // namespace pace
