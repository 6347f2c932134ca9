#include "kept_memory.hpp"

#include <bit>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace rota::coding {

struct alignas(std::max_align_t) kept_memory::head {
    std::size_t size; // of the block
    head* next;
    head* before; // of a taken one, for it is given back in any order
};

kept_memory::~kept_memory() {
    free_taken();
    drop_kept();
}

namespace {

/// The system has it back at once. malloc() would keep it for the thread that took it, and after
/// the first it does so with windows of all sizes (man 3 mallopt, M_MMAP_THRESHOLD).
constexpr std::size_t mapped_min = 1'048'576;

/// Sizes that differ a little are one: at most an eighth more.
std::size_t rounded(std::size_t size) noexcept {
    if (size > std::numeric_limits<std::size_t>::max() / 2)
        return size; // which cannot be had
    const int bits = std::bit_width(size);
    const std::size_t step = bits > 4 ? std::size_t{1} << (bits - 4) : 1;
    return (size + step - 1) / step * step;
}

} // namespace

void kept_memory::drop_kept() noexcept {
    while (kept_ != nullptr) {
        head* const next = kept_->next;
        bytes_ -= kept_->size;
        unmake(kept_);
        kept_ = next;
    }
    kept_bytes_ = 0;
}

void kept_memory::free_taken() noexcept {
    while (taken_ != nullptr) {
        head* const next = taken_->next;
        bytes_ -= taken_->size;
        unmake(taken_);
        taken_ = next;
    }
}

void* kept_memory::take(std::size_t size) {
    head* block = find_kept(rounded(size));
    if (block == nullptr)
        block = make(rounded(size));
    if (block == nullptr) {
        if (way_out_ != nullptr)
            std::longjmp(*std::exchange(way_out_, nullptr), 1);
        return nullptr;
    }
    block->before = nullptr;
    block->next = taken_;
    if (taken_ != nullptr)
        taken_->before = block;
    taken_ = block;
    return block + 1;
}

kept_memory::head* kept_memory::find_kept(std::size_t size) noexcept {
    for (head** at = &kept_; *at != nullptr; at = &(*at)->next) {
        head* const found = *at;
        if (found->size != size)
            continue;
        *at = found->next;
        kept_bytes_ -= size;
        return found;
    }
    return nullptr;
}

kept_memory::head* kept_memory::make(std::size_t size) noexcept {
    if (size > std::numeric_limits<std::size_t>::max() / 2)
        return nullptr;
    void* made = nullptr;
    if (size < mapped_min) {
        made = std::malloc(sizeof(head) + size);
    } else {
        made = ::mmap(nullptr, sizeof(head) + size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED)
            made = nullptr;
    }
    if (made == nullptr)
        return nullptr;
    bytes_ += size;
    return new (made) head{size, nullptr, nullptr};
}

void kept_memory::unmake(head* block) noexcept {
    if (block->size < mapped_min)
        std::free(block);
    else
        ::munmap(block, sizeof(head) + block->size);
}

void kept_memory::give_back(void* block) noexcept {
    if (block == nullptr)
        return;
    head* const given = static_cast<head*>(block) - 1;
    (given->before != nullptr ? given->before->next : taken_) = given->next;
    if (given->next != nullptr)
        given->next->before = given->before;
    if (given->size > kept_bytes_max_ - kept_bytes_)
        drop_kept(); // nobody asks for those sizes, it seems
    if (given->size > kept_bytes_max_) {
        bytes_ -= given->size;
        unmake(given);
        return;
    }
    kept_bytes_ += given->size;
    given->next = kept_;
    kept_ = given;
}

} // namespace rota::coding
