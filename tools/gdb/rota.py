"""gdb commands for programs built on Rota: live ones, and core files.

    gdb -batch -ex 'source tools/gdb/rota.py' -ex 'rota routines' program core

rota routines   every routine: its id, name, state and worker, and what it waits for, where
rota workers    every worker that has routines, or had: its state, and what it runs

The program needs debug info of Rota's types: Rota compiled with -g, or one file that uses
rota::runtime with -g and -femit-class-debug-always (clang: -fstandalone-debug). Nothing is called
in it, so a core file does as well as a process.
"""

import gdb

BATON = {0: "parked", 1: "running", 2: "lent"}
STATE = {0: "ready", 1: "running", 2: "blocked", 3: "stopped"}
WANTED = ("Compile Rota with -g, or one file that uses rota::runtime with -g and "
          "-femit-class-debug-always (clang: -fstandalone-debug).")
ROUTINES_MAX = 10_000_000  # a list that has been overwritten need not end


def number(atomic):
    """The value of a std::atomic of an integer or an enumeration."""
    return int(atomic["_M_i"])


def pointer(atomic):
    """The value of a std::atomic of a pointer."""
    return atomic["_M_b"]["_M_p"]


def text(chars):
    return chars.string(errors="replace") if int(chars) != 0 else ""


def string(value):
    """A std::string of libstdc++."""
    length = int(value["_M_string_length"])
    return value["_M_dataplus"]["_M_p"].string(errors="replace", length=length)


def registries():
    try:
        kind = gdb.lookup_type("rota::routine_registry").pointer().pointer()
        at = gdb.parse_and_eval("(long)&'rota::detail::first_registry'").cast(kind).dereference()
    except gdb.MemoryError:
        raise
    except gdb.error as error:
        raise gdb.GdbError(f"no debug info of Rota here: {error} {WANTED}")
    while int(at) != 0:
        yield at.dereference()
        at = at["next_registry_"]


def all_routines():
    """Every routine of every executor, oldest first."""
    found = []
    for registry in registries():
        at = registry["first_"]
        while int(at) != 0 and len(found) < ROUTINES_MAX:
            found.append(at.dereference())
            at = at["next_in_registry_"]
    return sorted(found, key=lambda routine: int(routine["id_"]))


def worker_of(routine):
    return routine["home_"].referenced_value()


def describe(routine, latest):
    state = STATE.get(number(routine["state_"]), "?")
    line = (f"{string(routine['name_'])}#{int(routine['id_'])} on worker "
            f"{int(worker_of(routine)['index_'])}: {state}")
    what = text(pointer(routine["what_"]))
    if not what:
        return line
    place = f"{text(pointer(routine['file_']))}:{number(routine['line_'])}"
    if state != "blocked":
        return f"{line}, last at {what} in {place}"
    age = (latest - number(routine["since_ns_"])) // 1_000_000
    return f"{line} at {what} in {place}, {age} ms before the latest wait"


class Looking(gdb.Command):
    """A command that says what it lacks."""

    def invoke(self, _argument, _from_tty):
        try:
            self.look()
        except gdb.GdbError:
            raise
        except gdb.MemoryError as error:
            raise gdb.GdbError(f"what should be there cannot be read: {error}")
        except gdb.error as error:
            raise gdb.GdbError(f"not enough debug info of Rota here: {error} {WANTED}")


class Rota(gdb.Command):
    """Looks at the routines of Rota: rota routines, rota workers."""

    def __init__(self):
        super().__init__("rota", gdb.COMMAND_DATA, prefix=True)


class Routines(Looking):
    """rota routines: every routine, and what it waits for."""

    def __init__(self):
        super().__init__("rota routines", gdb.COMMAND_DATA)

    def look(self):
        found = all_routines()
        latest = max((number(r["since_ns_"]) for r in found), default=0)
        for routine in found:
            print(describe(routine, latest))
        print(f"{len(found)} routines")


class Workers(Looking):
    """rota workers: their states, and what each of them runs."""

    def __init__(self):
        super().__init__("rota workers", gdb.COMMAND_DATA)

    def look(self):
        routines = all_routines()
        node = gdb.lookup_type("rota::runnable")
        names = {int(r.cast(node).address): f"{string(r['name_'])}#{int(r['id_'])}"
                 for r in routines}
        workers = {int(worker_of(r).address): worker_of(r) for r in routines}
        for worker in sorted(workers.values(), key=lambda w: int(w["index_"])):
            step = int(pointer(worker["step_"]))
            runs = f", runs {names.get(step, 'something posted')}" if step != 0 else ""
            print(f"worker {int(worker['index_'])}: {BATON.get(number(worker['baton_']), '?')}"
                  f"{runs}, thread {number(worker['thread_'])}")


Rota()
Routines()
Workers()
