#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <rota/auto_event.hpp>
#include <rota/executor.hpp>
#include <rota/io/context.hpp>
#include <rota/task.hpp>

#include "connection.hpp"
#include "jobs/job_types.hpp"

namespace jobs {

/// Is told of what other servers have done.
class postgres_news_reader {
public:
    virtual void told(const std::vector<change>& what) noexcept = 0;
    virtual void may_have_jobs(const std::string& queue) noexcept = 0;
    virtual void ends_first(const std::string& queue, time_ms due) noexcept = 0;

protected:
    ~postgres_news_reader() = default;
};

/// Changes as notifications carry them, in pieces of less than 8000 bytes, which is what PostgreSQL
/// takes: `sender`, `schema`, then queues and what has happened to them. Of what does not fit into
/// `pieces_max` only the names of the queues are told.
[[nodiscard]] std::vector<std::string> write_news(const std::string& sender,
                                                  const std::string& schema,
                                                  const std::vector<change>& what,
                                                  std::size_t pieces_max = 16);
struct news {
    std::string sender;
    std::string schema;
    std::vector<change> changes{};
    std::vector<std::string> queues{}; ///< there is more that is not told
};
/// What write_news() wrote; nothing for any other text.
[[nodiscard]] std::optional<news> read_news(std::string_view text);

/// Tells other servers what this one has done, and hears of them: LISTEN and NOTIFY, on a
/// connection of its own, each time with everything that has gathered; while there is no other,
/// nothing, which servers know since each greets the others. That is only to be quick:
/// what counts is found in the tables, which it looks into once a second (five times, where the
/// engine has no LISTEN). So a notification that is lost, or a server that ends before it has sent
/// one, delays and loses nothing.
class postgres_news {
public:
    /// `reachable`: whether there are connections for the steps, which go first. All outlive it.
    postgres_news(rota::io::context& on, std::string url, const std::atomic<bool>& reachable,
                  postgres_news_reader& reader);
    postgres_news(const postgres_news&) = delete;
    postgres_news& operator=(const postgres_news&) = delete;
    /// Not from a routine.
    ~postgres_news();

    /// This server has done that. Any thread.
    void tell(const std::vector<change>& what) noexcept;
    /// A taker here waits for jobs of a queue that had none. Any thread.
    void wish(const std::string& queue) noexcept;

private:
    rota::task<void> work();
    rota::task<void> connect();
    rota::task<void> turn();
    rota::task<void> send(std::vector<std::string> pieces);
    rota::task<void> look();
    void hear();
    [[nodiscard]] std::vector<std::string> take_outgoing();
    void know_others();

    const std::string sender_;
    const std::atomic<bool>& reachable_;
    postgres_news_reader& reader_;
    rota::auto_event outgoing_there_;

    // -- its routine
    postgres_connection over_;
    std::string schema_;
    std::set<std::string> others_; // servers that have been heard of
    bool greets_ = false;          // next time
    bool listens_ = false;
    bool told_ = false;                               // the log has been told that it does not
    std::chrono::steady_clock::time_point look_at_{}; // the next time

    std::mutex lock_; // guards what follows
    std::vector<change> outgoing_;
    std::set<std::string> wished_;
    bool is_heard_ = false; // there is a connection, and another server
    rota::routine_ptr routine_;
};

} // namespace jobs
