#include <rota/io/context.hpp>

#include <sys/prctl.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <rota/detail/parker.hpp>
#include <rota/detail/usable_cores.hpp>
#include <rota/io/log.hpp>
#include <rota/stall_watch.hpp>
#include <rota/time_span.hpp>

#include "access.hpp"
#include "parts.hpp"
#include "uring_refusal.hpp"

namespace rota::io {
namespace {

constexpr unsigned write_ring_entries = 256;
constexpr auto never = std::chrono::steady_clock::time_point::max();

void log_error(const routine& r, std::exception_ptr error) {
    const char* const what = r.error() ? "ended by" : "goes on after"; // every() does
    try {
        std::rethrow_exception(std::move(error));
    } catch (const std::exception& e) {
        log::error("routine {}#{} {} an exception: {}", r.name(), r.id(), what, e.what());
    } catch (...) {
        log::error("routine {}#{} {} an exception of unknown type", r.name(), r.id(), what);
    }
}

/// Topology dedicated, behind a hand-over of so many completions. Where the threads share a core,
/// those that are to answer go first: what comes meanwhile is received at once, instead of waking
/// them for each. If they then had the core, and what came was neither little nor much, a pause
/// makes the next hand-over larger, as network cards put their interrupts off.
void give_way(std::size_t received) {
    constexpr auto others_ran = std::chrono::microseconds(3); // if the yield takes so long
    constexpr auto pause = std::chrono::microseconds(15);
    constexpr std::size_t little = 8; // so few that a pause would keep their clients waiting
    constexpr std::size_t much = 24;  // so many that a wake for them costs nothing that shows
    const auto before = std::chrono::steady_clock::now();
    std::this_thread::yield();
    const bool shares_core = std::chrono::steady_clock::now() - before >= others_ran;
    if (shares_core && received >= little && received < much)
        std::this_thread::sleep_for(pause);
}

/// Topology per_worker: the worker sleeps in its own ring. The first wait of the thread makes it
/// the ring's.
class ring_parking final : public parking {
public:
    explicit ring_parking(read_side& reads) noexcept : reads_(reads) {}

