#include "sqlite_store.hpp"

#include <exception>
#include <string>
#include <utility>

namespace jobs {

sqlite_store::sqlite_store(const std::string& path, store_limits limits, id_source lease_ids)
    : file_(path), rows_(file_), rules_(rows_, limits, std::move(lease_ids)),
      thread_(rota::start_quiet_thread("job-store", [this] { work(); })) {}

sqlite_store::~sqlite_store() {
    {
        const std::lock_guard guard(lock_);
        ending_ = true;
    }
    gathered_.notify();
    thread_.join();
}

bool sqlite_store::submit(step& what, std::exception_ptr&) {
    bool first = false;
    {
        const std::lock_guard guard(lock_);
        first = steps_.empty();
        steps_.push_back(&what);
    }
    if (first) // else the thread has been told already
        gathered_.notify();
    return true;
}

void sqlite_store::work() {
    std::vector<step*> steps;
    for (;;) {
        bool ending = false;
        {
            const std::lock_guard guard(lock_);
            steps.swap(steps_);
            ending = ending_;
        }
        if (!steps.empty()) {
            do_together(steps);
            steps.clear();
        } else if (ending) {
            return;
        } else {
            gathered_.wait(); // a permit is kept: what came since is not missed
        }
    }
}

void sqlite_store::do_together(std::vector<step*>& steps) noexcept {
    bool failed = true;
    std::string why;
    try {
        if (stale_) {
            rules_.reload();
            stale_ = false;
        }
        file_.execute("BEGIN");
        for (step* const each : steps)
            each->run(rules_);
        rules_.flush();
        file_.execute("COMMIT");
        failed = false;
    } catch (const std::exception& e) {
        why = e.what();
    } catch (...) {
        why = "the job store: an unknown error";
    }
    if (failed) {
        file_.roll_back();
        stale_ = true;
    }
    const std::vector<change> what = rules_.take_changes();
    if (!failed)
        tell(what);
    // An error each: who is told may be on another thread, and ends it there.
    for (step* const each : steps)
        each->done(failed ? failure(why) : nullptr);
}

} // namespace jobs
