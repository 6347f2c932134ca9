// What the connection's worker puts into an output's queue: see output.hpp.

#include <utility>

#include <rota/check.hpp>

#include "output.hpp"
#include "string_pool.hpp"
#include "write_side.hpp"

namespace rota::io {
namespace {

constexpr std::size_t append_limit = 16'384; // small writes gather in one string up to this size
constexpr std::size_t file_share = 4; // bytes of a file are not copied: so many are work as one is

} // namespace

bool output::hand_to_writer_locked() noexcept {
    if (with_writer_)
        return false;
    with_writer_ = true;
    return true;
}

void output::append_locked(std::string_view bytes) {
    ROTA_CHECK(!closed_, "nothing is queued behind the end");
    const bool behind_file =
        files_ && !files_->pending.empty() && files_->pending.back().before == pending_.size();
    if (!pending_.empty() && !behind_file && pending_.back().takes(bytes.size(), append_limit)) {
        pending_.back().append(bytes);
        queued_bytes_ += bytes.size(); // behind what may throw, here and below
        return;
    }
    pending_.emplace_back(bytes);
    queued_bytes_ += bytes.size();
}

bool output::queue(std::string_view bytes, bool force) {
    bool hand_over = false;
    {
        const std::lock_guard guard(lock_);
        if (error_ != 0 || tail_ != tail::open)
            return false;
        if (!force && queued_bytes_ + bytes.size() > limits_.high_water_bytes)
            return false;
        if (bytes.empty())
            return true;
        append_locked(bytes);
        hand_over = hand_to_writer_locked();
    }
    if (hand_over)
        sender_.enqueue(*this, bytes.size());
    return true;
}

bool output::queue_file(std::string_view before, const file_slice& part, bool last, bool waited,
                        bool force) {
    const std::uint64_t size = before.size() + part.size;
    bool hand_over = false;
    {
        const std::lock_guard guard(lock_);
        if (error_ != 0 || tail_ != tail::open)
            return false;
        // A file takes no memory: where nothing else is queued it has room.
        if (!force && queued_bytes_ != 0 && queued_bytes_ + size > limits_.high_water_bytes)
            return false;
        files_.make();
        if (part.size != 0)
            files_->pending.reserve(files_->pending.size() + 1); // what may throw comes first
        if (!before.empty())
            append_locked(before);
        if (part.size != 0) {
            files_->pending.push_back({.before = pending_.size(),
                                       .part = part,
                                       .last = last,
                                       .waited = waited || with_writer_});
            queued_bytes_ += part.size;
        }
        hand_over = size != 0 && hand_to_writer_locked();
    }
    if (hand_over)
        sender_.enqueue(*this, before.size() + part.size / file_share);
    return true;
}

bool output::queue_owned(std::string&& bytes) {
    bool hand_over = false;
    const std::size_t size = bytes.size();
    {
        const std::lock_guard guard(lock_);
        if (error_ != 0 || tail_ != tail::open)
            return false;
        if (bytes.empty())
            return true;
        if (size < append_limit / 4) {
            append_locked(bytes);
        } else {
            pending_.emplace_back(std::move(bytes));
            queued_bytes_ += size;
        }
        hand_over = hand_to_writer_locked();
    }
    if (hand_over)
        sender_.enqueue(*this, size);
    return true;
}

bool output::queue_shared(std::string_view before, shared_bytes bytes, bool force) {
    bool hand_over = false;
    const std::size_t size = before.size() + bytes.size();
    {
        const std::lock_guard guard(lock_);
        if (error_ != 0 || tail_ != tail::open)
            return false;
        if (!force && queued_bytes_ + size > limits_.high_water_bytes)
            return false;
        if (size == 0)
            return true;
        if (pending_.capacity() - pending_.size() < 2) // what may throw comes first
            pending_.reserve(2 * pending_.size() + 2);
        if (!before.empty())
            append_locked(before);
        if (bytes.size() != 0) {
            queued_bytes_ += bytes.size();
            pending_.emplace_back(std::move(bytes));
        }
        hand_over = hand_to_writer_locked();
    }
    if (hand_over)
        sender_.enqueue(*this, size);
    return true;
}

} // namespace rota::io
