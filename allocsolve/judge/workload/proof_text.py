"""Certificates of workloads as the numbers that the verified checker reads."""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.families import ProofText
from allocsolve.judge.certificates import integers, positive_integer, price_list
from allocsolve.judge.workload.machine import closures, needed, resources_of
from allocsolve.model import MAX_INTEGER, MOLDABLE, SPEEDUP_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allocsolve.model import FloatArray, WorkloadProblem

#: Units of time in a second in which the judge counts where it rounds times, at most.
_FINEST: Final = 1 << 16


def workload_proof_text(problem: WorkloadProblem, certificate: Mapping[str, object], term: str) -> ProofText:
    """Return a certificate that the judge has accepted as the text that the verified checker reads.

    The certificate has prices, one list for all jobs, one for each, or one for each resource; or a rule of
    makespans. Jobs are rigid, or moldable with a table of sizes: then prices bound the turnaround only. Their
    times are quarters of a second, their weights whole numbers. `UnsupportedProblem` if the checker has no
    theorem for this certificate or these jobs.

    Notes
    -----
    Nothing here is trusted but that the lines of the jobs are those of the problem: a text that says anything
    else of the certificate proves less, or is refused. Times are in ticks, 1 or 4 in a second.

    *Complexity*: O(prices * log prices).
    """
    kind = str(certificate["kind"])
    if problem.node_types or (kind != "machine-prices" and problem.beyond_plain):
        raise UnsupportedProblem(f"the workload has {problem.beyond_plain}: its bounds are not verified")
    ticks = _ticks(problem)
    if kind == "machine-prices":
        jobs = _machine_jobs(problem, ticks)
    else:
        jobs = _rigid_jobs(problem, ticks) if problem.is_rigid else _moldable_jobs(problem, ticks, term)
    lines = _CERTIFICATES[kind](problem, certificate, term, ticks)
    text, proof = ("\n".join([*part, ""]) for part in (jobs, lines))
    return ProofText(text, proof, not problem.is_exact, _missing(problem, certificate, term))


def _missing(problem: WorkloadProblem, certificate: Mapping[str, object], term: str) -> str:
    """Return why no job counts; empty if one does."""
    packed, after = problem.jobs.packed, certificate.get("after")
    if not len(problem.jobs):
        return "there are no jobs"
    if term != "makespan":
        return "" if packed.weight.any() else "all jobs have the weight 0"
    assert isinstance(after, int | float), "the judge has accepted it"
    return "" if (packed.submit >= after).any() else f"no job is submitted at {after:g} s or later"


def _ticks(problem: WorkloadProblem) -> int:
    """Return the ticks in a second; refuse times and weights that the checker cannot read."""
    packed = problem.jobs.packed
    edges = np.array([edge for window in problem.closed for edge in (window.start, window.end)], dtype=float)
    times = (packed.submit, packed.runtime, packed.table_seconds, edges, _eligible(problem))
    _check_whole("submit", packed.submit, 4, "quarter of a second")
    _check_whole("runtime", packed.runtime, 4, "quarter of a second")
    _check_whole("weight", packed.weight, 1, "whole number")
    _check_whole("eligible", _eligible(problem), 4, "quarter of a second")
    if not _are_whole(edges * 4):
        msg = "closed windows begin and end at no quarters of a second; bounds are not verified"
        raise UnsupportedProblem(msg)
    if not _are_whole(packed.table_seconds * 4):
        msg = "run times of speedup tables are no quarters of a second; their bounds are not verified"
        raise UnsupportedProblem(msg)
    return 1 if all(map(_are_whole, times)) else 4


def _rigid_jobs(problem: WorkloadProblem, ticks: int) -> Iterator[str]:
    """Yield the lines of rigid jobs."""
    packed = problem.jobs.packed
    yield f"rigid-workload {problem.num_nodes} {len(problem.jobs)} {ticks}"
    columns = (packed.submit * ticks, packed.runtime * ticks, packed.nodes, packed.weight)
    for row in zip(*(column.astype(np.int64).tolist() for column in columns), strict=True):
        yield " ".join(map(str, row))


