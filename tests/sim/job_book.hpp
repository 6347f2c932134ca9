#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "world.hpp"

namespace sim {

/// A job as an answer of take tells it.
struct taken_job {
    std::string id;
    std::string key;
    std::string lease_id;
    std::uint64_t attempt = 0;
    time_point asked{}; ///< when the take was sent: its lease began no earlier
};

/// The jobs in the text of an answer; its own reading of JSON, as simple as what is written.
std::vector<taken_job> read_jobs(std::string_view body, time_point asked);

/// What the clients together know of the jobs of one queue, and what must hold of it: each is
/// delivered to one at a time, never after it is done, and none is lost; and one that fails again
/// and again waits before it is delivered once more.
class job_book {
public:
    explicit job_book(nanoseconds lease) : lease_(lease) {}

    [[nodiscard]] std::string new_key() { return fmt::format("job-{}", next_++); }
    /// A job is on its way to the server.
    void sent(const std::string& key) { keys_.insert(key); }
    /// The server has taken it in, as `body` says.
    void added(std::string_view body);

    /// A client has got it.
    void delivered(const taken_job& j);
    /// Its holder gives it back: from now on another may get it.
    void released(const taken_job& j);
    /// The holder is about to say that it is done; until the answer nobody can tell.
    void finishing(const taken_job& j) { jobs_.at(j.id).finishing = true; }
    void finished(const taken_job& j);
    /// The server does not know the lease any more.
    void lost_lease(const taken_job& j);

    /// At the end, when the clients have gone and all leases have run out.
    void swept(const taken_job& j);
    void check_swept() const;

private:
    struct job {
        bool finishing = false;
        bool done = false;
        bool seen_at_the_end = false;
        bool held = false;
        std::uint64_t attempt = 0;
        time_point asked{};
        time_point failed{}; // that attempt, no earlier; while held: by the end of its lease
    };
    void check_wait(const job& known, const taken_job& next) const;

    const nanoseconds lease_;
    std::uint64_t next_ = 1;
    std::set<std::string> keys_;      // that were sent
    std::map<std::string, job> jobs_; // by id: a key may come again when its job is done
};

} // namespace sim
