#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <rota/io/context.hpp>
#include <rota/task.hpp>

#include "peer.hpp"
#include "simulation.hpp"

namespace sim {

inline constexpr std::uint16_t port = 80;
inline constexpr const char* address = "127.0.0.1:80";

/// What a scenario has a server do, and how it is watched.
struct served {
    std::function<rota::task<void>()> run;                   ///< ends when the server has drained
    std::function<void()> drain;                             ///< begins that
    std::function<std::size_t()> connections;                ///< at this moment
    std::size_t connections_max = 0;                         ///< never more
    std::vector<std::function<rota::task<void>()>> beside{}; ///< runs until it is stopped
};

/// A context over the simulation, with what serves in it and the threads of its clients.
class scenario {
public:
    scenario();
    ~scenario() = default;
    scenario(const scenario&) = delete;
    scenario& operator=(const scenario&) = delete;

    [[nodiscard]] rota::io::context& context() noexcept { return context_; }
    /// Adds a client; it runs from serve() on.
    void client(std::function<void()> body);
    /// Whether the server may not serve everything any more.
    [[nodiscard]] bool ending() const noexcept { return ending_; }
    /// Whether the last bytes of a connection may be lost: the server ends, or lingers too shortly.
    [[nodiscard]] bool may_cut() const noexcept;
    /// Serves the clients, ends in one of several ways, and looks whether everything is home.
    void serve(const served& s);

private:
    void start(const served& s);
    void end_in_order(const served& s);
    void end_at_once();
    void check_home();

    rota::io::context context_;
    std::vector<std::function<void()>> bodies_;
    std::size_t clients_ = 0;
    bool ended_ = false;
    bool ending_ = false;
};

/// The scenarios; each is one seed's whole run, on the first thread.
void run_echo();
void run_http();
void run_jobs();

} // namespace sim