def _moldable_jobs(problem: WorkloadProblem, ticks: int, term: str) -> Iterator[str]:
    """Yield the lines of jobs of which some may run with one of several sizes."""
    packed = problem.jobs.packed
    if term not in ("turnaround", "makespan"):
        raise UnsupportedProblem(f"bounds on the {term} of jobs that are not rigid are not verified")
    changing = packed.kind > MOLDABLE
    if changing.any():
        msg = (
            f"jobs[{int(np.argmax(changing))}] may change its size while it runs: its bounds are not verified"
        )
        raise UnsupportedProblem(msg)
    by_law = (packed.kind == MOLDABLE) & (packed.speedup != SPEEDUP_TABLE)
    if by_law.any():
        msg = f"jobs[{int(np.argmax(by_law))}] has run times that follow a law: that is not verified"
        raise UnsupportedProblem(msg)
    yield f"moldable-workload {problem.num_nodes} {len(problem.jobs)} {ticks}"
    seconds = (packed.table_seconds * ticks).astype(np.int64).tolist()
    tabled = [*zip(seconds, packed.table_nodes.tolist(), strict=True)]
    columns = (packed.submit * ticks, packed.weight, packed.runtime * ticks, packed.nodes)
    rows = zip(*(column.astype(np.int64).tolist() for column in columns), strict=True)
    for (submit, weight, runtime, nodes), (begin, end) in zip(
        rows, pairwise(packed.table_offsets.tolist()), strict=True
    ):
        sizes = tabled[begin:end] or [(runtime, nodes)]
        yield " ".join(map(str, (submit, weight, len(sizes), *chain.from_iterable(sizes))))


def _eligible(problem: WorkloadProblem) -> FloatArray:
    """Return when each job may start, whatever the machine does."""
    return problem.jobs.requirements.release(problem.jobs.packed.submit)


def _machine_jobs(problem: WorkloadProblem, ticks: int) -> Iterator[str]:
    """Yield the lines of resources, with what is closed of them, and of rigid jobs."""
    packed, there = problem.jobs.packed, resources_of(problem)
    yield f"machine-workload {len(there)} {len(problem.jobs)} {ticks}"
    for name, total in there.items():
        windows = [
            (int(window.start * ticks), int(window.end * ticks), amount)
            for window, amount in closures(problem, name)
        ]
        yield " ".join(map(str, (total, len(windows), *chain.from_iterable(windows))))
    times = (packed.submit * ticks, _eligible(problem) * ticks, packed.runtime * ticks, packed.weight)
    needs = (needed(problem, name) for name in there)
    columns = [*(column.astype(np.int64) for column in times), *needs]
    for row in zip(*(column.tolist() for column in columns), strict=True):
        yield " ".join(map(str, row))


