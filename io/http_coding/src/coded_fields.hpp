#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <rota/coding/format.hpp>
#include <rota/http/headers.hpp>
#include <rota/http/request_head.hpp>

namespace rota::http {

/// The media types of coding_options::types.
class type_list {
public:
    /// Throws std::invalid_argument for what is none.
    explicit type_list(std::vector<std::string> patterns);
    /// Whether this value of a Content-Type is one of them.
    [[nodiscard]] bool contains(std::string_view content_type) const noexcept;

private:
    std::vector<std::string> patterns_;
};

/// Whether a proxy, or we, may not touch the content (RFC 9111 section 5.2.2.6).
[[nodiscard]] bool must_stay_whole(const headers& of) noexcept;
/// The same, or it is coded, or a part.
[[nodiscard]] bool must_stay(const headers& of) noexcept;

/// Makes the fields those of the same content, coded.
void mark_coded(headers& of, coding::format how);

/// Makes the ETag of a 304 the one that mark_coded() would have made, unless the client has named
/// the strong one.
void match_etag(headers& of, header_list asked);

} // namespace rota::http
