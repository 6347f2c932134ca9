#pragma once

#include <memory>
#include <string>
#include <vector>

#include <rota/io/tls/options.hpp>

namespace rota::io::tls {

/// What TLS connections of one side have in common: certificates, keys, roots, protocols. The
/// connections keep what they use of it, so it may be destroyed, or reloaded, before they are. Any
/// thread.
class context {
public:
    /// Reads the files. Throws std::runtime_error, with the name of a file and what is wrong with
    /// it, and std::invalid_argument for options that make no sense.
    explicit context(server_options options);
    explicit context(client_options options);
    ~context();
    context(context&&) noexcept;
    context& operator=(context&&) noexcept;

    /// Reads the files again, for the connections to come; tickets stay good, unless the client CA
    /// has changed. Sessions that the server keeps itself, for clients of TLS 1.2 without tickets,
    /// are forgotten. Throws as the constructor does; then nothing has changed. Blocks for as long
    /// as files do.
    void reload();
    /// Does reload(), if a file has been written to or replaced since they were read last; returns
    /// true if they have been read. A file that is broken throws once. What cannot be read for want
    /// of something else (descriptors, memory) is tried by each call, and throws when the reason is
    /// another than before. For a program that looks now and then.
    bool reload_changed();

    /// Returns the names that its certificates are for, in the order of the certificates.
    [[nodiscard]] std::vector<std::string> names() const;

private:
    friend class stream;
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace rota::io::tls
