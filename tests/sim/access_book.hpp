#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <rota/http/hooks.hpp>

namespace sim {

/// What a server says of its answers in its access log, against what its clients have seen of them.
class access_book {
public:
    /// The server's word.
    void write(const rota::http::access_entry& e);
    /// A client's, that it has asked for something, perhaps in vain.
    void asked(const std::string& target) { ++all_[target].asked; }
    /// A client's, that such an answer has come, whole.
    void seen(const std::string& target, int status, std::size_t bytes) {
        ++all_[target].seen[{status, bytes}];
    }
    /// At the end: no request is there twice, and each answer that has come, with all its bytes.
    void check() const;

private:
    using kind = std::pair<int, std::uint64_t>; // status, bytes
    struct of_target {
        std::size_t asked = 0;
        std::size_t logged = 0;
        std::map<kind, std::size_t> seen{};
        std::map<kind, std::size_t> said{};
    };
    std::map<std::string, of_target> all_;
};

} // namespace sim
