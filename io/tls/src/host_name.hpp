#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rota::io::tls {

/// In lower case, without a dot at the end.
[[nodiscard]] std::string lower_host(std::string_view name);
/// The host of "host", "host:port", "[v6]:port", in lower case, without brackets.
[[nodiscard]] std::string host_of(std::string_view authority);
/// Whether it is an IPv4 or IPv6 address.
[[nodiscard]] bool is_address(const std::string& host) noexcept;

/// The host of what host_of() takes, or of an address as it is. Throws std::invalid_argument for
/// what is neither a name nor an address: no certificate is for that.
[[nodiscard]] std::string host_to_verify(const std::string& authority);

/// Which certificate a name belongs to. "*.example.org" stands for one label more than what is
/// behind it (RFC 6125 section 6.4.3).
class name_index {
public:
    /// The first that claims a name has it; false for another.
    bool add(std::string_view name, std::size_t owner);
    /// `name` is in lower case. An exact name before a wildcard.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

private:
    std::unordered_map<std::string, std::size_t> exact_;
    std::unordered_map<std::string, std::size_t> wildcard_; // by what is behind the star
};

/// Whether one of `names`, as a certificate has them, stands for `host`, in lower case.
[[nodiscard]] bool covers(const std::vector<std::string>& names, std::string_view host);

} // namespace rota::io::tls
