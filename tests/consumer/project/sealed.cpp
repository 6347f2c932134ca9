#include <cstdio>
#include <string>

#include <rota/crypto/digest.hpp>
#include <rota/crypto/seal.hpp>
#include <rota/crypto/secret.hpp>

int main() {
    const rota::crypto::seal seal({rota::crypto::random_bytes(32)});
    const std::string closed = seal.close("a", "abc", std::chrono::seconds(60));
    const std::string text = seal.open("a", closed).value_or("nothing");
    std::puts(rota::crypto::to_hex(rota::crypto::sha256_of(text)).c_str());
}
