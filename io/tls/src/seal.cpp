#include <rota/crypto/seal.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include <rota/crypto/aead.hpp>
#include <rota/crypto/base64url.hpp>
#include <rota/crypto/digest.hpp>
#include <rota/crypto/secret.hpp>

namespace rota::crypto {
namespace {

constexpr std::size_t salt_bytes = 16;
constexpr std::size_t time_bytes = 8;

/// What is made with.
const std::string& newest(const std::vector<std::string>& keys) {
    if (keys.empty())
        throw std::logic_error("a seal that has been moved from makes nothing");
    return keys.front();
}

std::string number(std::uint64_t value) {
    std::string bytes(time_bytes, '\0');
    for (std::size_t i = 0; i < time_bytes; ++i)
        bytes[i] = static_cast<char>(value >> (8 * (time_bytes - 1 - i)));
    return bytes;
}

std::uint64_t number_of(std::string_view bytes) noexcept {
    std::uint64_t value = 0;
    for (const char byte : bytes)
        value = value << 8 | static_cast<unsigned char>(byte);
    return value;
}

std::uint64_t since_1970(std::chrono::seconds time) noexcept {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
}

std::uint64_t seconds_of(seal::clock::time_point time) noexcept {
    return since_1970(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()));
}

/// When what is made now is over: not before its age, so up to a second later.
std::uint64_t end_of(seal::clock::time_point now, std::chrono::seconds age) {
    if (age < std::chrono::seconds(1))
        throw std::invalid_argument("what is sealed lasts for a second at least");
    return since_1970(std::chrono::ceil<std::chrono::seconds>(now.time_since_epoch())) +
           static_cast<std::uint64_t>(age.count());
}

/// The key and the nonce of one text.
struct secrets {
    secrets(std::string_view key, std::string_view salt)
        : both(hkdf_sha256(key, salt, "text", aead_key_bytes + aead_nonce_bytes)) {}
    ~secrets() { wipe(both); }
    secrets(const secrets&) = delete;
    secrets& operator=(const secrets&) = delete;
    [[nodiscard]] std::string_view key() const noexcept {
        return std::string_view(both).substr(0, aead_key_bytes);
    }
    [[nodiscard]] std::string_view nonce() const noexcept {
        return std::string_view(both).substr(aead_key_bytes);
    }
    std::string both;
};

/// Of all that a signature is for; no two of them are the same bytes.
digest signature(std::string_view key, std::string_view name, std::string_view body) {
    return hmac_sha256(key, number(name.size()).append(name).append(body));
}

} // namespace

seal::seal(std::vector<std::string> keys) {
    const bool right = !keys.empty() && keys.size() <= keys_max &&
                       std::ranges::all_of(keys, [](const std::string& key) {
                           return key.size() >= key_bytes_min;
                       });
    if (right) {
        for (const std::string& key : keys) {
            closing_.push_back(hkdf_sha256(key, "", "rota seal: close", 32));
            signing_.push_back(hkdf_sha256(key, "", "rota seal: sign", 32));
        }
    }
    std::ranges::for_each(keys, wipe);
    if (!right)
        throw std::invalid_argument("a seal has 1 to 16 keys of 32 bytes or more");
}

seal::~seal() {
    std::ranges::for_each(closing_, wipe);
    std::ranges::for_each(signing_, wipe);
}

std::string seal::close(std::string_view name, std::string_view text, std::chrono::seconds age,
                        clock::time_point now) const {
    std::string plain = number(end_of(now, age)).append(text);
    std::string whole = random_bytes(salt_bytes);
    const secrets of(newest(closing_), whole);
    whole += aead_seal(of.key(), of.nonce(), plain, name);
    wipe(plain);
    return to_base64url(whole);
}

std::optional<std::string> seal::open(std::string_view name, std::string_view closed,
                                      clock::time_point now) const {
    const std::optional<std::string> whole = from_base64url(closed);
    if (!whole || whole->size() < salt_bytes + time_bytes + aead_tag_bytes)
        return std::nullopt;
    const std::string_view salt = std::string_view(*whole).substr(0, salt_bytes);
    const std::string_view sealed = std::string_view(*whole).substr(salt_bytes);
    for (const std::string& key : closing_) {
        const secrets of(key, salt);
        std::optional<std::string> plain = aead_open(of.key(), of.nonce(), sealed, name);
        if (!plain)
            continue;
        if (number_of(std::string_view(*plain).substr(0, time_bytes)) <= seconds_of(now))
            return std::nullopt;
        return plain->erase(0, time_bytes);
    }
    return std::nullopt;
}

std::string seal::sign(std::string_view name, std::string_view text, std::chrono::seconds age,
                       clock::time_point now) const {
    const std::string body = number(end_of(now, age)).append(text);
    const digest by = signature(newest(signing_), name, body);
    return to_base64url(body) + '.' + to_base64url(view(by));
}

std::optional<std::string> seal::verify(std::string_view name, std::string_view signed_text,
                                        clock::time_point now) const {
    const std::size_t dot = std::min(signed_text.find('.'), signed_text.size());
    std::optional<std::string> body = from_base64url(signed_text.substr(0, dot));
    const std::optional<std::string> by =
        from_base64url(signed_text.substr(std::min(dot + 1, signed_text.size())));
    if (!body || !by || body->size() < time_bytes)
        return std::nullopt;
    for (const std::string& key : signing_) {
        if (!equal_in_constant_time(view(signature(key, name, *body)), *by))
            continue;
        if (number_of(std::string_view(*body).substr(0, time_bytes)) <= seconds_of(now))
            return std::nullopt;
        return body->erase(0, time_bytes);
    }
    return std::nullopt;
}

} // namespace rota::crypto
