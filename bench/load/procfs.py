"""What the kernel tells about processes and cores, from /proc (man 5 proc)."""

import os
import platform
import time
from dataclasses import dataclass, field
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def parse_process_stat(text):
    """(parent's pid, CPU seconds in user mode, in kernel mode) from /proc/PID/stat.

    The name in it is put in parentheses and may hold anything, so the fields are counted from
    the last one. Time of threads that have ended is part of it.
    """
    fields = text.rsplit(")", 1)[1].split()
    return int(fields[1]), int(fields[11]) / TICKS_PER_SECOND, int(fields[12]) / TICKS_PER_SECOND


def parse_switches(text):
    """Context switches of a thread, wanted and not, from /proc/PID/task/TID/status."""
    return sum(
        int(line.split()[1])
        for line in text.splitlines()
        if line.startswith(("voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"))
    )


def parse_idle_seconds(text, cores):
    """Seconds that `cores` were idle since boot, from /proc/stat.

    Time in which they were busy is what is left of the clock's. The figures for user and system
    time are no measure of it: they are samples, one a tick, and miss most of a short burst that
    follows a sleep, while idle time is measured by the clock.
    """
    ticks = 0
    for line in text.splitlines():
        name, *values = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
            _user, _nice, _system, idle, iowait = map(int, values[:5])
            ticks += idle + iowait
    return ticks / TICKS_PER_SECOND


def parse_stolen_seconds(text, cores):
    """Seconds that `cores` were another machine's since boot, from /proc/stat."""
    ticks = 0
    for line in text.splitlines():
        name, *values = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
            ticks += int(values[7])
    return ticks / TICKS_PER_SECOND


def parse_core_list(text):
    """{0, 2, 3} from "0,2-3" (/sys/devices/system/cpu/...)."""
    cores = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            cores.update(range(int(first), int(last or first) + 1))
    return cores


def idle_seconds(cores):
    return parse_idle_seconds(Path("/proc/stat").read_text(), cores)


def stolen_seconds(cores):
    return parse_stolen_seconds(Path("/proc/stat").read_text(), cores)


