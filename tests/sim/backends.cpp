// The two sides of the seam (io/src/backend.hpp) over the network: a kernel with a ring, whose
// completions come in an order that the seed decides.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "backend.hpp"
#include "fiber.hpp"
#include "operation.hpp"
#include "simulation.hpp"

namespace sim {
namespace {

using rota::io::buffer_group;
using rota::io::op_completion;
using rota::io::op_kind;
using rota::io::operation;
namespace flags = rota::io::completion_flags;

const char* name_of(op_kind kind) noexcept {
    switch (kind) {
    case op_kind::receive:
        return "receive";
    case op_kind::poll:
        return "poll";
    case op_kind::connect:
        return "connect";
    }
    return "unknown";
}

class read_backend final : public rota::io::read_backend, private actor {
public:
    /// `bound`: to the thread that enters it, as a ring is: what arrives comes only while that
    /// asks.
    /// `used_last`: which backend of this side that was.
    read_backend(bool bound, std::shared_ptr<read_backend*> used_last)
        : bound_(bound), used_last_(std::move(used_last)) {
        here().add(*this);
    }
    ~read_backend() override {
        const memory::ample kernel;
        if (*used_last_ == this)
            *used_last_ = nullptr;
        here().require(armed_.empty(), "a ring goes with operations in it");
        here().remove(*this);
    }

    void enter_thread() override { thread_ = fiber::current(); }
    [[nodiscard]] bool any_thread() const noexcept override { return !bound_; }
    [[nodiscard]] bool holds_completions() const noexcept override { return !posted_.empty(); }
    void leave() noexcept override {
        const memory::ample kernel;
        check_thread();
        abandon();
    }
    /// Its thread is stuck; nothing comes of what is armed here.
    void abandon() noexcept {
        for (const in_flight& f : armed_)
            --net().find(f.op->fd, name_of(f.op->kind))->armed;
        armed_.clear();
    }
    void attach(buffer_group& group) override {
        const memory::ample kernel;
        here().require(std::ranges::find(attached_, &group) == attached_.end(),
                       "a group of buffers is made known twice");
        attached_.push_back(&group);
        auto& all = simulation::here().groups;
        if (std::ranges::find(all, &group) == all.end())
            all.push_back(&group);
    }

    void arm(operation& op) override {
        const memory::ample kernel;
        check_thread();
        simulation::here().check_role("rota-read");
        take_place();
        here().require(
            std::ranges::none_of(armed_, [&](const in_flight& f) { return f.op == &op; }),
            "an operation is armed twice");
        ++net().find(op.fd, name_of(op.kind))->armed;
        armed_.push_back({.op = &op, .cancelled = false});
        here().note("arm {} {}", name_of(op.kind), op.fd);
    }

    void cancel(operation& op) override {
        for (in_flight& f : armed_) {
            if (f.op == &op)
                f.cancelled = true;
        }
    }

    std::size_t wait(std::span<op_completion> out, time_point until) override {
        const memory::ample kernel;
        check_thread();
        take_place();
        inside_ = true;
        if (until > here().now()) {
            here().wait(
                "completions", [this] { return woken_ || !posted_.empty(); }, until);
        } else if (bound_ || here().rng().chance(100)) {
            here().yield();
        }
        inside_ = false;
        woken_ = false;
        // A batch may be cut short: what is left comes with the next one.
        std::size_t count = std::min(out.size(), posted_.size());
        if (count > 1 && here().rng().chance(200))
            count = here().rng().between(1, count);
        std::copy_n(posted_.begin(), count, out.begin());
        posted_.erase(posted_.begin(), posted_.begin() + static_cast<std::ptrdiff_t>(count));
        return count;
    }

    void wake() noexcept override { woken_ = true; }

private:
    struct in_flight {
        operation* op;
        bool cancelled;
    };

    static network& net() { return simulation::here().net; }

    /// A second one that is used for the same side is of a thread that has taken over.
    void take_place() noexcept {
        if (read_backend* const before = std::exchange(*used_last_, this);
            before != nullptr && before != this)
            before->abandon();
    }
    void check_thread() const {
        here().require(!bound_ || thread_ == fiber::current(), "a ring is entered by two threads");
    }

    // -- the kernel
    [[nodiscard]] std::string_view name() const override { return "kernel"; }
    [[nodiscard]] time_point due() override {
        const bool asked = inside_ || !bound_;
        return asked && std::ranges::any_of(armed_, can_go_on) ? here().now() : never;
    }

    static bool can_go_on(const in_flight& f) { return f.cancelled || has_result(*f.op); }

    static bool has_result(const operation& op) {
        const descriptor& d = *net().find(op.fd, name_of(op.kind));
        if (d.datagrams && op.poll_events == POLLIN)
            return simulation::here().post.can_receive(d);
        if (d.datagrams)
            return simulation::here().post.can_send(op.fd);
        if (d.listening)
            return d.shut || !d.backlog.empty();
        const link& l = *d.connected;
        if (op.kind == op_kind::poll)
            return network::can_send(l, net().conditions().send_buffer);
        return !l.up.arrived.empty() || l.up.ended || l.reset_by_client || l.aborted ||
               l.receiving_shut;
    }

