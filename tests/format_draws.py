"""Random workloads, small ones with everything in them that a format may or may not hold."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from allocsolve.model import (
    Amdahl,
    Job,
    Jobs,
    Join,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    SpeedupTable,
    Stall,
    WorkloadProblem,
    WorkloadSchedule,
)

#: Names that careless programs change.
ODD_NAMES = ("7", "007", "j7", "w0!7", " a ", "a,b", 'a"b', "7#2", "ä", "-", "x" * 40, "{", "$1", "\\1", "")


def seconds(rng: Random, *, low: float = 0.25, exact: bool = False) -> float:
    """Draw a time: whole, quarters, or any double."""
    how = rng.randrange(2 if exact else 3)
    if how == 0:
        return float(rng.randint(1, 5000))
    if how == 1:
        return rng.randint(1, 20_000) / 4
    return rng.uniform(low, 10 ** rng.uniform(0, 5))


def random_job(rng: Random, num_nodes: int, idx: int, kinds: str, *, exact: bool = False) -> Job:
    """Draw a job of one of the kinds, of which the first letters are given."""
    kind = rng.choice(kinds)
    low = rng.randint(1, num_nodes)
    high = rng.randint(low, num_nodes)
    fields: dict[str, Any] = {"submit": 0.0 if rng.random() < 0.2 else seconds(rng, exact=exact)}
    fields["runtime"] = seconds(rng, exact=exact)
    if rng.random() < 0.6:
        fields["limit"] = seconds(rng, exact=exact)
    if rng.random() < 0.4:
        fields["user"] = rng.choice(["ada", "17", "0", "u,v"])
    if rng.random() < 0.2:
        fields["weight"] = rng.choice([0, 2, 0.3, rng.random()])
    fields["name"] = f"{rng.choice(ODD_NAMES)}{idx}" if rng.random() < 0.3 else f"j{idx}"
    if kind == "r":
        return Job(nodes=low, **fields)
    fields |= _elastic(rng, kind, low, high, fields["runtime"])
    return Job(**fields)


def _elastic(rng: Random, kind: str, low: int, high: int, runtime: float) -> dict[str, Any]:
    if kind == "p":
        phases = Phases([(seconds(rng), rng.choice([None, 2, 5])) for _ in range(rng.randint(1, 3))])
        join = Join(start=rng.choice([0, 2.5]))
        took = phases.run_time(low) + join.start
        limits = {"nodes": low, "min_nodes": low, "max_nodes": high}
        return {**limits, "runtime": took, "evolution": phases, "reconfiguration": join}
    if kind == "s":
        steps = [(rng.randint(1, 100), rng.randint(low, high)) for _ in range(rng.randint(1, 3))]
        sizes = [nodes for _, nodes in steps]
        took = float(sum(lasts for lasts, _ in steps))
        limits = {"nodes": sizes[0], "min_nodes": min(sizes), "max_nodes": max(sizes)}
        return {**limits, "runtime": took, "evolution": Profile(steps)}
    fields: dict[str, Any] = {"min_nodes": low, "max_nodes": high, "nodes": rng.randint(low, high)}
    laws = [Amdahl(rng.choice([0, 1, rng.random()])), PowerLaw(rng.random()), Overhead(rng.random() * 0.9)]
    fields["speedup"] = rng.choice(laws)
    if kind in ("o", "a") and rng.random() < 0.3:
        sizes = sorted({low, high, fields["nodes"], *(n for n in range(low, high) if rng.random() < 0.3)})
        rows = [(n, runtime if n == fields["nodes"] else seconds(rng)) for n in sizes]
        fields["speedup"] = SpeedupTable(rows)
    elif kind in ("o", "a") and rng.random() < 0.2:
        step = rng.choice([2, 3])
        if all(fields[name] % step == 0 for name in ("min_nodes", "nodes", "max_nodes")):
            fields["size_set"] = step
    if kind == "a":
        fields |= {"kind": "malleable", "points": rng.choice([0, 1, 2, 7, 100])}
    if kind == "q":
        shares = sorted({rng.uniform(0.01, 0.99) for _ in range(rng.randint(1, 3))}, reverse=True)
        fields["evolution"] = Requests([(share, rng.choice([-9, -1, 2, 3])) for share in shares])
    if kind in ("a", "q") and rng.random() < 0.5:
        cost = {name: rng.choice([0, 0, 2.5, rng.random()]) for name in ("fixed", "per_node", "shared")}
        fields["reconfiguration"] = Stall(**cost, holds=rng.choice(["new", "new", "larger"]))
    return fields


def random_workload_of(seed: int, kinds: str, *, exact: bool = False) -> WorkloadProblem:
    """Draw a workload of 1 to 4 jobs of these kinds.

    The letters are r(igid), (m)o(ldable), (mall)a(ble), (re)q(uests), p(hases), s(teps of a profile).
    """
    rng = Random(seed)
    num_nodes = rng.choice([1, 2, 9, 10, 11, 64])
    jobs = [random_job(rng, num_nodes, idx, kinds, exact=exact) for idx in range(rng.randint(1, 4))]
    if rng.random() < 0.2:
        jobs = [replace(job, name=str(90 - 7 * idx)) for idx, job in enumerate(jobs)]
    if rng.random() < 0.5:
        jobs.sort(key=lambda job: job.submit)
    meta = {"from": "a test"} if rng.random() < 0.5 else {}
    return WorkloadProblem(num_nodes, Jobs.of(jobs), rng.choice(["", "a b", "w"]), meta)


def random_schedule(seed: int, problem: WorkloadProblem) -> WorkloadSchedule:
    """Draw when each job of a problem runs, on its own nodes and whether that is allowed or not."""
    rng = Random(seed)
    return WorkloadSchedule.of(problem, [float(rng.randint(0, 50_000)) / 4 for _ in problem.jobs.names])
