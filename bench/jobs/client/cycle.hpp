#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace jobload {

/// What is spoken, and what a cycle is made of there.
enum class dialect : std::uint8_t {
    http,   ///< Rota's job queue: POST .../jobs, .../take, .../ack
    list,   ///< Redis: LPUSH, LMOVE into a list of what is in progress, LREM
    stream, ///< Redis: XADD, XREADGROUP, XACK and XDEL at once
};

/// How far the answer to a request has come.
enum class progress : std::uint8_t { more, step, whole };

/// One client's way to add a job, take one, and acknowledge it, again and again: three requests,
/// each sent when the answer to the one before has come. Not thread-safe.
class cycle {
public:
    cycle() = default;
    cycle(const cycle&) = delete;
    cycle& operator=(const cycle&) = delete;
    virtual ~cycle() = default;

    /// The next request; valid until the next call.
    virtual std::string_view request() = 0;
    /// Looks at all that has arrived since the request. more: there is more to come; step: that was
    /// the answer; whole: and it was the last of a cycle. Throws std::runtime_error if it is not
    /// the answer of a queue that did what it was asked for.
    virtual progress answer(std::string_view arrived) = 0;
};

/// `client` has to be a word that no other client, of this run or another, has: keys begin with
/// it. `queue` is a word, too; a stream has to have a group "workers".
[[nodiscard]] std::unique_ptr<cycle> make_cycle(dialect kind, std::string queue, std::string client,
                                                std::size_t payload_bytes);

} // namespace jobload