def family(pid):
    """`pid` and all its descendants."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parent, *_ = parse_process_stat(Path("/proc", entry, "stat").read_text())
            except (OSError, IndexError):
                continue  # it has just ended
            children.setdefault(parent, []).append(int(entry))
    found = [pid]
    for member in found:
        found += children.get(member, [])
    return found


def parse_all_cpu_seconds(text):
    """CPU seconds of a process, from its /proc/PID/stat, and of its children that have ended."""
    return sum(map(int, text.rsplit(")", 1)[1].split()[11:15])) / TICKS_PER_SECOND


def cpu_of_all():
    """{pid: as above} of whatever runs."""
    seconds = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = Path("/proc", entry, "stat").read_text()
                seconds[int(entry)] = parse_all_cpu_seconds(text)
            except (OSError, IndexError):
                continue  # it has just ended, and is its parent's
    return seconds


class ForeignLoad:
    """What others do on `cores` from now on, while servers of these pids are measured.

    Two figures are never too small: the time that the cores were not idle, less what was asked
    for; and the CPU time of all other processes, and of other machines (steal). The kernel counts
    both with errors of their own: an interrupt of an idle core is nobody's, and idle time is not
    to the microsecond. So the smaller is it.
    """

    def __init__(self, cores, pids):
        self.cores, self.pids = cores, pids
        self.begin = time.monotonic()
        self.idle, self.stolen = idle_seconds(cores), stolen_seconds(cores)
        self.seconds = cpu_of_all()

    def cores_used(self, own_seconds):
        """(how many cores they kept busy, for how long); `own_seconds` of CPU were not theirs."""
        elapsed = time.monotonic() - self.begin
        busy = elapsed * len(self.cores) - (idle_seconds(self.cores) - self.idle) - own_seconds
        own = {os.getpid()}.union(*map(family, self.pids))
        others = sum(seconds - self.seconds.get(pid, 0.0) for pid, seconds in cpu_of_all().items()
                     if pid not in own)
        others += stolen_seconds(self.cores) - self.stolen
        return max(0.0, min(busy, others) / elapsed), elapsed


@dataclass
class Usage:
    """What a server and its children have used since they started."""

    user_seconds: float = 0.0  # in ticks of 10 ms, with that of threads that have ended
    system_seconds: float = 0.0
    ran_ns: dict = field(default_factory=dict)  # by thread; empty where the kernel does not tell
    switches: dict = field(default_factory=dict)  # by thread

    @classmethod
    def of(cls, pid):
        usage = cls()
        for member in family(pid):
            try:
                _, user, system = parse_process_stat(Path(f"/proc/{member}/stat").read_text())
                usage.user_seconds += user
                usage.system_seconds += system
                for thread in map(int, os.listdir(f"/proc/{member}/task")):
                    folder = Path(f"/proc/{member}/task/{thread}")
                    usage.switches[thread] = parse_switches((folder / "status").read_text())
                    if (folder / "schedstat").exists():
                        ran = (folder / "schedstat").read_text().split()[0]
                        usage.ran_ns[thread] = int(ran)
            except OSError:
                continue  # it has just ended
        return usage

    def cpu_since(self, earlier):
        """CPU seconds: to the nanosecond if no thread has ended meanwhile, else in ticks."""
        if self.ran_ns and earlier.ran_ns.keys() <= self.ran_ns.keys():
            spent = (ns - earlier.ran_ns.get(thread, 0) for thread, ns in self.ran_ns.items())
            return sum(spent) / 1e9
        return sum(self.ticked_since(earlier))

    def ticked_since(self, earlier):
        """CPU seconds in user mode and in kernel mode, in ticks."""
        user = self.user_seconds - earlier.user_seconds
        return user, self.system_seconds - earlier.system_seconds

    def split_since(self, earlier):
        """What cpu_since() tells, by mode. The kernel samples by the tick which of both it is."""
        cpu = self.cpu_since(earlier)
        user, system = self.ticked_since(earlier)
        ticked = user + system
        return (cpu * user / ticked, cpu * system / ticked) if ticked > 0 else (0.0, 0.0)

    def switches_since(self, earlier):
        """Of the threads that still run; a new thread counts from its beginning."""
        return sum(
            count - earlier.switches.get(thread, 0) for thread, count in self.switches.items()
        )


def two_cores():
    """A core for the server and one for the load, not of one physical core if that can be."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        return None
    siblings = Path(f"/sys/devices/system/cpu/cpu{usable[0]}/topology/thread_siblings_list")
    shared = parse_core_list(siblings.read_text()) if siblings.exists() else set()
    apart = [core for core in usable[1:] if core not in shared]
    return usable[0], (apart or usable[1:])[0]


def machine():
    """What a figure depends on."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = int(Path("/proc/meminfo").read_text().split()[1]) // 1024
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": memory,
        "kernel": f"{platform.system()} {platform.release()}",
        "frequency_governor": governor.read_text().strip() if governor.exists() else None,
    }


def parse_memory(text):
    """(resident now, most that it was) in KiB, from /proc/PID/status."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "VmHWM"):
            found[name] = int(value.split()[0])
    return found.get("VmRSS", 0), found.get("VmHWM", 0)


def memory_mib(pid):
    """(resident now, most) of a server and its children; what they share counts for each."""
    now_kib = most_kib = 0
    for member in family(pid):
        try:
            now, most = parse_memory(Path(f"/proc/{member}/status").read_text())
        except OSError:
            continue  # it has just ended
        now_kib, most_kib = now_kib + now, most_kib + most
    return now_kib / 1024, most_kib / 1024


def forget_peak(pid):
    """From now on the most memory is that since now. Where it is not permitted, since the start."""
    for member in family(pid):
        try:
            Path(f"/proc/{member}/clear_refs").write_text("5")
        except OSError:
            continue
