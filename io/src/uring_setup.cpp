#include "uring_setup.hpp"

#include <atomic>
#include <cerrno>
#include <initializer_list>
#include <memory>

#include <fmt/format.h>

namespace rota::io {
namespace {

/// Rings are mapped and unmapped by bare system calls, which ThreadSanitizer does not see: it would
/// take a ring for another one that had been at its address. Each end of a ring releases to, and
/// each start acquires from here.
std::atomic<unsigned> rings{0};

} // namespace

std::system_error uring_failure(int negative_errno, const char* what) {
    return {-negative_errno, std::system_category(), what};
}

void set_up_ring(io_uring& ring, unsigned entries, unsigned flags, const char* what) {
    for (;;) {
        io_uring_params params{};
        params.flags = flags | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
        params.cq_entries = entries * 4;
        const int result = ::io_uring_queue_init_params(entries, &ring, &params);
        if (result == 0) {
            rings.fetch_add(1, std::memory_order_acq_rel);
            return;
        }
        if (result != -ENOMEM || entries <= ring_entries_min)
            throw uring_failure(result, what);
        entries /= 2;
    }
}

void require_operations(io_uring& ring) {
    const std::unique_ptr<io_uring_probe, void (*)(io_uring_probe*)> known(
        ::io_uring_get_probe_ring(&ring), ::io_uring_free_probe);
    if (known == nullptr)
        throw uring_failure(-EOPNOTSUPP, "io_uring_register (probe)");
    for (const int operation :
         {IORING_OP_NOP, IORING_OP_SENDMSG, IORING_OP_SEND, IORING_OP_RECV, IORING_OP_READ,
          IORING_OP_CONNECT, IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL}) {
        if (::io_uring_opcode_supported(known.get(), operation) == 0) {
            throw std::system_error(EOPNOTSUPP, std::system_category(),
                                    fmt::format("operation {} of io_uring", operation));
        }
    }
}

void tear_down_ring(io_uring& ring) noexcept {
    rings.fetch_sub(1, std::memory_order_acq_rel);
    ::io_uring_queue_exit(&ring);
}

} // namespace rota::io
