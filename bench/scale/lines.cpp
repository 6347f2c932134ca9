// Counts the lines of memory that move between threads: linked in the place of the race detector
// into a program that is compiled for it (-fsanitize=thread), whose every access to memory calls
// what is here.
//
// Each thread stands for a core with a cache of its own that loses nothing but to others, as in
// MESI: a read of a line that others have and this thread has not, and a write to one that others
// have, are a move. A move is needless where only this thread has ever touched the word itself, and
// others have touched its neighbours in the line (false sharing).
//
// What is compiled otherwise is not seen: the C library with its locks and copies, other libraries,
// the kernel. Counters are in the file that ROTA_LINES names, for others to read meanwhile.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using u64 = std::uint64_t;
constexpr u64 line_bytes = 64;
constexpr u64 words = 8; // of a line
constexpr unsigned threads_max = 64;
constexpr u64 lines_max = u64{1} << 20;
constexpr u64 places_max = 4'096;

struct line {
    std::atomic<u64> address;        // of it, by 64; 0: free
    std::atomic<u64> owners;         // a bit for each thread that has it
    std::atomic<u64> touched[words]; // a bit for each thread that has ever
};

/// Where a move comes from: an address in the program, from its beginning on.
struct place {
    std::atomic<u64> code;
    std::atomic<u64> moves;
    std::atomic<u64> needless;
};

struct counters {
    std::atomic<u64> moves;
    std::atomic<u64> needless;
    std::atomic<u64> threads;
    std::atomic<u64> lost; // lines and places for which there was no room
    place places[places_max];
};

extern "C" const char __executable_start[]; // the linker's

void* map(u64 bytes, int file) {
    const int how = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, how, file, 0);
    return at == MAP_FAILED ? nullptr : at;
}

counters* open_counters() {
    const char* const name = std::getenv("ROTA_LINES");
    if (name == nullptr)
        return nullptr;
    const int file = ::open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, sizeof(counters)) != 0)
        return nullptr;
    return static_cast<counters*>(map(sizeof(counters), file));
}

line* all_lines = nullptr;
counters* counted = nullptr;
std::atomic<bool> counts{false};
thread_local unsigned me = 0; // from 1

/// Before main() there is one thread, and nothing to count.
[[gnu::constructor]] void begin() {
    counted = open_counters();
    all_lines = static_cast<line*>(map(lines_max * sizeof(line), -1));
    counts.store(counted != nullptr && all_lines != nullptr);
}

/// The place for a key in a table, taken or found; null if there is none nearby.
template <class Entry>
Entry* find(Entry* all, u64 size, std::atomic<u64> Entry::*key, u64 wanted) {
    constexpr u64 tries = 64;
    u64 at = wanted * 0x9e37'79b9'7f4a'7c15U >> 20;
    for (u64 i = 0; i < tries; ++i, ++at) {
        Entry& one = all[at % size];
        u64 there = (one.*key).load(std::memory_order_relaxed);
        if (there == wanted)
            return &one;
        if (there == 0 && (one.*key).compare_exchange_strong(there, wanted))
            return &one;
        if (there == wanted)
            return &one;
    }
    counted->lost.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
}

[[gnu::noinline]] void note_move(bool needless, const void* code) {
    counted->moves.fetch_add(1, std::memory_order_relaxed);
    counted->needless.fetch_add(needless ? 1 : 0, std::memory_order_relaxed);
    const u64 offset = reinterpret_cast<u64>(code) - reinterpret_cast<u64>(__executable_start);
    if (place* const from = find(counted->places, places_max, &place::code, offset)) {
        from->moves.fetch_add(1, std::memory_order_relaxed);
        from->needless.fetch_add(needless ? 1 : 0, std::memory_order_relaxed);
    }
}

void touch_line(u64 address, u64 bytes, bool write, const void* code) {
    line* const l = find(all_lines, lines_max, &line::address, address / line_bytes);
    if (l == nullptr)
        return;
    const u64 mine = u64{1} << (me - 1);
    const u64 owners = l->owners.load(std::memory_order_relaxed);
    const u64 first = address % line_bytes / 8;
    const u64 last = (address % line_bytes + bytes - 1) / 8;
    u64 touched = 0;
    for (u64 w = first; w <= last; ++w) {
        const u64 before = l->touched[w].load(std::memory_order_relaxed);
        touched |= before;
        if ((before & mine) == 0)
            l->touched[w].fetch_or(mine, std::memory_order_relaxed);
    }
    if (write ? (owners & ~mine) != 0 : owners != 0 && (owners & mine) == 0)
        note_move((touched & ~mine) == 0, code);
    if (write) {
        if (owners != mine)
            l->owners.store(mine, std::memory_order_relaxed);
    } else if ((owners & mine) == 0) {
        l->owners.fetch_or(mine, std::memory_order_relaxed);
    }
}

