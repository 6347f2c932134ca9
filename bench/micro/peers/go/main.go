// Command peer times goroutines, channels, mutexes and timers: the cases of rota-micro.
//
// One worker is GOMAXPROCS(1), two are GOMAXPROCS(2). A goroutine belongs to no worker, so where a
// case says between which workers it runs, its goroutines are locked to threads on those cores.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

type table struct{ there, back chan uint64 }

func newTable() *table { return &table{make(chan uint64, 1), make(chan uint64, 1)} }

func (t *table) returnAll() {
	for ball := range t.there {
		t.back <- ball
	}
}

func (t *table) serve(count int) {
	for i := 0; i < count; i++ {
		t.there <- uint64(i)
		<-t.back
	}
	close(t.there)
}

// play has count round trips in all, shared by the games; prepare is run first on either side.
func play(games, count int, prepareNear, prepareFar func()) time.Duration {
	var players sync.WaitGroup
	players.Add(2 * games)
	begin := time.Now()
	for i := 0; i < games; i++ {
		t := newTable()
		share := count / games
		if i < count%games {
			share++
		}
		go func() {
			defer players.Done()
			prepareFar()
			t.returnAll()
		}()
		go func() {
			defer players.Done()
			prepareNear()
			t.serve(share)
		}()
	}
	players.Wait()
	return time.Since(begin)
}

func anywhere() {}

// playOn keeps either side on a core. Locked goroutines end with their threads, so the affinity
// goes too.
func playOn(near, far int) func(int) time.Duration {
	return func(count int) time.Duration {
		return play(1, count, func() { lockOn(near) }, func() { lockOn(far) })
	}
}

func spawnAndJoin(count int) time.Duration {
	var child sync.WaitGroup
	begin := time.Now()
	for i := 0; i < count; i++ {
		child.Add(1)
		go child.Done()
		child.Wait()
	}
	return time.Since(begin)
}

func runGroups(count int) time.Duration {
	const groupSize = 1000
	var group sync.WaitGroup
	begin := time.Now()
	for count != 0 {
		children := groupSize
		if count < children {
			children = count
		}
		group.Add(children)
		for i := 0; i < children; i++ {
			go group.Done()
		}
		group.Wait()
		count -= children
	}
	return time.Since(begin)
}

// both runs two goroutines to their ends, which share the count.
func both(count int, body func(int)) time.Duration {
	var ended sync.WaitGroup
	ended.Add(2)
	begin := time.Now()
	for _, share := range []int{count - count/2, count / 2} {
		go func(n int) {
			defer ended.Done()
			body(n)
		}(share)
	}
	ended.Wait()
	return time.Since(begin)
}

func yieldInTurn(count int) time.Duration {
	return both(count, func(n int) {
		for i := 0; i < n; i++ {
			runtime.Gosched()
		}
	})
}

func lockOften(count int) time.Duration {
	var lock sync.Mutex
	var value uint64
	begin := time.Now()
	for i := 0; i < count; i++ {
		lock.Lock()
		value++
		lock.Unlock()
	}
	return time.Since(begin)
}

func holdAndYield(count int) time.Duration {
	var lock sync.Mutex
	var value uint64
	return both(count, func(n int) {
		for i := 0; i < n; i++ {
			lock.Lock()
			value++
			runtime.Gosched()
			lock.Unlock()
		}
	})
}

func contend(count int) time.Duration {
	var lock sync.Mutex
	var value uint64
	return both(count, func(n int) {
		for i := 0; i < n; i++ {
			lock.Lock()
			value++
			lock.Unlock()
		}
	})
}

func armAndDisarm(count int) time.Duration {
	others := make([]*time.Timer, 10_000)
	for i := range others {
		others[i] = time.AfterFunc(100*time.Second+time.Duration(i)*7*time.Millisecond, func() {})
	}
	begin := time.Now()
	for i := 0; i < count; i++ {
		time.AfterFunc(time.Second+time.Duration(i%60_000)*time.Millisecond, func() {}).Stop()
	}
	spent := time.Since(begin)
	for _, other := range others {
		other.Stop()
	}
	return spent
}

//go:noinline
func successor(_ context.Context, value uint64) uint64 { return value + 1 }

func limitOften(count int) time.Duration {
	var value uint64
	begin := time.Now()
	for i := 0; i < count; i++ {
		limited, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		value = successor(limited, value)
		cancel()
	}
	return time.Since(begin)
}

func measureMemory(h *harness) {
	const memory = "memory of a sleeping routine"
	const start = "start a routine that sleeps beside all the others"
	if !h.wanted(memory) && !h.wanted(start) {
		return
	}
	count := 100_000
	if h.quick {
		count = 20_000
	}
	var ready sync.WaitGroup
	ready.Add(count)
	debug.FreeOSMemory()
	before := residentBytes()
	begin := time.Now()
	for i := 0; i < count; i++ {
		go func() {
			ready.Done()
			time.Sleep(time.Hour)
		}()
	}
	ready.Wait()
	runtime.Gosched() // the last ones are on their way to sleep
	spent := time.Since(begin)
	grown := residentBytes() - before
	h.record(memory, "bytes", grown/float64(count), count)
	h.record(start, "ns", float64(spent)/float64(count), count)
}

func measureOneWorker(h *harness) {
	h.time("spawn and join a routine", spawnAndJoin)
	h.time("spawn and join a child, 1000 in a task_group", runGroups)
	h.time("yield to another routine", yieldInTurn)
	h.time("channel round trip within a worker",
		func(n int) time.Duration { return play(1, n, anywhere, anywhere) })
	h.time("lock and unlock an uncontended mutex", lockOften)
	h.time("lock a mutex, yield and unlock it, two routines on a worker", holdAndYield)
	h.time("arm and disarm a timer beside 10,000 others", armAndDisarm)
	h.time("await a nested task within with_timeout", limitOften)
}

func measureTwoWorkers(h *harness) {
	cores := usableCores()
	h.time("channel round trip between two workers on one core", playOn(cores[0], cores[0]))
	if len(cores) < 2 {
		return
	}
	h.time("channel round trip between two workers on two cores", playOn(cores[0], cores[1]))
	keepAllOn(cores[:2])
	h.time("channel round trip between two workers, where the scheduler puts them",
		func(n int) time.Duration { return play(1, n, anywhere, anywhere) })
	h.time("channel round trip between two workers on two cores, 64 at once",
		func(n int) time.Duration { return play(64, n, anywhere, anywhere) })
	h.time("lock and unlock a mutex, two workers contend", contend)
}

func run() error {
	h := &harness{figures: []figure{}}
	json := ""
	for arguments := os.Args[1:]; len(arguments) > 0; arguments = arguments[1:] {
		switch {
		case arguments[0] == "--quick":
			h.quick = true
		case arguments[0] == "--only" && len(arguments) > 1:
			arguments = arguments[1:]
			h.only = arguments[0]
		case arguments[0] == "--json" && len(arguments) > 1:
			arguments = arguments[1:]
			json = arguments[0]
		default:
			return fmt.Errorf("%s: not understood", arguments[0])
		}
	}
	runtime.GOMAXPROCS(1)
	measureOneWorker(h)
	runtime.GOMAXPROCS(2)
	measureTwoWorkers(h)
	runtime.GOMAXPROCS(1)
	measureMemory(h) // last: its goroutines sleep on, and every collection would look at them
	h.print()
	if json == "" {
		return nil
	}
	return h.write(json)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		os.Exit(1)
	}
}
