#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "network.hpp"

namespace sim {

/// The client's end of a connection, for a thread of the simulation: sends, waits and reads as a
/// program with a blocking socket does.
class peer {
public:
    enum class event {
        bytes, ///< something can be read
        end,   ///< the server has sent all
        reset, ///< the connection is broken
        late,  ///< nothing of this happened in time
    };

    /// Connects; without a listener it is refused().
    explicit peer(std::uint16_t port);
    /// Closes.
    virtual ~peer();
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;

    [[nodiscard]] bool refused() const noexcept { return link_ == nullptr; }
    /// What the kernel takes of the server's bytes before they are read.
    void set_room(std::size_t bytes) noexcept { link_->client_room = bytes; }

    virtual void send(std::string_view bytes);
    /// In pieces, with pauses of up to `pause` between them.
    void send_slowly(std::string_view bytes, nanoseconds pause);
    /// Whether the server's kernel has all of it.
    [[nodiscard]] bool is_sent() const noexcept { return link_->up.under_way.empty(); }
    virtual void half_close();
    void reset();
    void close();

    virtual event wait(time_point until = never);
    /// Takes nothing until the server has let go of the connection, or until then.
    void take_nothing(time_point until);
    /// What has arrived.
    [[nodiscard]] virtual std::string read(std::size_t max = std::string::npos);
    /// Reads until the end of the stream or another end, a bit at a time if `pause` is not zero.
    event read_all(std::string& into, nanoseconds pause, time_point until = never);

private:
    std::shared_ptr<link> link_;
};

/// A few lines, some of them long.
std::string draw_lines(random& r);

} // namespace sim
