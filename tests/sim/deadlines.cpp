// Deadlines of what accepts, writes and flushes, which pass all the time: no client is lost, and
// what is written arrives, but for what a deadline has kept from being written.

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <rota/errors.hpp>
#include <rota/io/listener.hpp>
#include <rota/join.hpp>
#include <rota/routine.hpp>

#include "memory.hpp"
#include "peer.hpp"
#include "scenario.hpp"

namespace sim {
namespace {

using rota::task;
using rota::io::accepted_socket;
using rota::io::connection;
using rota::io::deadline;

/// A write of no more is queued as a whole, or not at all.
constexpr std::size_t slice_bytes = 65'536;
constexpr auto far_away = std::chrono::hours(9);
/// What waits goes on so soon after its deadline.
constexpr auto late_max = std::chrono::milliseconds(100); // where looks at the clock take long

/// What a client is to receive.
struct story {
    bool begun = false;
    std::string queued;
    std::string doing;    ///< behind that: what is being written
    std::string cut;      ///< behind that: the beginning of this, whose rest a deadline cut
    bool unsure = false;  ///< whether it was cut is yet to be found out
    bool whole = false;   ///< the kernel has taken it all
    bool unheard = false; ///< the client's second line did not come
};

struct host {
    rota::io::context& context;
    std::vector<story> stories;
    std::size_t connections = 0;
    std::stop_source drains{};
};

/// Counts a client from its accept on, even if what serves it never begins.
class seat {
public:
    explicit seat(host* in) noexcept : in_(in) { ++in->connections; }
    seat(seat&& other) noexcept : in_(std::exchange(other.in_, nullptr)) {}
    seat& operator=(seat&&) = delete;
    ~seat() {
        if (in_ != nullptr)
            --in_->connections;
    }

private:
    host* in_;
};

/// Passed already, soon, or not in this run; or there is none.
deadline draw_deadline(random& r) {
    switch (r.below(6)) {
    case 0:
        return std::nullopt;
    case 1:
        return here().now() + far_away;
    case 2:
        return here().now() - nanoseconds(1);
    default:
        return here().now() + nanoseconds(r.below(20'000'000));
    }
}

/// A wait that has begun and is to end.
class timed {
public:
    explicit timed(const deadline& until) : until_(until) {}

    void check_late() const {
        here().require(until_ && here().now() >= *until_, "a deadline passes too early");
        check_end();
    }
    void check_end() const {
        here().require(!until_ || here().now() < std::max(*until_, begin_) + late_max,
                       "a wait goes on beyond its deadline");
    }

private:
    const deadline until_;
    const time_point begin_ = here().now();
};

/// Writes to one client, and keeps its story.
class teller {
public:
    teller(connection* to, story* s) : to_(*to), story_(*s) { story_.begun = true; }

    task<void> tell() {
        random& r = here().rng();
        for (std::size_t left = r.between(1, 12); left != 0 && story_.cut.empty(); --left)
            co_await tell_something();
        while (!story_.cut.empty() && r.chance(700))
            co_await tell_nothing();
        co_await flush();
        const std::optional<std::string> line = co_await to_.read_line();
        story_.unheard = line != "more";
        if (r.chance(300))
            co_return;
        co_await to_.flush();
        story_.whole = true;
    }

private:
    void add(std::string_view queued) {
        const memory::ample now;
        story_.queued += queued;
    }

