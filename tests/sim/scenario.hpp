#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/io/context.hpp>
#include <rota/task.hpp>

#include "peer.hpp"
#include "simulation.hpp"

namespace sim {

inline constexpr std::uint16_t port = 80;
inline constexpr const char* address = "127.0.0.1:80";
/// What handlers of datagrams throw, now and then.
inline constexpr const char* over_a_datagram = "over a datagram";

/// What a scenario has a server do, and how it is watched.
struct served {
    std::function<rota::task<void>()> run;                   ///< ends when the server has drained
    std::function<void()> drain;                             ///< begins that
    std::function<std::size_t()> connections;                ///< at this moment
    std::size_t connections_max = 0;                         ///< never more
    std::vector<std::function<rota::task<void>()>> beside{}; ///< runs until it is stopped
};

/// What a scenario asks of the options, of which the rest is drawn.
enum class setting {
    any,
    held_up,  ///< several workers, whose work the receiving thread runs however long it takes
    together, ///< all connections on one worker, for which much may be there at once
};

/// A context over the simulation, with what serves in it and the threads of its clients.
class scenario {
public:
    explicit scenario(setting what = setting::any);
    ~scenario() = default;
    scenario(const scenario&) = delete;
    scenario& operator=(const scenario&) = delete;

    [[nodiscard]] rota::io::context& context() noexcept { return context_; }
    /// Adds a client; it runs from serve() on.
    void client(std::function<void()> body);
    /// Whether the server may not serve everything any more.
    [[nodiscard]] bool ending() const noexcept { return ending_; }
    /// Whether the last bytes of a connection may be lost: the server ends, or lingers too shortly,
    /// or runs out of memory.
    [[nodiscard]] bool may_cut() const noexcept;
    /// Whether a connection that is closed is given up soon, should its client take nothing.
    [[nodiscard]] bool lingers_shortly() const noexcept;
    /// Takes what an error hook is told: that there is no memory, in a run that is short of it.
    static void note_error(std::string_view what);
    /// Serves the clients, ends in one of several ways, and looks whether everything is home.
    void serve(const served& s);

private:
    scenario(setting what, const rota::io::context_options& options);

    void start(const served& s);
    void end_in_order(const served& s);
    void end_at_once();
    void check_home();

    void resize();

    const setting setting_;
    rota::io::context context_;
    std::vector<std::function<void()>> bodies_;
    std::size_t clients_ = 0;
    bool ended_ = false;
    bool ending_ = false;
};

/// The scenarios; each is one seed's whole run, on the first thread.
void run_datagrams();
void run_deadlines();
void run_echo();
void run_http();
void run_http2();
void run_https();
void run_jobs();
void run_ranges();
void run_rests();
void run_room();
void run_takeover();
void run_tls();
void run_turns();
void run_waits();
void run_websockets();

} // namespace sim