    void step() override {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < armed_.size(); ++i) {
            if (can_go_on(armed_[i]))
                ready.push_back(i);
        }
        const std::size_t index = ready[here().rng().below(ready.size())];
        in_flight& f = armed_[index];
        // A result that is there may be quicker than the cancel.
        if (f.cancelled && (!has_result(*f.op) || here().rng().chance(600))) {
            post(index, -ECANCELED, 0);
            return;
        }
        switch (f.op->kind) {
        case op_kind::receive:
            receive(index);
            break;
        case op_kind::poll:
            post(index, static_cast<std::int32_t>(f.op->poll_events), 0);
            break;
        case op_kind::connect:
            here().fail("connect is not simulated");
        }
    }

    /// Without `more` it is the last one.
    void post(std::size_t index, std::int32_t result, std::uint32_t with) {
        operation& op = *armed_[index].op;
        here().note("done {} {}: {}{}", name_of(op.kind), op.fd, result,
                    (with & flags::more) != 0 ? ", more" : "");
        posted_.push_back({.op = &op, .result = result, .flags = with});
        if ((with & flags::more) != 0)
            return;
        --net().find(op.fd, name_of(op.kind))->armed;
        armed_.erase(armed_.begin() + static_cast<std::ptrdiff_t>(index));
    }

    void receive(std::size_t index) {
        operation& op = *armed_[index].op;
        link& l = *net().find(op.fd, "receive")->connected;
        random& r = here().rng();
        if (r.chance(net().conditions().receive_failures)) {
            constexpr int errors[] = {ENOBUFS, ENOMEM};
            post(index, -r.one_of(errors), 0);
            return;
        }
        if (l.up.arrived.empty()) {
            post(index, l.reset_by_client || l.aborted ? -ECONNRESET : 0, 0);
            return;
        }
        const bool known = std::ranges::find(attached_, op.group) != attached_.end();
        const std::uint16_t buffer = known ? take(*op.group) : buffer_group::none;
        if (buffer == buffer_group::none) {
            post(index, -ENOBUFS, 0);
            return;
        }
        std::size_t size =
            std::min({l.up.arrived.size(), op.group->bytes_each(), std::size_t{op.room}});
        if (r.chance(300))
            size = r.between(1, size);
        std::memcpy(op.group->data(buffer), l.up.arrived.data(), size);
        l.up.arrived.erase(0, size);
        op.room -= static_cast<std::uint32_t>(size);
        // A receive ends now and then with data, as with a completion queue that is full.
        const bool ends = op.room == 0 || r.chance(net().conditions().receive_failures);
        const std::uint32_t more = ends ? 0 : flags::more;
        post(index, static_cast<std::int32_t>(size),
             more | flags::buffer | std::uint32_t{buffer} << flags::buffer_shift);
    }

    static std::uint16_t take(buffer_group& group);

    const bool bound_;
    const std::shared_ptr<read_backend*> used_last_;
    bool inside_ = false; // its thread is in wait()
    const fiber* thread_ = nullptr;
    std::vector<in_flight> armed_;
    std::vector<const buffer_group*> attached_;
    std::deque<op_completion> posted_;
    bool woken_ = false;
};

class write_backend final : public rota::io::write_backend {
public:
    void send(std::span<rota::io::send_request> batch) override {
        const memory::ample kernel;
        simulation::here().check_role("rota-write");
        for (rota::io::send_request& r : batch) {
            std::string bytes;
            if (r.file != nullptr) {
                bytes.resize(r.file->bytes);
                const ssize_t got = ::pread(r.file->file, bytes.data(), bytes.size(),
                                            static_cast<off_t>(r.file->offset));
                here().require(got >= 0, "a file is sent that is closed");
                bytes.resize(static_cast<std::size_t>(got));
                if (bytes.empty()) {
                    r.result = 0;
                    continue;
                }
            }
            for (std::size_t i = 0; i < r.message.msg_iovlen; ++i) {
                const iovec& piece = r.message.msg_iov[i];
                bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
            }
            r.result = simulation::here().net.send(r.fd, bytes);
            here().note("send {}: {} of {}", r.fd, r.result, bytes.size());
        }
    }
};

/// Each buffer is in the ring once at most, and the ring has room for all and no more.
std::uint16_t read_backend::take(buffer_group& group) {
    const std::uint16_t first = group.take();
    if (first == buffer_group::none)
        return first;
    std::vector<bool> seen(group.count(), false);
    seen[first] = true;
    std::size_t looked_at = 0;
    for (std::uint16_t b = group.take(); b != buffer_group::none; b = group.take()) {
        here().require(!seen[b], "a receive buffer has been given back twice");
        seen[b] = true;
        ++looked_at;
    }
    for (; looked_at != 0; --looked_at)
        group.untake();
    return first;
}

} // namespace

simulation* simulation::current = nullptr;

simulation::simulation(const world::options& o) : w(o), net(weather::draw(w.rng())) {
    current = this;
}
simulation::~simulation() { current = nullptr; }

void simulation::check_role(std::string_view name) const {
    const fiber* const self = fiber::current();
    sim::here().require(!dedicated || (self != nullptr && self->name.starts_with(name)),
                        "a thread does what is another's part");
}

rota::io::backend_source simulated_backends(rota::io::topology how) {
    const bool bound = here().rng().chance(500);
    const bool one_side = how != rota::io::topology::per_worker;
    simulation::here().dedicated = how == rota::io::topology::dedicated;
    const auto of_the_side = std::make_shared<read_backend*>(nullptr);
    return {.make_read =
                [=] {
                    const memory::ample kernel;
                    return std::make_unique<read_backend>(
                        bound, one_side ? of_the_side : std::make_shared<read_backend*>(nullptr));
                },
            .make_write = [] { return std::make_unique<write_backend>(); }};
}

} // namespace sim
