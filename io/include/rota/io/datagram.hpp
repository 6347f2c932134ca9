#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include <rota/io/endpoint.hpp>
#include <sys/socket.h>

namespace rota::io {
namespace detail {

/// One message from the kernel: a datagram, or several of one sender and, except for the last, of
/// one size (UDP_GRO, man 7 udp).
struct received_message {
    const char* data = nullptr;
    std::size_t size = 0;
    std::size_t each = 0; // bytes of a datagram; 0: it is one
    const sockaddr* from = nullptr;
    socklen_t from_length = 0;
    bool truncated = false;

    [[nodiscard]] std::size_t count() const noexcept {
        return each == 0 ? 1 : (size + each - 1) / each;
    }
};

} // namespace detail

/// A received datagram: a view, valid as long as the batch that it belongs to.
class datagram {
public:
    datagram(const detail::received_message& of, std::size_t at) noexcept
        : bytes_(of.data + at, of.each == 0 ? of.size : std::min(of.each, of.size - at)), of_(&of) {
    }

    /// Returns the content; may be empty.
    [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
    /// Returns the address of the sender, to answer to.
    [[nodiscard]] endpoint from() const noexcept {
        return endpoint::from(of_->from, of_->from_length);
    }
    /// Returns whether it was longer than datagram_options::datagram_bytes_max; bytes() is its
    /// beginning, and the rest is lost (MSG_TRUNC, man 2 recvmsg).
    [[nodiscard]] bool truncated() const noexcept { return of_->truncated; }

private:
    std::string_view bytes_;
    const detail::received_message* of_;
};

/// The datagrams that one receive() gave, in the order in which they arrived, at least one: a range
/// of `datagram`. A view of the socket's buffers, valid until its next receive() or try_receive(),
/// however that ends, or until the socket is destroyed.
class datagram_batch {
public:
    class iterator {
    public:
        using value_type = datagram;
        using difference_type = std::ptrdiff_t;

        iterator() = default;
        explicit iterator(const detail::received_message* of) noexcept : of_(of) {}
        [[nodiscard]] datagram operator*() const noexcept { return {*of_, at_}; }
        iterator& operator++() noexcept {
            at_ += of_->each;
            if (of_->each == 0 || at_ >= of_->size) {
                ++of_;
                at_ = 0;
            }
            return *this;
        }
        iterator operator++(int) noexcept {
            const iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const iterator&, const iterator&) = default;

    private:
        const detail::received_message* of_ = nullptr;
        std::size_t at_ = 0; // in its bytes
    };

    datagram_batch(const detail::received_message* messages, std::size_t count) noexcept
        : first_(messages), last_(messages + count) {}

    [[nodiscard]] iterator begin() const noexcept { return iterator(first_); }
    [[nodiscard]] iterator end() const noexcept { return iterator(last_); }
    /// Returns how many there are.
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t all = 0;
        for (const auto* m = first_; m != last_; ++m)
            all += m->count();
        return all;
    }
    /// Returns the one that arrived first.
    [[nodiscard]] datagram front() const noexcept { return *begin(); }

private:
    const detail::received_message* first_;
    const detail::received_message* last_;
};

} // namespace rota::io
