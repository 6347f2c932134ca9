package main

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
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

var (
	calibrate  sync.Once
	turnsPerNs float64
)

// spin keeps its thread busy for so much CPU time: three quarters of what is left at a time.
func spin(us int64) {
	runtime.LockOSThread() // whose clock it is
	defer runtime.UnlockOSThread()
	calibrate.Do(func() {
		const times = 1000000
		begin := threadNs()
		turn(times)
		turnsPerNs = times / float64(threadNs()-begin)
	})
	end := threadNs() + us*1000
	for {
		left := end - threadNs()
		if left <= 0 {
			return
		}
		turn(int64(float64(left) * 0.75 * turnsPerNs))
	}
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
