// The two sides of the seam (io/src/backend.hpp) over the network: a kernel with a ring, whose
// completions come in an order that the seed decides.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

#include "backend.hpp"
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
    read_backend() { here().add(*this); }
    ~read_backend() override {
        here().require(armed_.empty(), "a ring goes with operations in it");
        here().remove(*this);
    }

    void enter_thread() override {}
    void attach(buffer_group& group) override { simulation::here().groups.push_back(&group); }

    void arm(operation& op) override {
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
        if (until > here().now()) {
            here().wait(
                "completions", [this] { return woken_ || !posted_.empty(); }, until);
        } else if (here().rng().chance(100)) {
            here().yield();
        }
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

    // -- the kernel
    [[nodiscard]] std::string_view name() const override { return "kernel"; }
    [[nodiscard]] time_point due() override {
        return std::ranges::any_of(armed_, can_go_on) ? here().now() : never;
    }

    static bool can_go_on(const in_flight& f) { return f.cancelled || has_result(*f.op); }

    static bool has_result(const operation& op) {
        const descriptor& d = *net().find(op.fd, name_of(op.kind));
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
        const std::uint16_t buffer = take(*op.group);
        if (buffer == buffer_group::none) {
            post(index, -ENOBUFS, 0);
            return;
        }
        std::size_t size = std::min(l.up.arrived.size(), op.group->bytes_each());
        if (r.chance(300))
            size = r.between(1, size);
        std::memcpy(op.group->data(buffer), l.up.arrived.data(), size);
        l.up.arrived.erase(0, size);
        // A receive ends now and then with data, as with a completion queue that is full.
        const std::uint32_t more = r.chance(net().conditions().receive_failures) ? 0 : flags::more;
        post(index, static_cast<std::int32_t>(size),
             more | flags::buffer | std::uint32_t{buffer} << flags::buffer_shift);
    }

    static std::uint16_t take(buffer_group& group);

    std::vector<in_flight> armed_;
    std::deque<op_completion> posted_;
    bool woken_ = false;
};

class write_backend final : public rota::io::write_backend {
public:
    void send(std::span<rota::io::send_request> batch) override {
        for (rota::io::send_request& r : batch) {
            std::string bytes;
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

rota::io::backend_source simulated_backends() {
    return {.make_read = [] { return std::make_unique<read_backend>(); },
            .make_write = [] { return std::make_unique<write_backend>(); }};
}

} // namespace sim
