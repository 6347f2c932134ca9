#pragma once

#include <rota/io/tls/options.hpp>

#include "certificate.hpp"

namespace rota::io::tls {

/// Puts the response of `from.ocsp` beside its certificate, the first of the chain. One that cannot
/// be stapled is in the log: it is no more than a help, so what is wrong with it holds nothing up.
/// Throws std::system_error as read_file() does.
void add_staple(key_pair& to, const certificate_files& from);

} // namespace rota::io::tls
