#include "store.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "jobs/rules/step.hpp"

namespace jobs {
namespace {

constexpr std::uint64_t reserve_bytes = 16'777'216;
constexpr std::uint64_t log_pages = 1'000; // SQLite's default
/// To be given out at once on a full disk.
constexpr std::size_t given_when_full = 16;
/// In one transaction there, as many as there is room for.
constexpr std::size_t counts_when_full[] = {1'024, 32, 1};

std::uint64_t size_of(const std::string& path) noexcept {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(path, error);
    return error ? 0 : bytes;
}

/// What the largest job of a step needs to be taken: its row is written anew, into new pages of the
/// file, and into the log with its key in an index. Twice that, and what there is beside it.
std::uint64_t needed_for(const store_step& what, std::uint64_t page_bytes) noexcept {
    const std::uint64_t beside = 16 * page_bytes;
    std::uint64_t largest = 0;
    if (const auto* const adding = std::get_if<operations::add>(&what.what())) {
        for (const new_job& job : adding->jobs)
            largest = std::max(largest, 2 * job.payload.size() + 3 * job.key.size());
    }
    return 2 * largest + beside;
}

} // namespace

sqlite_store::sqlite_store(const std::string& path, store_limits limits, id_source lease_ids)
    : file_(path), rows_(file_), rules_(rows_, limits, std::move(lease_ids)),
      reserve_(path + "-reserve", reserve_bytes),
      // Of a commit that was not finished the file may have room that it will not keep.
      allocated_(std::min(size_of(path), file_.bytes())),
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
    file_.opened();
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
    const bool adds = std::ranges::any_of(
        all, [](const store_step* each) { return each->probes() || each->adds_bytes() != 0; });
    if (!full_ && !(adds && file_.has_moved()) &&
        std::ranges::all_of(all, [this](const store_step* each) {
            return each->adds_bytes() == 0 || reserve_.grow(needed_for(*each, file_.page_bytes()));
        })) {
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
    const bool adds = one.adds_bytes() != 0;
    if ((one.probes() || adds) && file_.has_moved()) { // what is added would be lost
        answer(all, failed("the job store cannot be used: its file has been moved or deleted; jobs "
                           "can be taken and finished"));
        return;
    }
    if ((one.probes() || adds) && !may_add(one)) {
        answer(all, failed("the job store cannot be used: the disk is full; jobs can be taken and "
                           "finished, and added again when there is room",
                           store_fault::full));
        return;
    }
    if (full_ && !adds && !one.probes()) {
        answer(all, attempt_on_full_disk(one));
        return;
    }
    outcome of = attempt(all);
    if (!of.why.empty() && of.kind == store_fault::full && !one.probes()) {
        make_room();
        if (!adds)
            of = attempt_on_full_disk(one);
    }
    answer(all, of);
}

sqlite_store::outcome sqlite_store::attempt_on_full_disk(store_step& one) noexcept {
    store_step* const all[] = {&one};
    outcome of;
    for (const std::size_t count : counts_when_full) {
        rules_.do_at_most(count, std::min(count, given_when_full));
        of = attempt(all);
        if (of.why.empty() || of.kind != store_fault::full)
            break;
        file_.write_back(true); // what it has taken up of the log is room again
    }
    rules_.do_at_most(counts_when_full[0], given_when_full);
    return of;
}

void sqlite_store::write_back_normally() noexcept {
    const std::uint64_t pages = std::min(log_pages, reserve_.bytes() / 2 / file_.page_bytes());
    file_.write_back_at(static_cast<int>(pages));
}

void sqlite_store::make_room() noexcept {
    reserve_.give_up();
    full_ = true;
    rules_.do_at_most(counts_when_full[0], given_when_full);
    file_.write_back_at(1);
    file_.write_back(false);
}

bool sqlite_store::may_add(const store_step& what) noexcept {
    const std::uint64_t needed = needed_for(what, file_.page_bytes());
    try {
        const std::uint64_t size = file_.bytes() + needed;
        // Twice, so that it does not go back and forth at the line.
        if (full_ && has_slack(size, 2 * reserve_.bytes() + needed) && reserve_.keep()) {
            full_ = false;
            rules_.do_at_most(SIZE_MAX, SIZE_MAX);
            write_back_normally();
        }
        if (!full_ && reserve_.grow(needed) && reserve_.leaves_room(size, needed))
            return true;
        return file_.unused_bytes() >= reserve_.bytes() + needed;
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
            file_.roll_back(); // should that have failed before
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
        commit(std::ranges::any_of(all,
                                   [](const store_step* each) { return each->adds_bytes() != 0; }));
        tell(rules_.take_changes());
        return of;
    } catch (const store_error& e) {
        of = failed(e.what(), e.kind());
    } catch (const std::exception& e) {
        of = failed(reason_of(e));
    } catch (...) {
        of = failed("the job store: an unknown error");
    }
    file_.roll_back();
    stale_ = true;
    (void)rules_.take_changes();
    return of;
}

/// Whether a file of that size may grow as jobs are finished, or has as much as `unused` within.
bool sqlite_store::has_slack(std::uint64_t size, std::uint64_t unused) {
    return reserve_.fits(size) || file_.unused_bytes() >= unused;
}

/// Not before the file has room for what has been added to it.
void sqlite_store::commit(bool adds) {
    const std::uint64_t bytes = file_.bytes();
    if (bytes > allocated_) {
        if (!reserve_.leaves_room(bytes, bytes - allocated_))
            file_.fail("the disk is full", store_fault::full);
        file_.allocate(bytes);
    } else if (adds && !full_ && !has_slack(bytes, reserve_.bytes())) {
        file_.fail("the disk is full", store_fault::full);
    }
    file_.execute("COMMIT");
    allocated_ = bytes; // less than before where it was told to give up what it does not need
}

void sqlite_store::answer(steps all, const outcome& of) noexcept {
    // An error each: its receiver may be on another thread, and ends it there.
    for (store_step* const each : all)
        each->done(of.why.empty() ? nullptr : failure(of.why, of.kind));
}

} // namespace jobs