void touch(const volatile void* at, u64 bytes, bool write, const void* code) {
    if (!counts.load(std::memory_order_relaxed) || bytes == 0)
        return;
    if (me == 0)
        me = static_cast<unsigned>(counted->threads.fetch_add(1) % threads_max) + 1;
    u64 address = reinterpret_cast<u64>(at);
    while (bytes != 0) {
        const u64 here = std::min(bytes, line_bytes - address % line_bytes);
        touch_line(address, here, write, code);
        address += here;
        bytes -= here;
    }
}

constexpr int ordered = __ATOMIC_SEQ_CST; // whatever is asked for

} // namespace

// NOLINTBEGIN: the names are the compiler's
#define HERE __builtin_return_address(0)
#define ACCESS(size)                                                                               \
    void __tsan_read##size(void* at) { touch(at, size, false, HERE); }                             \
    void __tsan_write##size(void* at) { touch(at, size, true, HERE); }                             \
    void __tsan_unaligned_read##size(void* at) { touch(at, size, false, HERE); }                   \
    void __tsan_unaligned_write##size(void* at) { touch(at, size, true, HERE); }                   \
    void __tsan_volatile_read##size(void* at) { touch(at, size, false, HERE); }                    \
    void __tsan_volatile_write##size(void* at) { touch(at, size, true, HERE); }
#define CHANGE(bits, type, name)                                                                   \
    type __tsan_atomic##bits##_##name(volatile type* at, type value, int) {                        \
        touch(at, sizeof(type), true, HERE);                                                       \
        return __atomic_##name(at, value, ordered);                                                \
    }
#define ATOMIC(bits, type)                                                                         \
    type __tsan_atomic##bits##_load(const volatile type* at, int) {                                \
        touch(at, sizeof(type), false, HERE);                                                      \
        return __atomic_load_n(at, ordered);                                                       \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type* at, type value, int) {                         \
        touch(at, sizeof(type), true, HERE);                                                       \
        __atomic_store_n(at, value, ordered);                                                      \
    }                                                                                              \
    type __tsan_atomic##bits##_exchange(volatile type* at, type value, int) {                      \
        touch(at, sizeof(type), true, HERE);                                                       \
        return __atomic_exchange_n(at, value, ordered);                                            \
    }                                                                                              \
    CHANGE(bits, type, fetch_add)                                                                  \
    CHANGE(bits, type, fetch_sub)                                                                  \
    CHANGE(bits, type, fetch_and)                                                                  \
    CHANGE(bits, type, fetch_or)                                                                   \
    CHANGE(bits, type, fetch_xor)                                                                  \
    bool __tsan_atomic##bits##_compare_exchange_strong(volatile type* at, type* old, type value,   \
                                                       int, int) {                                 \
        touch(at, sizeof(type), true, HERE);                                                       \
        return __atomic_compare_exchange_n(at, old, value, false, ordered, ordered);               \
    }                                                                                              \
    bool __tsan_atomic##bits##_compare_exchange_weak(volatile type* at, type* old, type value,     \
                                                     int, int) {                                   \
        touch(at, sizeof(type), true, HERE);                                                       \
        return __atomic_compare_exchange_n(at, old, value, true, ordered, ordered);                \
    }

extern "C" {

ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
void __tsan_read_range(void* at, unsigned long bytes) { touch(at, bytes, false, HERE); }
void __tsan_write_range(void* at, unsigned long bytes) { touch(at, bytes, true, HERE); }
void __tsan_vptr_update(void** at, void*) { touch(at, sizeof *at, true, HERE); }
void __tsan_vptr_read(void** at) { touch(at, sizeof *at, false, HERE); }
ATOMIC(8, unsigned char)
ATOMIC(16, unsigned short)
ATOMIC(32, unsigned int)
ATOMIC(64, unsigned long)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(ordered); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(ordered); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}

} // extern "C"
// NOLINTEND
