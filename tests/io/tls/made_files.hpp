#pragma once

// Certificates and keys, made once for each run of the program, by openssl(1).

#include <string>

#include <rota/io/tls/options.hpp>

namespace rota::io::tls::test {

/// The path of a file of that name, as the script in made_files.cpp makes them.
[[nodiscard]] std::string made(const std::string& name);
/// NAME.pem and NAME.key
[[nodiscard]] certificate_files made_pair(const std::string& name);
/// A file with that content.
[[nodiscard]] std::string written(const std::string& name, const std::string& content);

/// For b, a and *.w.test, in this order; an authority that has signed all of them.
[[nodiscard]] server_options sample_server();
/// Trusts that authority alone.
[[nodiscard]] client_options sample_client();

} // namespace rota::io::tls::test
