#pragma once

#include <algorithm>
#include <chrono>
#include <ratio>
#include <type_traits>

namespace rota {

/// A length of time, made of any std::chrono::duration. One that is too long for the clock becomes
/// the longest that it can count, so that milliseconds::max() and hours::max() mean for ever; NaN
/// becomes zero. A value.
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
            if (d > duration_cast<given>(length::min()))
                return duration_cast<length>(d);
            return d <= given::zero() ? length::min() : length::zero();
        } else {
            // Of any period: 64 bits by 63 have room in 127.
            using ticks = std::ratio_divide<Period, length::period>;
            __extension__ using wide = __int128;
            const wide counted = static_cast<wide>(d.count()) * ticks::num / ticks::den;
            if (counted >= length::max().count())
                return length::max();
            if (counted <= length::min().count())
                return length::min();
            return length(static_cast<length::rep>(counted));
        }
    }

    length length_;
};

/// Returns `d`, at most ten years, so that adding it to a time cannot overflow.
[[nodiscard]] constexpr std::chrono::milliseconds
at_most_ten_years(std::chrono::milliseconds d) noexcept {
    return std::min<std::chrono::milliseconds>(d, std::chrono::hours(24 * 365 * 10));
}

} // namespace rota
