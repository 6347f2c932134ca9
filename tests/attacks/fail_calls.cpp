// Preloaded into a program: lets the n-th allocation, thread start or system call fail, once. What
// fails and when stands in a file that another process shares (ROTA_FAIL_FILE): it may be set
// before the program begins, and anew at any time.

#undef _FORTIFY_SOURCE // headers would define some of the calls themselves

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The C library's own, under the names by which it can be called from behind these.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* block);
}

namespace {

enum kind : std::uint32_t { allocations, threads, calls, kinds };

/// As tests/attacks/failures.py reads and writes it.
struct shared {
    std::atomic<std::uint32_t> which;                   // of the kinds
    std::atomic<std::uint32_t> left;                    // 1: the next one fails; 0: none does
    std::array<std::atomic<std::uint64_t>, kinds> seen; // so far
    std::atomic<std::int64_t> blocks;                   // allocated and not freed
    std::atomic<std::uint32_t> failed;                  // how many have
    std::atomic<std::uint32_t> depth;                   // of `where`
    std::array<std::atomic<std::uint64_t>, 32> where;   // return addresses of the last that failed
};

shared* control = nullptr;
std::uintptr_t program_begin = 0;
std::uintptr_t program_end = 0;
bool in_main = false; // before it nobody can catch anything: no program survives a failure there
int (*program_main)(int count, char** words, char** environment) = nullptr;
thread_local bool looking __attribute__((tls_model("initial-exec"))) = false;

void note_where() noexcept {
    looking = true;
    std::array<void*, 32> stack{};
    const int depth = ::backtrace(stack.data(), static_cast<int>(stack.size()));
    for (int i = 0; i < depth; ++i)
        control->where.at(static_cast<std::size_t>(i)) =
            reinterpret_cast<std::uintptr_t>(stack.at(static_cast<std::size_t>(i)));
    control->depth = static_cast<std::uint32_t>(depth);
    looking = false;
}

/// Whether this one is to fail.
bool fails(kind what) noexcept {
    if (control == nullptr || !in_main || looking)
        return false;
    control->seen.at(what).fetch_add(1, std::memory_order_relaxed);
    if (control->which.load(std::memory_order_relaxed) != what)
        return false;
    std::uint32_t left = control->left.load(std::memory_order_relaxed);
    while (left != 0 && !control->left.compare_exchange_weak(left, left - 1)) {
    }
    if (left != 1)
        return false;
    note_where();
    control->failed.fetch_add(1);
    return true;
}

void count_block(const void* block, int by) noexcept {
    if (control != nullptr && block != nullptr)
        control->blocks.fetch_add(by, std::memory_order_relaxed);
}

/// Notes where the program itself is, which is told of first.
int note_program(dl_phdr_info* object, std::size_t, void*) noexcept {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0)
            continue;
        program_begin = object->dlpi_addr + part.p_vaddr;
        program_end = program_begin + part.p_memsz;
    }
    return 1;
}

/// Whether the caller is the program, and not one of its libraries.
bool is_own(const void* caller) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(caller);
    return at >= program_begin && at < program_end;
}

/// Of what is read or written. An eventfd's counter is so without fail (man 2 eventfd).
bool may_fail(const void* caller, std::size_t size) noexcept {
    return is_own(caller) && size != sizeof(std::uint64_t);
}

[[gnu::constructor]] void map_control() {
    std::array<void*, 4> warm{};
    (void)::backtrace(warm.data(), 4); // it loads a library at first
    ::dl_iterate_phdr(note_program, nullptr);
    const char* const path = std::getenv("ROTA_FAIL_FILE");
    const int fd = path != nullptr ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void* const at = ::mmap(nullptr, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (at != MAP_FAILED)
        control = static_cast<shared*>(at);
}

template <class Function>
Function* next(const char* name) noexcept {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int begin_main(int count, char** words, char** environment) {
    in_main = true;
    return program_main(count, words, environment);
}

void* out_of_memory() noexcept {
    errno = ENOMEM;
    return nullptr;
}

} // namespace

// None of these has to be declared where it is replaced.
#pragma GCC diagnostic ignored "-Wmissing-declarations"

#define EXPORT extern "C" __attribute__((visibility("default")))

// NOLINTNEXTLINE(bugprone-reserved-identifier): what the C library calls it
EXPORT int __libc_start_main(decltype(program_main) main, int count, char** words, void (*init)(),
                             void (*end)(), void (*end_of_loader)(), void* stack_end) {
    program_main = main;
    static auto* const real = next<decltype(__libc_start_main)>("__libc_start_main");
    return real(begin_main, count, words, init, end, end_of_loader, stack_end);
}

EXPORT void* malloc(std::size_t size) noexcept {
    if (fails(allocations))
        return out_of_memory();
    void* const block = __libc_malloc(size);
    count_block(block, 1);
    return block;
}

EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
    if (fails(allocations))
        return out_of_memory();
    void* const block = __libc_calloc(count, size);
    count_block(block, 1);
    return block;
}

