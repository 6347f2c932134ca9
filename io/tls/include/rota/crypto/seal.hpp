#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::crypto {

/// Texts that clients keep for the server and cannot change, nor, if they are sealed, read: the
/// content of cookies (rota/http/session_cookie.hpp), of links that are sent by mail, of tokens of
/// forms. Immutable; for any thread. A moved-from seal opens nothing, and throws std::logic_error
/// where it is to make something.
///
///     const crypto::seal seal({newest_key, key_before});
///     std::string text = seal.close("session", user, 24h);
///     std::optional<std::string> user = seal.open("session", text);
///
/// The result has only letters, digits, '-', '_' and '.', so it may stand in a cookie or a query.
/// It opens for the name that it was made for, until its time is over, with the key that made it;
/// else there is nothing, and no reason given. Comparisons take constant time.
///
/// To rotate keys, the new one is put in front of the list, the old one stays after it until all
/// that it made is over. Which key opens is found by trying, so a list is short.
class seal {
public:
    using clock = std::chrono::system_clock;
    static constexpr std::size_t key_bytes_min = 32;
    static constexpr std::size_t keys_max = 16;

    /// Takes the newest key first: it makes, all of them open. Each is of 32 random bytes or more
    /// (as random_bytes() gives them; not a password). Throws std::invalid_argument for no keys,
    /// more than 16, or one that is shorter.
    explicit seal(std::vector<std::string> keys);
    /// Overwrites the keys.
    ~seal();
    seal(seal&&) noexcept = default;
    seal& operator=(seal&&) noexcept = default;
    seal(const seal&) = delete;
    seal& operator=(const seal&) = delete;

    /// Encrypts (AES-256-GCM, with a key made for each text by HKDF from a random salt): 54 bytes
    /// and a third of the text longer. `name` says what it is for and is not in it. Lasts for
    /// `age`, at least a second; an age without end is not offered, since a stolen text would be
    /// good for as long.
    [[nodiscard]] std::string close(std::string_view name, std::string_view text,
                                    std::chrono::seconds age,
                                    clock::time_point now = clock::now()) const;
    /// Returns the text; nothing for what close() did not make so, or whose time is over.
    [[nodiscard]] std::optional<std::string> open(std::string_view name, std::string_view closed,
                                                  clock::time_point now = clock::now()) const;

    /// Does the same, but only signs (HMAC with SHA-256): the client can read it.
    [[nodiscard]] std::string sign(std::string_view name, std::string_view text,
                                   std::chrono::seconds age,
                                   clock::time_point now = clock::now()) const;
    [[nodiscard]] std::optional<std::string> verify(std::string_view name,
                                                    std::string_view signed_text,
                                                    clock::time_point now = clock::now()) const;

private:
    std::vector<std::string> closing_; // made of the keys, so that neither says more of them
    std::vector<std::string> signing_;
};

} // namespace rota::crypto
