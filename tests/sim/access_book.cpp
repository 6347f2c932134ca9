#include "access_book.hpp"

#include "memory.hpp"
#include "world.hpp"

namespace sim {

void access_book::write(const rota::http::access_entry& e) {
    const memory::ample here_is_room;
    if (e.target.empty()) // it was not a request, or not all of one
        return;
    of_target& of = all_[std::string(e.target)];
    ++of.logged;
    ++of.said[{e.status, e.bytes_sent}];
}

void access_book::check() const {
    for (const auto& [target, of] : all_) {
        here().require(of.logged <= of.asked, "an answer is in the log that was not asked for");
        if (memory::was_short()) // what was sent may not have come to be said
            continue;
        for (const auto& [what, times] : of.seen) {
            const auto found = of.said.find(what);
            here().require(found != of.said.end() && found->second >= times,
                           "an answer is not in the log as it came");
        }
    }
}

} // namespace sim
