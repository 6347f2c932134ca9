#pragma once

#include <cstdint>

#include <rota/io/tls/options.hpp>

namespace sim {

/// For a.test, signed by itself; made once. Its key is of Ed25519, whose signatures have one size:
/// how many bytes go over the network is up to the seed alone.
[[nodiscard]] const rota::io::tls::certificate_files& tls_pair();

/// From here on, what OpenSSL takes for random comes from `seed`.
void draw_tls_from(std::uint64_t seed);

} // namespace sim
