"""The tables of bench/scale."""

import growth
import model
import report
import sharing

FOREIGN_CORES_MAX = 0.1
CORES_SHOWN = (2, 4, 8, 16, 32, 64)


def ratio(grown, topology, workers, cores):
    return grown[topology, workers].total_us / grown[topology, cores].total_us


def too_dear(grown, cores, workers, limit):
    """Lines about topologies in which so many workers cost more than is allowed."""
    found = []
    for topology in {topology for topology, _ in grown}:
        by = ratio(grown, topology, workers, cores)
        if by > limit:
            found.append(f"{topology}: {workers} workers cost {by:.2f} of what {cores} do, "
                         f"{limit:.2f} allowed")
    return sorted(found)


def growth_rows(grown, cores):
    rows = [["topology, workers", "us", f"by {cores} workers", "receiving", "sending", "workers",
             "switches"]]
    for (topology, workers), one in grown.items():
        disturbed = " (disturbed)" if one.foreign_cores > FOREIGN_CORES_MAX else ""
        rows.append([f"{topology}, {workers}{disturbed}", f"{one.total_us:.2f}",
                     f"{ratio(grown, topology, workers, cores):.2f}",
                     f"{one.costs.receiving:.2f}", f"{one.costs.sending:.2f}",
                     f"{one.costs.workers:.2f}", f"{one.switches:.3f}"])
    return report.table(rows)


def moves_rows(moved):
    rows = [["topology, workers", "lines a request", "of them needless", "threads"]]
    for (topology, workers), (moves, requests) in moved.items():
        rows.append([f"{topology}, {workers}", f"{moves.moves / requests:.2f}",
                     f"{moves.needless / requests:.2f}", str(moves.threads)])
    return report.table(rows)


def bound_costs(grown, topology, cores):
    """What its threads cannot hand to others. In split the one that receives does workers' work as
    long as it has time for it; when it has none left, it does as much as where it only receives."""
    costs = grown[topology, cores].costs
    only = grown.get(("dedicated", cores))
    if topology != "split" or only is None:
        return costs
    receiving = min(costs.receiving, only.costs.receiving)
    return model.Costs(receiving, costs.sending, costs.total - receiving - costs.sending)


def bound_rows(grown, cores):
    rows = [["topology", *(f"{count} cores" for count in CORES_SHOWN), "grows up to"]]
    for topology in dict.fromkeys(topology for topology, _ in grown):
        costs = bound_costs(grown, topology, cores)
        most = [f"{model.most_per_second(costs, count) / 1e6:.2f}" for count in CORES_SHOWN]
        until = model.cores_that_pay(costs)
        rows.append([topology, *most, "all" if until is None else f"{until:.1f} cores"])
    return report.table(rows)


def places_rows(moved, program):
    lines = []
    for topology in dict.fromkeys(topology for topology, _ in moved):
        most = max(workers for name, workers in moved if name == topology)
        moves, requests = moved[topology, most]
        rows = [["where", "lines a request", "of them needless"]]
        for count, needless, where in sharing.busiest(moves, program):
            rows.append([f"`{where}`", f"{count / requests:.3f}", f"{needless / requests:.3f}"])
        lines += ["", f"{topology}, {most} workers:", "", *report.table(rows)]
    return lines


def document(conditions, cores, grown, moved, program, options):
    return "\n".join([
        "# More workers, more cores",
        "",
        "Written by `./dev bench scale`.",
        "",
        f"{conditions}. `GET /plaintext` over {growth.CONNECTIONS} connections, as fast as answers "
        f"come; medians of {options.rounds} interleaved rounds of {options.seconds:g} s.",
        "",
        "## What a request costs as there are more workers",
        "",
        "CPU in microseconds, user and kernel, by what the thread is for, and context switches. "
        f"Allowed: {options.limit:.2f} of what as many workers as cores cost.",
        "",
        *growth_rows(grown, cores),
        "",
        "## Lines of memory that move between threads",
        "",
        "As if each thread had a core, and a cache that loses nothing but to others: a line that a "
        "thread reads or writes and another has changed or has, counted in what we compile "
        "(`bench/scale/lines.cpp`). Needless: only this thread ever touches the word itself, and "
        "others its neighbours. Counting takes time, so that `split` lends less than it does: "
        "where a worker's turn runs on the receiving thread, its lines stay there.",
        "",
        *moves_rows(moved),
        *places_rows(moved, program),
        "",
        "## On more cores",
        "",
        "A bound by the costs above, in millions of requests a second: no thread is on two cores, "
        "so where one thread receives for all, it is what all wait for in the end. Nothing is "
        "taken off for lines that move and for what else the machine shares.",
        "",
        *bound_rows(grown, cores),
    ])
