//! Work of a known size, in CPU time of the thread.

use std::arch::asm;
use std::cell::Cell;

pub const PATH: &str = "/spin/";
const US_MAX: i64 = 10_000;
/// Turns in a nanosecond, whatever a clock says that stood still.
const MOST: f64 = 8.0;
/// Fewer turns seem slow: reading the clock takes as long as hundreds.
const TOLD_BY: i64 = 1000;

thread_local! {
    /// As measured last.
    static TURNS_PER_NS: Cell<f64> = const { Cell::new(0.5) };
}

fn thread_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it is written to and nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn turn(times: i64) {
    let mut value: u64 = 1;
    for _ in 0..times {
        value = value.wrapping_add(value << 1);
        // SAFETY: it does nothing; but the value has to be computed for it.
        unsafe { asm!("/* {0} */", inout(reg) value, options(nomem, nostack)) };
    }
}

/// The microseconds in a path such as /spin/20, if they are not too many.
pub fn parse(path: &str) -> Option<i64> {
    let us = path.strip_prefix(PATH)?.parse().ok()?;
    (0..=US_MAX).contains(&us).then_some(us)
}

/// Keeps this thread busy for so much CPU time. It reads the clock after a quarter of that, which
/// tells how quick the core is just now, then after three quarters of what is left, and so on.
pub fn spin(us: i64) {
    TURNS_PER_NS.with(|speed| {
        let mut share = 0.25;
        let mut now = thread_ns();
        let end = now + us * 1000;
        while now < end {
            let times = ((end - now) as f64 * share * speed.get()) as i64 + 1;
            turn(times);
            let later = thread_ns();
            let seen = (times as f64 / (later - now).max(1) as f64).min(MOST);
            if times >= TOLD_BY || seen > speed.get() {
                speed.set(seen);
            }
            now = later;
            share = 0.75;
        }
    });
}
