#pragma once

// Everything that may happen to waits, in every order.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/task.hpp>

namespace test::waits {

/// How a wait, or several, have ended.
template <class... Result>
struct ending {
    std::tuple<std::optional<Result>...> delivered;
    bool cancelled = false;
    bool timed_out = false;
    bool failed = false;
    bool over = false;
};

/// Awaits `body`, a task that fills in `out->delivered`.
template <class Ending>
rota::task<void> watch(rota::task<void> body, Ending* out) {
    try {
        co_await std::move(body);
    } catch (const rota::operation_cancelled&) {
        out->cancelled = true;
    } catch (const rota::timed_out&) {
        out->timed_out = true;
    } catch (const std::runtime_error&) {
        out->failed = true;
    }
    out->over = true;
}

enum class act : std::uint8_t { serve_first, serve_second, stop };

/// Something happens, maybe at once, maybe after what is ready has run.
struct step {
    act what;
    bool runs_before;
};

/// Every order of some of `acts`, with and without a run before each.
inline std::vector<std::vector<step>> orders(const std::vector<act>& acts) {
    std::vector<std::vector<step>> all{{}};
    for (std::size_t done = 0; done < all.size(); ++done) {
        for (const act each : acts) {
            const std::vector<step> before = all[done];
            bool again = false;
            for (const step& s : before)
                again = again || s.what == each;
            if (again)
                continue;
            for (const bool runs : {false, true}) {
                std::vector<step> longer = before;
                longer.push_back({each, runs});
                all.push_back(std::move(longer));
            }
        }
    }
    return all;
}

inline bool has(const std::vector<step>& order, act what) {
    for (const step& s : order) {
        if (s.what == what)
            return true;
    }
    return false;
}

inline std::string described(const std::vector<step>& order) {
    std::string text;
    for (const step& s : order) {
        text += s.runs_before ? " (runs)" : "";
        text += s.what == act::serve_first    ? " first"
                : s.what == act::serve_second ? " second"
                                              : " stop";
    }
    return text;
}

/// Runs `body` while `order` happens, and ends it.
template <class Ending, class First, class Second>
void go_through(rota::inline_scheduler& scheduler, const std::vector<step>& order,
                rota::task<void> body, Ending& out, First&& first, Second&& second) {
    const rota::routine_ptr r = scheduler.spawn(watch(std::move(body), &out));
    for (const step& s : order) {
        if (s.runs_before)
            scheduler.run();
        if (s.what == act::serve_first)
            first();
        else if (s.what == act::serve_second)
            second();
        else
            r->request_stop();
    }
    scheduler.run();
    if (!out.over) {
        r->request_stop();
        scheduler.run();
    }
    REQUIRE(out.over);
}

template <class K>
const typename K::result* pointer(const std::optional<typename K::result>& got) {
    return got ? &*got : nullptr;
}

/// Two waits in one combinator, and how that ends.
template <class A, class B>
struct two_waits {
    using end = ending<typename A::result, typename B::result>;

    /// Runs `body`, which awaits both and fills in `out.delivered`, while `order` happens.
    two_waits(const std::vector<step>& order, rota::task<void> (*body)(A*, B*, end*)) {
        go_through(
            scheduler, order, body(&a, &b, &out), out, [this] { a.serve(); },
            [this] { b.serve(); });
    }
    [[nodiscard]] bool first() const { return std::get<0>(out.delivered).has_value(); }
    [[nodiscard]] bool second() const { return std::get<1>(out.delivered).has_value(); }
    [[nodiscard]] bool both_whole() {
        return a.whole(pointer<A>(std::get<0>(out.delivered))) &&
               b.whole(pointer<B>(std::get<1>(out.delivered)));
    }

    rota::inline_scheduler scheduler;
    A a{scheduler};
    B b{scheduler};
    end out;
};

inline const std::vector<std::vector<step>>& all_orders() {
    static const auto all = orders({act::serve_first, act::serve_second, act::stop});
    return all;
}

} // namespace test::waits
