//! Work of a known size, in CPU time of the thread.

use std::arch::asm;
use std::cell::Cell;

pub const PATH: &str = "/spin/";
const US_MAX: i64 = 10_000;

thread_local! {
    /// How often to turn for a nanosecond; 0 until it was measured.
    static TURNS_PER_NS: Cell<f64> = const { Cell::new(0.0) };
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

fn turns_per_ns() -> f64 {
    TURNS_PER_NS.with(|known| {
        if known.get() == 0.0 {
            const TIMES: i64 = 1_000_000;
            let begin = thread_ns();
            turn(TIMES);
            known.set(TIMES as f64 / (thread_ns() - begin) as f64);
        }
        known.get()
    })
}

/// The microseconds in a path such as /spin/20, if they are not too many.
pub fn parse(path: &str) -> Option<i64> {
    let us = path.strip_prefix(PATH)?.parse().ok()?;
    (0..=US_MAX).contains(&us).then_some(us)
}

/// Keeps this thread busy for so much CPU time: three quarters of what is left at a time.
pub fn spin(us: i64) {
    let per_ns = turns_per_ns();
    let end = thread_ns() + us * 1000;
    loop {
        let left = end - thread_ns();
        if left <= 0 {
            return;
        }
        turn((left as f64 * 0.75 * per_ns) as i64);
    }
}
