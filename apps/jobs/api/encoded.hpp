#pragma once

#include <string_view>

#include <rota/http/request.hpp>

namespace jobs {

/// Whether the request says that its content is in another coding than identity.
[[nodiscard]] bool is_encoded(const rota::http::request& req);

/// What a client is told that sends it where it is not decoded: 415, Accept-Encoding: identity.
inline constexpr std::string_view encoded_refusal = "the content must not be encoded or compressed";

} // namespace jobs
