package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"time"
)

// figure is one line of the result, as rota-micro writes it.
type figure struct {
	Name       string  `json:"name"`
	Unit       string  `json:"unit"`
	Median     float64 `json:"median"`
	Lowest     float64 `json:"lowest"`
	Highest    float64 `json:"highest"`
	Iterations int     `json:"iterations"`
	Repeats    int     `json:"repeats"`
}

type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
}

type document struct {
	Command   string   `json:"command"`
	When      string   `json:"when"`
	Machine   machine  `json:"machine"`
	Compiler  string   `json:"compiler"`
	Optimized bool     `json:"optimized"`
	Figures   []figure `json:"figures"`
}

// harness runs cases and collects their figures, in the way of bench/micro/harness.hpp.
type harness struct {
	quick   bool
	only    string
	figures []figure
}

func (h *harness) wanted(name string) bool { return strings.Contains(name, h.only) }

// calibrate finds how many iterations take about length, or fewer if they need much preparation.
func calibrate(run func(int) time.Duration, length time.Duration) int {
	for count := 1; ; count *= 2 {
		counted, inAll := time.Duration(1<<62), time.Duration(1<<62)
		for i := 0; i < 3 && (counted >= length/4 || inAll >= length*4); i++ {
			begin := time.Now()
			if d := run(count); d < counted {
				counted = d
			}
			if d := time.Since(begin); d < inAll {
				inAll = d
			}
		}
		if counted >= length/4 {
			factor := float64(length) / float64(counted+1)
			if factor > 4 {
				factor = 4
			}
			if scaled := int(float64(count) * factor); scaled > 1 {
				return scaled
			}
			return 1
		}
		if inAll >= length*4 {
			return count
		}
	}
}

// time measures one operation: run(n) does it n times and returns how long they took together.
func (h *harness) time(name string, run func(int) time.Duration) {
	if !h.wanted(name) {
		return
	}
	repeats, length := 11, 50*time.Millisecond
	if h.quick {
		repeats, length = 5, 10*time.Millisecond
	}
	count := calibrate(run, length)
	each := make([]float64, repeats)
	for i := range each {
		each[i] = float64(run(count)) / float64(count)
	}
	sort.Float64s(each)
	h.figures = append(h.figures, figure{
		name, "ns", each[repeats/2], each[0], each[repeats-1], count, repeats})
}

func (h *harness) record(name, unit string, value float64, iterations int) {
	if h.wanted(name) {
		h.figures = append(h.figures, figure{name, unit, value, value, value, iterations, 1})
	}
}

func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func text(field [65]int8) string {
	var out []byte
	for _, c := range field {
		if c == 0 {
			break
		}
		out = append(out, byte(c))
	}
	return string(out)
}

func (h *harness) document() document {
	var name syscall.Utsname
	_ = syscall.Uname(&name)
	return document{
		Command:   strings.Join(os.Args, " "),
		When:      time.Now().UTC().Format(time.RFC3339),
		Machine:   machine{cpuModel(), runtime.NumCPU(), text(name.Sysname) + " " + text(name.Release)},
		Compiler:  runtime.Version(),
		Optimized: true,
		Figures:   h.figures,
	}
}

func (h *harness) print() {
	fmt.Println("| what | median | lowest | highest | unit | repeats x iterations |")
	fmt.Println("| --- | ---: | ---: | ---: | --- | ---: |")
	for _, f := range h.figures {
		fmt.Printf("| %s | %.4g | %.4g | %.4g | %s | %d x %d |\n",
			f.Name, f.Median, f.Lowest, f.Highest, f.Unit, f.Repeats, f.Iterations)
	}
}

func (h *harness) write(path string) error {
	data, err := json.MarshalIndent(h.document(), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
