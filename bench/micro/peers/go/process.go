package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

type cpuSet [16]uint64

func affinity() (set cpuSet) {
	syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set),
		uintptr(unsafe.Pointer(&set)))
	return set
}

func setAffinity(thread int, set cpuSet) {
	syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(thread), unsafe.Sizeof(set),
		uintptr(unsafe.Pointer(&set)))
}

func only(core int) (set cpuSet) {
	set[core/64] = 1 << (core % 64)
	return set
}

// usableCores returns the cores that the process may run on.
func usableCores() (cores []int) {
	set := affinity()
	for core := 0; core < len(set)*64; core++ {
		if set[core/64]&(1<<(core%64)) != 0 {
			cores = append(cores, core)
		}
	}
	return cores
}

// keepAllOn keeps the threads that there are on these cores; later ones inherit that.
func keepAllOn(cores []int) {
	var set cpuSet
	for _, core := range cores {
		set[core/64] |= 1 << (core % 64)
	}
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil {
			setAffinity(id, set)
		}
	}
}

// lockOn ties the calling goroutine to a thread of its own, and that to a core.
func lockOn(core int) {
	runtime.LockOSThread()
	setAffinity(0, only(core))
}

// residentBytes returns what the process has in memory.
func residentBytes() float64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseFloat(strings.Fields(string(data))[1], 64)
	return pages * float64(os.Getpagesize())
}
