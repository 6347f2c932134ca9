#include <rota/http/detail/trailer_rules.hpp>

#include <algorithm>
#include <array>

#include <rota/http/fields.hpp>

namespace rota::http {

bool may_be_trailer(std::string_view name) noexcept {
    static constexpr std::array<std::string_view, 19> others{"authorization",
                                                             "cache-control",
                                                             "connection",
                                                             "content-encoding",
                                                             "content-length",
                                                             "content-range",
                                                             "content-type",
                                                             "cookie",
                                                             "expect",
                                                             "host",
                                                             "keep-alive",
                                                             "max-forwards",
                                                             "proxy-authorization",
                                                             "proxy-connection",
                                                             "range",
                                                             "te",
                                                             "trailer",
                                                             "transfer-encoding",
                                                             "upgrade"};
    return std::none_of(others.begin(), others.end(),
                        [name](std::string_view other) { return fields::iequals(name, other); });
}

} // namespace rota::http
