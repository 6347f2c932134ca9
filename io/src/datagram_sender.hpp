#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <rota/io/datagram_socket.hpp>
#include <rota/io/endpoint.hpp>

namespace rota::io {

/// Datagrams that wait to be sent, bounded, and the system call that sends them. The baton
/// holder's.
class datagram_sender {
public:
    /// The most of them, however short they are.
    static constexpr std::size_t datagrams_max = 128;

    explicit datagram_sender(std::size_t bytes_max);

    /// Copies it behind the others; without an address it is for the socket's peer. False if there
    /// is no room. One that is longer than any datagram has failed at once, and is true.
    bool add(const endpoint& to, std::string_view bytes) noexcept;
    /// Takes the last one back, which has not been sent.
    void take_back() noexcept;
    /// Sends what the socket takes at once: true if nothing is left.
    bool push(int fd) noexcept;
    [[nodiscard]] bool empty() const noexcept { return first_ == entries_.size(); }

    /// What has become of all since the last time, and forgets it.
    [[nodiscard]] send_report take_report() noexcept { return std::exchange(report_, {}); }
    /// What has not been reported yet, as it was before.
    void put_report_back(const send_report& before) noexcept { report_ = before; }

    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
    [[nodiscard]] std::uint64_t failed() const noexcept { return failed_; }
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

private:
    struct entry {
        endpoint to;
        std::size_t size = 0;
    };
    class messages;

    [[nodiscard]] std::size_t run_from(std::size_t index) const noexcept;
    void make_room() noexcept;
    void note_sent(std::size_t count) noexcept;
    void note_failed(int error) noexcept;
    void drop_first() noexcept;
    [[nodiscard]] bool go_on_after(int error, std::size_t first_run) noexcept;

    const std::size_t bytes_max_;
    const std::unique_ptr<char[]> bytes_; // of all entries, one behind the other
    std::vector<entry> entries_;          // has room for all
    std::size_t first_ = 0;               // of the entries, those before it are gone
    std::size_t begin_ = 0;               // of the bytes, the same
    std::size_t end_ = 0;

    bool segments_ = true;       // the kernel takes rows apart, as far as is known
    std::size_t one_by_one_ = 0; // so many that did not go as a row
    bool told_ = false;          // the first one was held up by what the network has told

    send_report report_;
    std::uint64_t sent_ = 0;
    std::uint64_t failed_ = 0;
    std::uint64_t refused_ = 0;
};

} // namespace rota::io
