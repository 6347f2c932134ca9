package main

import (
	"math"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
)

const (
	spinPath    = "/spin/"
	spinUsMax   = 10000
	threadClock = 3 // CLOCK_THREAD_CPUTIME_ID
)

// threadNs is the CPU time of the thread that it runs on.
func threadNs() int64 {
	var time syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&time)), 0)
	return time.Nano()
}

//go:noinline
func turn(times int64) uint64 {
	value := uint64(1)
	for ; times > 0; times-- {
		value += value << 1
	}
	return value
}

// turnsPerNs is what was measured last, as its bits.
var turnsPerNs atomic.Uint64

// spin keeps its thread busy for so much CPU time. It reads the clock after a quarter of that, which
// tells how quick the core is just now, then after three quarters of what is left, and so on.
func spin(us int64) {
	const most = 8.0       // turns in a nanosecond, whatever a clock says that stood still
	const toldBy = 1000    // fewer seem slow: reading the clock takes hundreds
	runtime.LockOSThread() // whose clock it is
	defer runtime.UnlockOSThread()
	speed := math.Float64frombits(turnsPerNs.Load())
	if speed == 0 {
		speed = 0.5
	}
	share := 0.25
	now := threadNs()
	for end := now + us*1000; now < end; share = 0.75 {
		times := int64(float64(end-now)*share*speed) + 1
		turn(times)
		later := threadNs()
		seen := most
		if later > now {
			seen = math.Min(most, float64(times)/float64(later-now))
		}
		if times >= toldBy || seen > speed {
			speed = seen
		}
		now = later
	}
	turnsPerNs.Store(math.Float64bits(speed))
}

// answerSpin answers /spin/20 after 20 us of work.
func answerSpin(w http.ResponseWriter, r *http.Request) {
	us, err := strconv.ParseUint(strings.TrimPrefix(r.URL.Path, spinPath), 10, 32)
	if err != nil || us > spinUsMax {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	spin(int64(us))
	header := w.Header()
	header["Content-Type"] = []string{"text/plain; charset=utf-8"}
	header["Content-Length"] = []string{"4"}
	w.Write([]byte("spun"))
}
