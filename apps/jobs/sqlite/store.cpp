#include "store.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "jobs/rules/step.hpp"

namespace jobs {
namespace {

constexpr std::uint64_t reserve_bytes = 16'777'216;
constexpr std::uint64_t log_pages = 1'000; // SQLite's default
/// To be given out at once on a full disk: one takes a page or two.
constexpr std::size_t given_when_full = 16;

} // namespace

sqlite_store::sqlite_store(const std::string& path, store_limits limits, id_source lease_ids)
    : file_(path), rows_(file_), rules_(rows_, limits, std::move(lease_ids)),
      reserve_(path + "-reserve", reserve_bytes),
      thread_(rota::start_quiet_thread("job-store", [this] { work(); })) {}

sqlite_store::~sqlite_store() {
    {
        const std::lock_guard guard(lock_);
        ending_ = true;
    }
    gathered_.notify();
    thread_.join();
}

bool sqlite_store::submit(store_step& what, std::exception_ptr&) {
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
    if (reserve_.keep()) {
        write_back_normally();
    } else {
        make_room(); // it begins on a full disk, perhaps with what another process has given up
    }
    std::vector<store_step*> gathered;
    for (;;) {
        bool ending = false;
        {
            const std::lock_guard guard(lock_);
            gathered.swap(steps_);
            ending = ending_;
        }
        if (!gathered.empty()) {
            do_all(gathered);
            gathered.clear();
        } else if (ending) {
            return;
        } else {
            gathered_.wait(); // a permit is kept: what came since is not missed
        }
    }
}

/// So few bytes in one transaction that the log never holds more than the reserve does.
void sqlite_store::do_all(steps all) noexcept {
    const std::uint64_t bytes_max = reserve_.bytes() / 4;
    while (!all.empty()) {
        std::size_t count = 0;
        std::uint64_t bytes = 0;
        do {
            bytes += all[count]->adds_bytes();
            ++count;
        } while (count < all.size() && bytes + all[count]->adds_bytes() <= bytes_max);
        do_together(all.first(count));
        all = all.subspan(count);
    }
}

void sqlite_store::do_together(steps all) noexcept {
    if (!full_) {
        const outcome of = attempt(all);
        const bool looks_only =
            std::ranges::all_of(all, [](const store_step* each) { return each->probes(); });
        if (of.why.empty() || of.kind != store_fault::full || looks_only) {
            answer(all, of);
            return;
        }
        make_room();
        for (store_step* const each : all) { // which is gone once it is done
            if (each->adds_bytes() != 0) {
                each->done(failure(of.why, of.kind)); // used up by the attempt
            } else {
                do_alone(*each);
            }
        }
        return;
    }
    for (store_step* const each : all)
        do_alone(*each);
}

void sqlite_store::do_alone(store_step& one) noexcept {
    store_step* const all[] = {&one};
    const std::size_t bytes = one.adds_bytes();
    if ((one.probes() || bytes != 0) && !may_add(bytes)) {
        answer(all, failed("the job store cannot be used: the disk is full; jobs can be taken and "
                           "finished, and added again when there is room",
                           store_fault::full));
        return;
    }
    outcome of = attempt(all);
    if (!of.why.empty() && of.kind == store_fault::full && !one.probes()) {
        make_room();
        if (bytes == 0) {
            rules_.give_at_most(1);
            of = attempt(all);
            rules_.give_at_most(given_when_full);
        }
    }
    answer(all, of);
}

void sqlite_store::write_back_normally() noexcept {
    const std::uint64_t pages = std::min(log_pages, reserve_.bytes() / 2 / page_bytes);
    file_.write_back_at(static_cast<int>(pages));
}

void sqlite_store::make_room() noexcept {
    reserve_.give_up();
    full_ = true;
    rules_.give_at_most(given_when_full);
    file_.write_back_at(1);
    file_.write_back();
}

bool sqlite_store::may_add(std::size_t bytes) noexcept {
    if (!full_)
        return true;
    if (reserve_.keep()) {
        full_ = false;
        rules_.give_at_most(SIZE_MAX);
        write_back_normally();
        return true;
    }
    try {
        return file_.unused_bytes() >= reserve_.bytes() + 2 * bytes;
    } catch (const store_error&) {
        return false;
    }
}

sqlite_store::outcome sqlite_store::failed(const char* why, store_fault kind) noexcept {
    try {
        return {why, kind};
    } catch (const std::bad_alloc&) {
        return {"out of memory", kind}; // which needs none
    }
}

/// One transaction, and telling of it.
sqlite_store::outcome sqlite_store::attempt(steps all) noexcept {
    outcome of;
    try {
        if (stale_) {
            rules_.reload();
            stale_ = false;
        }
        file_.execute("BEGIN");
        for (store_step* const each : all) {
            each->run(rules_, false);
            if (each->probes())
                file_.touch();
        }
        rules_.flush();
        file_.execute("COMMIT");
        tell(rules_.take_changes());
        return of;
    } catch (const store_error& e) {
        of = failed(e.what(), e.kind());
    } catch (const std::exception& e) {
        of = failed(e.what());
    } catch (...) {
        of = failed("the job store: an unknown error");
    }
    file_.roll_back();
    stale_ = true;
    (void)rules_.take_changes();
    return of;
}

void sqlite_store::answer(steps all, const outcome& of) noexcept {
    // An error each: its receiver may be on another thread, and ends it there.
    for (store_step* const each : all)
        each->done(of.why.empty() ? nullptr : failure(of.why, of.kind));
}

} // namespace jobs
