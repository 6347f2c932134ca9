#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

#include <rota/worker.hpp>

namespace rota {
namespace detail {

/// The part of worker_local<T> that does not depend on T.
class worker_locals {
public:
    worker_locals();
    worker_locals(const worker_locals&) = delete;
    worker_locals& operator=(const worker_locals&) = delete;

protected:
    struct all; // every object of one worker_local

    /// One worker's object. It ends once: when its worker ends, or by the end of the worker_local.
    class object : public kept_object, private runnable {
    public:
        explicit object(const std::shared_ptr<all>& of) noexcept;
        void end() noexcept override;

    private:
        friend class worker_locals;
        static void run(runnable& self) noexcept;

        const std::shared_ptr<all> all_;
        worker* home_ = nullptr;

        // -- the lock of all_
        object* previous_ = nullptr;
        object* next_ = nullptr;
        bool ending_ = false; // the worker_local ends; run() is on its way, or has come
    };

    ~worker_locals();
    /// Returns the worker that the calling thread runs. Throws std::logic_error if there is none.
    [[nodiscard]] static worker& here();
    /// Makes `made` the object of `home`.
    object& add(std::unique_ptr<object> made, worker& home) noexcept;
    /// Ends all objects: see ~worker_local().
    void end_all() noexcept;

    const std::shared_ptr<all> all_;
};

} // namespace detail

/// One T for each worker, made on that worker when it is first asked for there, and destroyed on
/// it: what routines of a worker share without locks, such as a pool of connections or a cache.
///
/// It follows the worker and not the thread, which thread_local does not: a worker's routines run
/// on its own thread and, lent, on the thread that receives, beside those of other workers; and a
/// worker that ends and comes again (runtime::set_workers) has another thread then. Connections in
/// a thread_local would be used on a worker that is not theirs, and would keep their worker, and
/// with it the thread, from ending.
///
/// An object is destroyed when its worker is to end and has no routine left, before the worker lets
/// connections go that outlive their routines; asked for again after that, it is made again. An
/// object may be used until its routine waits, and after the wait, too: no routine changes its
/// worker.
///
/// It may be made and destroyed on any thread, before or after the runtime: it is tied to none.
/// Whatever the number of worker_locals in a program, get() looks through those of one worker.
template <class T>
class worker_local : private detail::worker_locals {
public:
    /// Makes the objects by `T()`.
    worker_local() requires std::default_initializable<T> : make_([] { return T(); }) {}
    /// Makes the objects by `make`, which is called on the workers, perhaps on several at once, and
    /// must not ask for this worker_local.
    explicit worker_local(std::function<T()> make) : make_(std::move(make)) {}
    /// Destroys every object on its worker, while the workers run. A thread that is no worker waits
    /// until that is done; on a worker its own is destroyed at once, and the others soon. No
    /// routine may use an object any more.
    ~worker_local() { end_all(); }

    /// Returns the object of the worker that the calling code runs on. Throws std::logic_error
    /// where there is none (main(), a thread of blocking()), and what making the object throws.
    T& get() {
        worker& home = here();
        kept_object* const there = home.kept(all_.get());
        object& mine = there != nullptr ? static_cast<object&>(*there)
                                        : add(std::make_unique<holder>(all_, make_), home);
        return static_cast<holder&>(mine).value;
    }
    T* operator->() { return &get(); }
    T& operator*() { return get(); }

private:
    struct holder final : object {
        holder(const std::shared_ptr<all>& of, const std::function<T()>& make)
            : object(of), value(make()) {}
        T value;
    };

    const std::function<T()> make_;
};

} // namespace rota