    /// A piece that is like no other.
    const std::string& draw_piece() {
        const memory::ample now;
        random& r = here().rng();
        const std::size_t size = r.chance(150) ? r.below(4 * slice_bytes) : r.below(2'000);
        story_.doing = fmt::format("({}:", ++pieces_);
        story_.doing.append(size, static_cast<char>('a' + pieces_ % 26)).append(")\n");
        return story_.doing;
    }

    task<void> tell_something() {
        const std::string& piece = draw_piece();
        const deadline until = draw_deadline(here().rng());
        const timed wait(until);
        try {
            const bool written = co_await write_somehow(&piece, until);
            wait.check_end();
            if (written)
                add(piece);
        } catch (const rota::timed_out&) {
            wait.check_late();
            story_.unsure = piece.size() > slice_bytes;
        }
        if (story_.unsure)
            co_await find_out();
        story_.doing.clear();
    }

    task<bool> write_somehow(const std::string* piece, deadline until) {
        const std::string_view text = *piece;
        switch (here().rng().below(5)) {
        case 0: {
            std::string copy = *piece;
            co_await to_.write_owned(std::move(copy), until);
            break;
        }
        case 1:
            co_await to_.write_line(text.substr(0, text.size() - 1), until);
            break;
        case 2: {
            const std::array<std::string_view, 2> halves{text.substr(0, text.size() / 2),
                                                         text.substr(text.size() / 2)};
            co_await to_.write_all(halves, until);
            break;
        }
        case 3:
            co_return to_.try_write(text);
        default:
            co_await to_.write(text, until);
        }
        co_return true;
    }

    /// Whether what is being written was cut, or nothing of it was queued.
    task<void> find_out() {
        constexpr std::string_view next = "|";
        const bool cut = co_await is_refused(next);
        if (cut)
            std::swap(story_.cut, story_.doing);
        else
            add(next);
        story_.unsure = false;
    }

    /// Behind what was cut.
    task<void> tell_nothing() {
        const bool refused = co_await is_refused("rest");
        here().require(refused && !to_.try_write("rest"), "something follows what was cut");
    }

    task<bool> is_refused(std::string_view text) {
        const deadline until = here().now() + far_away;
        const bool owned = here().rng().chance(500);
        std::string copy(text);
        try {
            if (owned)
                co_await to_.write_owned(std::move(copy), until);
            else
                co_await to_.write(text, until);
        } catch (const std::system_error& e) {
            if (e.code().value() != ECANCELED)
                throw;
            co_return true;
        }
        co_return false;
    }

    task<void> flush() {
        const deadline until = draw_deadline(here().rng());
        const timed wait(until);
        try {
            co_await to_.flush(until);
            wait.check_end();
            story_.whole = true;
        } catch (const rota::timed_out&) {
            wait.check_late();
        }
    }

    connection& to_;
    story& story_;
    std::size_t pieces_ = 0;
};

task<void> serve(host* in, accepted_socket socket, seat its) {
    const seat kept = std::move(its);
    rota::routine& self = co_await rota::current_routine;
    connection client = adopt(in->context, std::move(socket), rota::assignment(self.home()));
    try {
        const std::optional<std::string> line = co_await client.read_line();
        if (!line)
            co_return;
        teller t(&client, &in->stories.at(std::stoul(*line)));
        co_await t.tell();
    } catch (const std::system_error&) { // it has gone
    }
}

/// Lets clients in until there is to be an end, and then those that the kernel has let in.
class door {
public:
    door(host* in, std::vector<rota::routine_ptr>* served) : in_(*in), served_(*served) {}

    task<void> keep() {
        const std::stop_token own = co_await rota::current_stop_token;
        const std::stop_callback link(own, [this] { in_.drains.request_stop(); });
        rota::routine& self = co_await rota::current_routine;
        rota::io::listener from(in_.context, self.home(), rota::io::endpoint::parse(address));
        const std::stop_token drains = in_.drains.get_token();
        std::stop_source nobody;
        while (!closed_ && !own.stop_requested()) {
            const bool ends = drains.stop_requested();
            if (ends)
                from.close();
            const deadline until = draw(ends);
            const std::stop_token stop = ends ? nobody.get_token() : drains;
            try {
                co_await let_in(&from, until, stop);
            } catch (const std::bad_alloc& e) { // others may come to give something back
                scenario::note_error(e.what());
            }
        }
    }

private:
    /// Often passed already: then those that wait are let in, and none is waited for.
    static deadline draw(bool ends) {
        random& r = here().rng();
        if (ends)
            return std::nullopt;
        return r.chance(400) ? here().now() - nanoseconds(1) : draw_deadline(r);
    }

