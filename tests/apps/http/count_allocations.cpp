// Preloaded into a program: counts its allocations in the file ROTA_ALLOCATIONS_FILE, eight bytes
// that another process may read meanwhile.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

// The C library's own, under the names by which it can be called from behind these.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void* malloc(std::size_t size) noexcept;
void* calloc(std::size_t count, std::size_t size) noexcept;
void* realloc(void* old, std::size_t size) noexcept;
void* memalign(std::size_t alignment, std::size_t size) noexcept;
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept;
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept;
}

namespace {

std::atomic<std::uint64_t>* counter = nullptr;

void count() noexcept {
    if (counter != nullptr)
        counter->fetch_add(1, std::memory_order_relaxed);
}

[[gnu::constructor]] void map_counter() {
    const char* const path = std::getenv("ROTA_ALLOCATIONS_FILE");
    const int fd = path != nullptr ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void* const at = ::mmap(nullptr, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (at != MAP_FAILED)
        counter = static_cast<std::atomic<std::uint64_t>*>(at);
}

} // namespace

void* malloc(std::size_t size) noexcept {
    count();
    return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) noexcept {
    count();
    return __libc_calloc(number, size);
}

void* realloc(void* old, std::size_t size) noexcept {
    count();
    return __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
    count();
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    return memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
    *out = memalign(alignment, size);
    return *out != nullptr ? 0 : 12; // ENOMEM
}