    bool wait_until(clock::time_point deadline) override {
        if (permit_.exchange(false))
            return true;
        reads_.turn(deadline, false);
        // Completions may have come: a return without a permit makes the worker look.
        return permit_.exchange(false);
    }
    void notify() noexcept override {
        permit_.store(true);
        reads_.wake();
    }

private:
    read_side& reads_;
    std::atomic<bool> permit_{false};
};

void log_stall(const stall_report& report) {
    const std::string line = to_string(report);
    report.ended ? log::info("{}", line) : log::warn("{}", line);
}

/// What to_string() calls a value that no enumerator has.
constexpr std::string_view unknown = "unknown";

void validate(const reactor_options& o) {
    const auto require = [](bool holds, const char* what) {
        if (!holds)
            throw std::invalid_argument(std::string("reactor options: ") + what);
    };
    require(to_string(o.topology) != unknown, "topology is none of its values");
    require(to_string(o.backend) != unknown, "backend is none of its values");
    require(o.ring_entries >= 1 && o.ring_entries <= 32768, "ring_entries must be from 1 to 32768");
    require(std::has_single_bit(o.receive_buffers) && o.receive_buffers <= 32768,
            "receive_buffers must be a power of two up to 32768");
    require(o.receive_buffer_bytes >= 1 && o.receive_buffer_bytes <= std::size_t{1} << 30,
            "receive_buffer_bytes must be from 1 to 2^30");
    require(o.low_water_bytes <= o.high_water_bytes,
            "low_water_bytes must not be above high_water_bytes");
    require(o.max_unread_bytes >= 1, "max_unread_bytes must be at least 1");
    require(o.inline_budget.count() >= 0, "inline_budget must not be negative");
    require(o.linger.count() >= 0, "linger must not be negative");
    require(o.receive_buffers * o.receive_buffer_bytes <= std::size_t{1} << 34,
            "receive_buffers of receive_buffer_bytes must not be more than 16 GiB");
}

/// See topology::automatic.
topology usual_topology(const context_options& o) noexcept {
    const bool one_core = rota::detail::usable_cores() == 1;
    const bool one_worker = o.workers == 1 || (o.workers == 0 && one_core);
    return one_core && one_worker && o.workers_max <= 1 ? topology::per_worker : topology::split;
}

context_options checked(context_options o) {
    validate(o.reactor);
    if (o.reactor.topology == topology::automatic)
        o.reactor.topology = usual_topology(o);
    o.reactor.linger = at_most_ten_years(o.reactor.linger);
    return o;
}

} // namespace

std::string_view to_string(topology t) noexcept {
    switch (t) {
    case topology::automatic:
        return "auto";
    case topology::split:
        return "split";
    case topology::per_worker:
        return "per_worker";
    case topology::dedicated:
        return "dedicated";
    }
    return unknown;
}

std::string_view to_string(backend_kind b) noexcept {
    switch (b) {
    case backend_kind::automatic:
        return "auto";
    case backend_kind::io_uring:
        return "io_uring";
    case backend_kind::epoll:
        return "epoll";
    }
    return unknown;
}

backend_source kernel_backends(backend_kind kind, unsigned ring_entries) {
    if (kind == backend_kind::io_uring) {
        return {.make_read = [ring_entries] { return make_uring_read_backend(ring_entries); },
                .make_write = [] { return make_uring_write_backend(write_ring_entries); }};
    }
    return {.make_read = [] { return make_epoll_read_backend(); },
            .make_write = make_syscall_write_backend};
}

std::unique_ptr<context::parts> context::parts::on_kernel(const context_options& given) {
    const reactor_options& wanted = given.reactor;
    const auto on = [&](backend_kind kind) {
        return std::make_unique<parts>(given, kind, kernel_backends(kind, wanted.ring_entries));
    };
    if (wanted.backend == backend_kind::epoll)
        return on(backend_kind::epoll);
    std::string why_not = why_no_uring();
    if (why_not.empty()) {
        try {
            return on(backend_kind::io_uring);
        } catch (const std::system_error& e) { // more than what was tried out: all rings at once
            why_not = explain_failure(e);
        }
    }
    if (wanted.backend == backend_kind::io_uring)
        throw std::runtime_error("io_uring is not available: " + why_not);
    std::unique_ptr<parts> instead = on(backend_kind::epoll);
    instead->why_not = std::move(why_not);
    return instead;
}

context::parts::parts(const context_options& given, backend_kind kind, backend_source from)
    : options(checked(given)), backend(kind), source(std::move(from)) {
    runtime_options for_workers{.workers = options.workers,
                                .workers_max = options.workers_max,
                                .batch_size = options.batch_size,
                                .blocking_threads = options.blocking_threads,
                                .blocking_nice = options.blocking_nice,
                                .on_error = options.on_error ? options.on_error : log_error,
                                .stall_limit = options.stall_limit,
                                .on_stall = options.on_stall ? options.on_stall : log_stall};
    if (options.reactor.topology != topology::per_worker) {
        make_sides(0);
        for_workers.on_tick = [this] { watch_receiving(); };
    } else {
        for_workers.make_parking = [this](std::size_t index) -> std::unique_ptr<parking> {
            make_sides(index);
            return std::make_unique<ring_parking>(*reads[index]);
        };
    }
    workers.emplace(std::move(for_workers));
    workers->on_worker_added([this](worker& w) { attach(w); });
}

void context::parts::make_sides(std::size_t index) {
    std::optional budget(options.reactor.inline_budget);
    std::optional send_bytes(options.reactor.inline_send_bytes);
    if (options.reactor.topology == topology::dedicated) {
        budget.reset();
        send_bytes.reset();
    }
    reads[index] = std::make_unique<read_side>(source.make_read, budget);
    writes[index] = std::make_unique<write_side>(source.make_write(), send_bytes);
}

void context::parts::attach(worker& w) {
    const bool own_ring = options.reactor.topology == topology::per_worker;
    const std::size_t side = own_ring ? w.index() : 0;
    auto io =
        std::make_unique<worker_io>(w, *reads[side], *writes[side], options.reactor, own_ring);
    w.set_turn_hook(io.get());
    per_worker[w.index()] = std::move(io);
}

void context::parts::receive() {
    const bool lends = options.reactor.topology != topology::dedicated;
    if (!lends)
        ::prctl(PR_SET_TIMERSLACK, 1); // ns: the pause of give_way() is to be as short as it says
    while (!stopping.load(std::memory_order_seq_cst)) {
        const std::size_t received = reads[0]->turn(never, true);
        if (!lends) { // no work was done here, so there is nothing to send
            if (received != 0)
                give_way(received);
            continue;
        }
        if (!reads[0]->is_driver()) {
            writes[0]->flush(); // what the lent run has written; the thread is done
            return;
        }
        const worker::put_off_wakes until_next_turn(reads[0]->posted());
        writes[0]->flush();
    }
}

/// Receives on a new thread, if that then `drives`.
void context::parts::start_receiver(std::function<bool()> drives) {
    receiver& next = receivers.emplace_back();
    try {
        next.thread = start_quiet_thread("rota-read", [this, &next, drives = std::move(drives)] {
            if (drives())
                receive();
            next.ended.store(true, std::memory_order_release);
        });
    } catch (...) {
        receivers.pop_back();
        throw;
    }
}

/// A thread takes over receiving: false if there is nothing to take over.
bool context::parts::replace_receiver() {
    struct handover {
        parker done;
        bool drives = false;
        std::exception_ptr error;
    };
    const auto told = std::make_shared<handover>();
    start_receiver([this, told] {
        try {
            told->drives = reads[0]->take_over();
        } catch (...) {
            told->error = std::current_exception();
        }
        const bool drives = told->drives;
        told->done.notify();
        return drives;
    });
    told->done.wait();
    if (told->error)
        std::rethrow_exception(told->error);
    return told->drives;
}

/// On the watch's thread, which ends before the others do.
void context::parts::watch_receiving() noexcept {
    if (!reads[0]->overstayed())
        return;
    // The last one receives, and one that is stuck ends some time.
    receivers.remove_if([](const receiver& r) { return r.ended.load(std::memory_order_acquire); });
    try {
        if (replace_receiver()) {
            said_so_ = false;
            log::warn("a handler does not let go of the receiving thread: another one goes on{}",
                      backend == backend_kind::io_uring ? ", with a ring of its own" : "");
        }
    } catch (const std::exception& e) {
        if (!std::exchange(said_so_, true))
            log::error("a handler does not let go of the receiving thread, and no other can go "
                       "on until this is over: {}",
                       e.what());
    }
}

void context::parts::start() {
    if (options.reactor.topology != topology::per_worker) {
        start_receiver([] { return true; });
        writes[0]->start_thread();
    }
    workers->start();
}

void context::parts::report_strays() const noexcept {
    std::size_t count = 0;
    std::string names;
    try {
        for (const auto& io : per_worker) {
            if (!io)
                continue;
            count += io->left_over().count;
            for (const auto& [what, times] : io->left_over().named)
                names += fmt::format("{}{} {} on worker {}", names.empty() ? "" : ", ", times, what,
                                     io->home.index());
        }
    } catch (const std::bad_alloc&) {
        names += "...";
    }
    if (count != 0)
        log::warn("stop: the program still held {} connections or listeners, which have been "
                  "aborted: {}",
                  count, names);
}

/// Throws it again, with what an operator can do about it.
[[noreturn]] static void throw_with_cure(const std::system_error& e) {
    const auto tell = [&e](const char* cure) {
        throw std::system_error(e.code(), fmt::format("cannot start ({})", cure));
    };
    switch (e.code().value()) {
    case EMFILE:
        tell("raise the limit of open files: ulimit -n");
        break;
    case ENFILE:
        tell("raise the system's limit of open files: sysctl fs.file-max");
        break;
    case EAGAIN: // of a thread
        tell("raise the limit of threads or of memory: ulimit -u, ulimit -v, or the container's");
        break;
    default:
        break;
    }
    throw e;
}

context::context(const context_options& options) try : parts_(parts::on_kernel(options)) {
    run();
} catch (const std::system_error& e) {
    throw_with_cure(e);
}

context::context(const context_options& options, backend_source backends)
    : parts_(std::make_unique<parts>(options, options.reactor.backend, std::move(backends))) {
    run();
}

void context::run() {
    if (!parts_->why_not.empty()) {
        log::warn("io_uring is not available, using epoll: {}", parts_->why_not);
    }
    log::info("reactor: {}, topology {}, workers: {}", to_string(parts_->backend),
              to_string(parts_->options.reactor.topology), parts_->workers->worker_count());
    try {
        parts_->start();
    } catch (...) {
        stop(); // the threads that could be started
        throw;
    }
}

context::~context() {
    try {
        stop();
    } catch (const std::logic_error& e) {
        runtime::end_program(e);
    }
}

runtime& context::workers() noexcept { return *parts_->workers; }

void context::return_memory() noexcept { parts_->writes[0]->return_memory(); }

backend_kind context::backend() const noexcept { return parts_->backend; }

const reactor_options& context::options() const noexcept { return parts_->options.reactor; }

worker_io& context_access::io_of(context& ctx, const worker& w) {
    worker_io* const io = ctx.parts_->per_worker[w.index()].get();
    if (io == nullptr || &io->home != &w)
        throw std::logic_error("rota: a routine uses io of a context whose worker does not run it");
    return *io;
}

void context::stop() {
    parts_->workers->refuse_any_own_thread("stop()");
    const std::lock_guard one_at_a_time(parts_->stop_lock);
    if (parts_->stopped.exchange(true))
        return;
    // Connections hold a place on their worker until their descriptor is closed, so a worker's
    // thread ends only when nothing of it is left in the kernel. First the routines, then what
    // lingers, then the threads that serve them.
    routine_registry& routines = parts_->workers->registry();
    do {
        routines.request_stop_all();
    } while (!routines.wait_empty_for(std::chrono::milliseconds(10)));
    for (auto& io : parts_->per_worker) {
        if (io && io->home.places() != 0) // else it has no connection, and perhaps no thread
            io->request_end();
    }
    parts_->workers->stop();
    parts_->report_strays();
    parts_->stopping.store(true, std::memory_order_seq_cst);
    if (!parts_->receivers.empty()) {
        parts_->reads[0]->wake();
        parts_->receivers.clear(); // joins them
        parts_->writes[0]->stop();
    }
}

} // namespace rota::io
