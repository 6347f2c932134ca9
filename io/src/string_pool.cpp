#include "string_pool.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <rota/thread_end.hpp>

namespace rota::io {
namespace {

using strings = std::vector<std::string>;

void move_some(strings& from, strings& to, std::size_t count) {
    for (; count > 0 && !from.empty(); --count) {
        to.push_back(std::move(from.back()));
        from.pop_back();
    }
}

/// What threads leave for each other, of one size.
class depot {
public:
    explicit depot(std::size_t shelf_max) : half_(shelf_max / 2) {
        strings_.reserve(shelf_max * string_pool::depot_shelves);
    }
    /// Takes half of a full shelf; what there is no room for goes back to the allocator.
    void leave(strings& from) noexcept {
        {
            const std::lock_guard hold(lock_);
            move_some(from, strings_, std::min(half_, strings_.capacity() - strings_.size()));
        }
        from.resize(std::min(from.size(), half_));
    }
    void fetch(strings& to) noexcept {
        const std::lock_guard hold(lock_);
        move_some(strings_, to, half_); // `to` is empty and has room for twice that
    }

private:
    const std::size_t half_;
    std::mutex lock_;
    strings strings_; // guarded by lock_
};

/// Of one size.
struct shelf {
    shelf(std::size_t most, depot& behind) : others(behind) { kept.reserve(most); }
    depot& others;
    strings kept; // its capacity is its bound
};

struct shelves {
    shelf small;
    shelf large;
};

/// Of this thread; made when it is first wanted, and cleared away at its end.
constinit thread_local shelves* mine = nullptr;

void clear(void* object) noexcept {
    delete static_cast<shelves*>(object);
    mine = nullptr;
}

/// Throws std::bad_alloc.
void make_shelves() {
    // Never destroyed: threads may end after it would have been.
    static depot& small = *new depot(string_pool::small_max);
    static depot& large = *new depot(string_pool::large_max);
    static const thread_end end(&clear);
    auto made = std::make_unique<shelves>(shelf(string_pool::small_max, small),
                                          shelf(string_pool::large_max, large));
    if (!end.note(made.get()))
        throw std::bad_alloc();
    mine = made.release();
}

shelves& here() {
    if (mine == nullptr)
        make_shelves();
    return *mine;
}

} // namespace

std::string string_pool::take(std::size_t bytes) {
    const std::size_t wanted = std::max(bytes, bytes_min);
    shelf& from = bytes <= small_bytes ? here().small : here().large;
    if (from.kept.empty())
        from.others.fetch(from.kept);
    if (from.kept.empty()) {
        std::string made;
        made.reserve(wanted);
        return made;
    }
    std::string taken(std::move(from.kept.back()));
    from.kept.pop_back();
    if (taken.capacity() < wanted)
        taken.reserve(wanted);
    return taken;
}

void string_pool::keep(std::string& s) noexcept {
    const std::size_t size = s.capacity();
    if (size >= bytes_min && size <= large_bytes) {
        try {
            shelf& to = size <= small_bytes ? here().small : here().large;
            if (to.kept.size() == to.kept.capacity())
                to.others.leave(to.kept);
            s.clear();
            to.kept.push_back(std::move(s));
            return;
        } catch (const std::bad_alloc&) { // a thread's first: there is no memory for a shelf
        }
    }
    std::string().swap(s);
}

} // namespace rota::io
