// Preloaded into a program: its wall clock is ahead by as many seconds as the file ROTA_CLOCK_FILE
// says, eight bytes that another process may change meanwhile. Its steady clock is left alone.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

extern "C" {
int clock_gettime(clockid_t clock, timespec* out) noexcept;
time_t time(time_t* out) noexcept;
int gettimeofday(timeval* out, void* zone) noexcept;
}

namespace {

const std::atomic<std::int64_t>* ahead = nullptr;

[[gnu::constructor]] void map_offset() {
    const char* const path = std::getenv("ROTA_CLOCK_FILE");
    const int fd = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void* const at = ::mmap(nullptr, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    if (at != MAP_FAILED)
        ahead = static_cast<const std::atomic<std::int64_t>*>(at);
}

bool is_wall(clockid_t clock) noexcept {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

} // namespace

int clock_gettime(clockid_t clock, timespec* out) noexcept {
    const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, out));
    if (result == 0 && ahead != nullptr && is_wall(clock))
        out->tv_sec += ahead->load(std::memory_order_relaxed);
    return result;
}

time_t time(time_t* out) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != nullptr)
        *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(timeval* out, void*) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    *out = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}