EXPORT void* realloc(void* old, std::size_t size) noexcept {
    if (size != 0 && fails(allocations))
        return out_of_memory();
    void* const block = __libc_realloc(old, size);
    if (old == nullptr)
        count_block(block, 1);
    return block;
}

EXPORT void* memalign(std::size_t alignment, std::size_t size) noexcept {
    if (fails(allocations))
        return out_of_memory();
    void* const block = __libc_memalign(alignment, size);
    count_block(block, 1);
    return block;
}

EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    return memalign(alignment, size);
}

EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
    void* const block = memalign(alignment, size);
    if (block == nullptr)
        return ENOMEM;
    *out = block;
    return 0;
}

EXPORT void free(void* block) noexcept {
    count_block(block, -1);
    __libc_free(block);
}

EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*),
                          void* with) noexcept {
    if (fails(threads))
        return EAGAIN;
    static auto* const real = next<decltype(pthread_create)>("pthread_create");
    return real(thread, how, body, with);
}

// A call that fails does nothing but set errno.
#define CALL(result, name, parameters, arguments, error)                                           \
    EXPORT result name parameters {                                                                \
        if (fails(calls)) {                                                                        \
            errno = error;                                                                         \
            return -1;                                                                             \
        }                                                                                          \
        static auto* const real = next<result parameters>(#name);                                  \
        return real arguments;                                                                     \
    }

CALL(int, socket, (int domain, int type, int protocol), (domain, type, protocol), EMFILE)
CALL(int, bind, (int fd, const sockaddr* to, socklen_t size), (fd, to, size), EADDRINUSE)
CALL(int, listen, (int fd, int backlog), (fd, backlog), EADDRINUSE)
CALL(int, accept4, (int fd, sockaddr* from, socklen_t* size, int flags), (fd, from, size, flags),
     EMFILE)
CALL(int, epoll_create1, (int flags), (flags), EMFILE)
CALL(int, epoll_ctl, (int epoll, int what, int fd, epoll_event* event), (epoll, what, fd, event),
     ENOMEM)
CALL(int, eventfd, (unsigned initial, int flags), (initial, flags), EMFILE)
CALL(int, signalfd, (int fd, const sigset_t* mask, int flags), (fd, mask, flags), EMFILE)
CALL(int, setsockopt, (int fd, int level, int name, const void* value, socklen_t size),
     (fd, level, name, value, size), ENOBUFS)
CALL(int, getsockopt, (int fd, int level, int name, void* value, socklen_t* size),
     (fd, level, name, value, size), ENOBUFS)
CALL(int, getsockname, (int fd, sockaddr* name, socklen_t* size), (fd, name, size), ENOBUFS)
CALL(int, getpeername, (int fd, sockaddr* name, socklen_t* size), (fd, name, size), ENOBUFS)
CALL(int, shutdown, (int fd, int how), (fd, how), ENOTCONN)
CALL(ssize_t, recv, (int fd, void* to, size_t size, int flags), (fd, to, size, flags), ENOMEM)
CALL(ssize_t, send, (int fd, const void* from, size_t size, int flags), (fd, from, size, flags),
     ENOBUFS)
CALL(ssize_t, sendmsg, (int fd, const msghdr* what, int flags), (fd, what, flags), ENOBUFS)
CALL(ssize_t, pread64, (int fd, void* to, size_t size, off_t at), (fd, to, size, at), EIO)
CALL(ssize_t, pwrite64, (int fd, const void* from, size_t size, off_t at), (fd, from, size, at),
     ENOSPC)
CALL(int, fdatasync, (int fd), (fd), EIO)
CALL(int, fsync, (int fd), (fd), EIO)
CALL(int, ftruncate64, (int fd, off_t size), (fd, size), EIO)
CALL(ssize_t, getrandom, (void* to, size_t size, unsigned flags), (to, size, flags), EINTR)

// Of those that libraries make, too, only the program's own fail. They have other names here, since
// headers declare some with arguments that are left open; those are passed on as they may be.
#define OWN_CALL(result, failed, name, parameters, arguments, error)                               \
    EXPORT result own_##name parameters __asm__(#name);                                            \
    EXPORT result own_##name parameters {                                                          \
        if (is_own(__builtin_return_address(0)) && fails(calls)) {                                 \
            errno = error;                                                                         \
            return failed;                                                                         \
        }                                                                                          \
        static auto* const real = next<result parameters>(#name);                                  \
        return real arguments;                                                                     \
    }

OWN_CALL(int, -1, open64, (const char* path, int flags, mode_t mode), (path, flags, mode), EMFILE)
OWN_CALL(int, -1, fcntl64, (int fd, int what, long with), (fd, what, with), ENOMEM)
OWN_CALL(int, -1, ioctl, (int fd, unsigned long what, void* with), (fd, what, with), ENOMEM)
OWN_CALL(int, -1, prctl, (int what, long a, long b, long c, long d), (what, a, b, c, d), EPERM)
OWN_CALL(int, -1, connect, (int fd, const sockaddr* to, socklen_t size), (fd, to, size), EAGAIN)
OWN_CALL(int, -1, rename, (const char* from, const char* to), (from, to), EIO)
OWN_CALL(int, -1, stat64, (const char* path, void* to), (path, to), ENOMEM)
OWN_CALL(int, -1, lstat64, (const char* path, void* to), (path, to), ENOMEM)
OWN_CALL(int, -1, fstat64, (int fd, void* to), (fd, to), ENOMEM)
OWN_CALL(void*, MAP_FAILED, mmap64,
         (void* at, size_t size, int access, int flags, int fd, off_t offset),
         (at, size, access, flags, fd, offset), ENOMEM)
OWN_CALL(FILE*, nullptr, fopen64, (const char* path, const char* mode), (path, mode), EMFILE)

// Those that go to the kernel without a function of their own. Of their arguments all are passed on
// that there may be.
EXPORT long own_syscall(long number, long a, long b, long c, long d, long e,
                        long f) __asm__("syscall");
EXPORT long own_syscall(long number, long a, long b, long c, long d, long e, long f) {
    const int error = number == SYS_epoll_pwait ? EINTR
                      : number == SYS_recvfrom  ? ENOMEM
                      : number == SYS_sendto    ? ENOBUFS
                                                : 0;
    if (error != 0 && fails(calls)) {
        errno = error;
        return -1;
    }
    static auto* const real = next<long(long, long, long, long, long, long, long)>("syscall");
    return real(number, a, b, c, d, e, f);
}

// It returns its error.
EXPORT int posix_fallocate64(int fd, off_t at, off_t size) {
    if (is_own(__builtin_return_address(0)) && fails(calls))
        return EIO;
    static auto* const real = next<int(int, off_t, off_t)>("posix_fallocate64");
    return real(fd, at, size);
}

EXPORT ssize_t read(int fd, void* to, size_t size) {
    if (may_fail(__builtin_return_address(0), size) && fails(calls)) {
        errno = EIO;
        return -1;
    }
    static auto* const real = next<ssize_t(int, void*, size_t)>("read");
    return real(fd, to, size);
}

EXPORT ssize_t write(int fd, const void* from, size_t size) {
    if (may_fail(__builtin_return_address(0), size) && fails(calls)) {
        errno = EIO;
        return -1;
    }
    static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
    return real(fd, from, size);
}

// What liburing's return: negative error numbers.
#define RING_CALL(name, parameters, arguments, error)                                              \
    EXPORT int name parameters {                                                                   \
        if (fails(calls))                                                                          \
            return -(error);                                                                       \
        static auto* const real = next<int parameters>(#name);                                     \
        return real arguments;                                                                     \
    }

struct io_uring;
struct io_uring_buf_reg;
struct io_uring_cqe;
struct io_uring_params;
struct io_uring_probe;
struct __kernel_timespec;
RING_CALL(io_uring_queue_init_params, (unsigned entries, io_uring* ring, io_uring_params* how),
          (entries, ring, how), ENOMEM)
RING_CALL(io_uring_register_buf_ring, (io_uring * ring, io_uring_buf_reg* what, unsigned flags),
          (ring, what, flags), ENOMEM)
RING_CALL(io_uring_submit, (io_uring * ring), (ring), EAGAIN)
RING_CALL(io_uring_submit_and_wait, (io_uring * ring, unsigned count), (ring, count), EINTR)
RING_CALL(io_uring_submit_and_wait_timeout,
          (io_uring * ring, io_uring_cqe** cqe, unsigned count, __kernel_timespec* limit,
           sigset_t* mask),
          (ring, cqe, count, limit, mask), EAGAIN)
RING_CALL(io_uring_submit_and_get_events, (io_uring * ring), (ring), EAGAIN)
RING_CALL(io_uring_get_events, (io_uring * ring), (ring), EAGAIN)

EXPORT io_uring_probe* io_uring_get_probe_ring(io_uring* ring) {
    if (fails(calls))
        return nullptr;
    static auto* const real = next<io_uring_probe*(io_uring*)>("io_uring_get_probe_ring");
    return real(ring);
}
