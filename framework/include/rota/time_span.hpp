#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ratio>
#include <type_traits>
#include <utility>

namespace rota {

/// A length of time, of any std::chrono::duration: of one that the clock cannot count it is the
/// longest that it can, so that milliseconds::max() and hours::max() mean for ever. A value.
class time_span {
public:
    using length = std::chrono::steady_clock::duration;

    template <class Rep, class Period>
    // NOLINTNEXTLINE(google-explicit-constructor): any duration is one
    constexpr time_span(std::chrono::duration<Rep, Period> d) noexcept : length_(counted(d)) {}
    // NOLINTNEXTLINE(google-explicit-constructor): for the clock's arithmetic
    constexpr operator length() const noexcept { return length_; }

private:
    template <class Rep, class Period>
    static constexpr length counted(std::chrono::duration<Rep, Period> d) noexcept {
        using std::chrono::duration_cast;
        if constexpr (!std::is_integral_v<Rep>) {
            using given = std::chrono::duration<Rep, Period>;
            if (d >= duration_cast<given>(length::max()))
                return length::max();
            if (d <= duration_cast<given>(length::min()))
                return length::min();
        } else if constexpr (std::ratio_greater_equal_v<Period, length::period>) {
            using wide = std::chrono::duration<std::intmax_t, Period>;
            if (std::cmp_greater_equal(d.count(), duration_cast<wide>(length::max()).count()))
                return length::max();
            if (std::cmp_less_equal(d.count(), duration_cast<wide>(length::min()).count()))
                return length::min();
        }
        return duration_cast<length>(d);
    }

    length length_;
};

/// `d`, or ten years if it is more: what is told to mean for ever can be added to the time then.
[[nodiscard]] constexpr std::chrono::milliseconds
at_most_ten_years(std::chrono::milliseconds d) noexcept {
    return std::min<std::chrono::milliseconds>(d, std::chrono::hours(24 * 365 * 10));
}

} // namespace rota