    task<void> let_in(rota::io::listener* from, deadline until, std::stop_token stop) {
        const timed wait(until);
        try {
            task<accepted_socket> coming = from->accept(until);
            accepted_socket client = co_await coming.under(stop);
            wait.check_end();
            seat its(&in_);
            task<void> serving = serve(&in_, std::move(client), std::move(its));
            served_.push_back(in_.context.workers().spawn(std::move(serving), {.name = "serving"}));
        } catch (const rota::timed_out&) {
            wait.check_late();
        } catch (const rota::operation_cancelled&) { // there is to be an end
            wait.check_end();
        } catch (const std::system_error& e) {
            here().require(e.code().value() == ECANCELED, e.what());
            closed_ = true;
        }
    }

    host& in_;
    std::vector<rota::routine_ptr>& served_;
    bool closed_ = false;
};

task<void> run_host(host* in) {
    std::vector<rota::routine_ptr> served;
    served.reserve(in->stories.size());
    door entrance(in, &served);
    co_await entrance.keep();
    const std::stop_token own = co_await rota::current_stop_token;
    for (const rota::routine_ptr& each : served) {
        try {
            co_await rota::join(each);
        } catch (...) { // which each has told of
            if (own.stop_requested())
                throw;
        }
    }
}

/// It has read what there is until its connection has ended.
void check_story(const scenario* s, const story& told, std::string_view got, peer::event end) {
    if (!s->may_cut())
        here().require(told.begun && end == peer::event::end, "a client is lost");
    if (told.unsure)
        return here().require(got.substr(0, told.queued.size()) ==
                                  std::string_view(told.queued).substr(0, got.size()),
                              "what comes is not what was written");
    const std::string all = told.queued + (told.cut.empty() ? told.doing : told.cut);
    here().require(std::string_view(all).substr(0, got.size()) == got,
                   "what comes is not what was written");
    if (!told.whole || s->may_cut())
        return;
    here().require(!told.unheard, "reading does not go on");
    const std::size_t rest = got.size() - std::min(got.size(), told.queued.size());
    here().require(got.size() >= told.queued.size() && (rest != 0) == !told.cut.empty(),
                   "something that was written does not come");
    here().require(rest % slice_bytes == 0, "a cut is not where the deadline passed");
}

void hear(const scenario* s, host* in, std::size_t number) {
    random& r = here().rng();
    // Several come at once, mostly, so that more than one waits to be accepted.
    here().sleep(nanoseconds(r.chance(700) ? 10'000'000 : r.below(80'000'000)));
    peer p(port);
    if (p.refused())
        return here().require(s->ending(), "the server refuses clients");
    constexpr std::size_t rooms[] = {500, 65536};
    constexpr nanoseconds pauses[] = {nanoseconds(0), nanoseconds(0), nanoseconds(3'000'000)};
    p.set_room(r.one_of(rooms));
    const nanoseconds pause = r.one_of(pauses);
    p.send_slowly(fmt::format("{}\nmore\n", number), pause);
    std::string got;
    if (r.chance(500)) // time for deadlines to pass
        here().sleep(nanoseconds(r.below(400'000'000)));
    if (r.chance(150)) { // goes in the middle of it
        if (r.chance(500))
            p.reset();
        return;
    }
    // Little at a time, yet not for longer than a server may take to drain.
    const time_point hurries = here().now() + std::chrono::seconds(10);
    while (pause.count() != 0 && here().now() < hurries && p.wait(hurries) == peer::event::bytes) {
        got += p.read(r.between(1, 50));
        here().sleep(nanoseconds(r.below(static_cast<std::size_t>(pause.count()))));
    }
    const peer::event end = p.read_all(got, nanoseconds(0));
    check_story(s, in->stories[number], got, end);
}

} // namespace

void run_deadlines() {
    random& r = here().rng();
    simulation::here().net.widen(4096); // there is much to come
    scenario s;
    host in{.context = s.context(), .stories = std::vector<story>(r.between(1, 8))};
    for (std::size_t i = 0; i < in.stories.size(); ++i)
        s.client([&s, &in, i] { hear(&s, &in, i); });
    s.serve({.run = [&in] { return run_host(&in); },
             .drain = [&in] { in.drains.request_stop(); },
             .connections = [&in] { return in.connections; },
             .connections_max = in.stories.size()});
}

} // namespace sim