def _machine_prices(
    problem: WorkloadProblem, certificate: Mapping[str, object], term: str, ticks: int
) -> Iterator[str]:
    """Yield the unit, and the prices of all resources in pieces in which no window begins or ends."""
    listed, edges, names = certificate["prices"], certificate["edges"], resources_of(problem)
    assert isinstance(listed, dict), "the judge has accepted it"
    assert isinstance(edges, list), "the judge has accepted it"
    if not listed:  # without any price the delays of the jobs alone are the bound
        listed = {"nodes": [0] * (len(edges) - 1)}
    lists = {name: price_list({**certificate, "prices": prices}) for name, prices in listed.items()}
    (edges, _, unit), *_ = lists.values()
    finer = _finer(problem, term, ticks)
    marks = {edge * ticks for edge in edges}
    ends = {int(edge * ticks) for window in problem.closed for edge in (window.start, window.end)}
    marks |= {mark for mark in ends if edges[0] * ticks < mark < edges[-1] * ticks}
    pieces = [*pairwise(sorted(marks))]
    yield f"machine-prices {term} {unit * finer} {edges[0] * ticks} {len(pieces)}"
    for begin, end in pieces:
        slot = bisect_right(edges, begin // ticks) - 1
        prices = (lists[name].prices[slot] * finer if name in lists else 0 for name in names)
        yield " ".join(map(str, (end - begin, *prices)))


def _finer(problem: WorkloadProblem, term: str, ticks: int) -> int:
    """Return in how many parts of a tick the judge counts slowdowns, which it rounds down for each job."""
    return (4 if problem.is_exact else _FINEST) // ticks if term == "slowdown" else 1


def _are_whole(values: FloatArray) -> bool:
    return bool((values % 1 == 0).all())


def _check_whole(field: str, values: FloatArray, units: int, what: str) -> None:
    """Refuse values that are no multiples of 1 / `units`, which the checker cannot read."""
    if not _are_whole(values * units):
        job = int(np.argmax(values * units % 1 != 0))
        msg = f"jobs[{job}]: {field} {values[job]:g} is no {what}; its bounds are not verified"
        raise UnsupportedProblem(msg)


def _last_end(_: WorkloadProblem, certificate: Mapping[str, object], term: str, ticks: int) -> Iterator[str]:
    """Yield the rule, and the tick from which on jobs count."""
    after = certificate["after"]
    assert isinstance(after, int | float), "the judge has accepted it"
    if after * ticks % 1:
        msg = f"after {after:g} of the certificate is no tick of 1/{ticks} s; its {term} is not verified"
        raise UnsupportedProblem(msg)
    yield f"last-end {certificate['rule']} {int(after * ticks)}"


def _time_prices(
    problem: WorkloadProblem, certificate: Mapping[str, object], term: str, ticks: int
) -> Iterator[str]:
    """Yield the unit, the tick at which the first slot begins, and the length and the price of each slot."""
    listed = price_list(certificate)
    finer = _finer(problem, term, ticks)
    begin = listed.edges[0] * ticks if listed.edges else 0
    yield f"time-prices {term} {listed.unit * finer} {begin} {len(listed.prices)}"
    for (begin, end), price in zip(pairwise(listed.edges), listed.prices, strict=True):
        yield f"{(end - begin) * ticks} {price * finer}"


def _job_prices(
    problem: WorkloadProblem, certificate: Mapping[str, object], term: str, ticks: int
) -> Iterator[str]:
    """Yield the unit, the divisor of sizes, and for each slot what each job pays in it."""
    unit, divisor = (positive_integer(certificate, key) for key in ("unit", "nodes"))
    edges = (integers(certificate, "edges", -MAX_INTEGER) * ticks).tolist()
    first, offsets, prices = (integers(certificate, key, 0) for key in ("first_slots", "offsets", "prices"))
    counts = np.diff(offsets)
    owners = np.repeat(np.arange(len(counts)), counts)
    slots = np.arange(len(prices)) + np.repeat(first - offsets[:-1], counts)
    order = np.lexsort((owners, slots))
    order = order[prices[order] > 0]
    owners, slots, prices = owners[order], slots[order], prices[order]
    sizes = problem.jobs.packed.nodes[owners] // divisor
    items = zip((owners + 1).tolist(), sizes.tolist(), prices.tolist(), strict=True)
    paid = [f" {job} {size} {price}" for job, size, price in items]
    used, begins = np.unique(slots, return_index=True)
    yield f"job-prices {term} {unit} {divisor} {len(used)}"
    for slot, (begin, end) in zip(used.tolist(), pairwise([*begins.tolist(), len(paid)]), strict=True):
        length = edges[slot + 1] - edges[slot]
        yield f"{edges[slot]} {length} {end - begin}{''.join(paid[begin:end])}"


_CERTIFICATES: Final = {
    "job-prices": _job_prices,
    "time-prices": _time_prices,
    "makespan": _last_end,
    "machine-prices": _machine_prices,
}
