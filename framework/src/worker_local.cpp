#include <rota/worker_local.hpp>

#include <cstddef>
#include <mutex>
#include <stdexcept>

#include <rota/check.hpp>
#include <rota/detail/parker.hpp>

namespace rota::detail {

/// Shared by the worker_local and its objects, since either may go first.
///
/// A worker ends its objects before it ends itself, and takes each out of the list first. So the
/// worker of what is in the list is there, and has a place to give.
struct worker_locals::all {
    std::mutex lock; // guards the list, and what objects say is guarded
    object* first = nullptr;
    std::size_t ending = 0; // objects on whose end the worker_local waits
    parker ended;           // all of them
};

worker_locals::object::object(const std::shared_ptr<all>& of) noexcept
    : kept_object(of.get()), runnable(&run), all_(of) {}

void worker_locals::object::end() noexcept {
    {
        const std::lock_guard guard(all_->lock);
        if (ending_)
            return; // run() does it, for which the worker waits
        (previous_ != nullptr ? previous_->next_ : all_->first) = next_;
        if (next_ != nullptr)
            next_->previous_ = previous_;
    }
    delete this;
}

void worker_locals::object::run(runnable& self) noexcept {
    object& mine = static_cast<object&>(self);
    const std::shared_ptr<all> of = mine.all_;
    worker& home = *mine.home_;
    home.drop(mine);
    delete &mine;
    bool last = false;
    {
        const std::lock_guard guard(of->lock);
        last = --of->ending == 0;
    }
    if (last)
        of->ended.notify();
    home.remove_place();
}

worker_locals::worker_locals() : all_(std::make_shared<all>()) {}

worker_locals::~worker_locals() = default;

worker& worker_locals::here() {
    worker* const home = worker::current();
    if (home == nullptr)
        throw std::logic_error("rota: a worker_local is asked for by a thread that runs no worker");
    return *home;
}

worker_locals::object& worker_locals::add(std::unique_ptr<object> made, worker& home) noexcept {
    object& added = *made.release();
    added.home_ = &home;
    {
        const std::lock_guard guard(all_->lock);
        added.next_ = all_->first;
        if (all_->first != nullptr)
            all_->first->previous_ = &added;
        all_->first = &added;
    }
    home.keep(added);
    return added;
}

void worker_locals::end_all() noexcept {
    object* left = nullptr;
    std::size_t others = 0;
    {
        const std::lock_guard guard(all_->lock);
        left = std::exchange(all_->first, nullptr);
        for (object* o = left; o != nullptr; o = o->next_) {
            const bool has_place = o->home_->add_place(); // given back by run()
            ROTA_CHECK_ALWAYS(has_place, "a worker ends its objects before it ends itself");
            o->ending_ = true;
            others += o->home_->is_held() ? 0 : 1;
            ++all_->ending;
        }
    }
    while (left != nullptr) {
        object& o = *left;
        left = o.next_;
        worker& home = *o.home_;
        if (home.is_held()) {
            worker* const before = home.hold();
            object::run(o);
            worker::restore(before);
        } else {
            home.post(o); // which may be gone now
        }
    }
    if (others != 0 && worker::current() == nullptr)
        all_->ended.wait();
}

} // namespace rota::detail
