"""Price certificates of rigid workloads as the numbers that the verified checker reads."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.families import ProofText
from allocsolve.judge.certificates import integers, positive_integer, price_list
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allocsolve.model import FloatArray, WorkloadProblem

#: What the checker's theorems bound.
_TERMS: Final = ("turnaround", "wait")


def workload_proof_text(problem: WorkloadProblem, certificate: Mapping[str, object], term: str) -> ProofText:
    """Return a certificate that the judge has accepted as the text that the verified checker reads.

    Parameters
    ----------
    problem
        Rigid jobs; their times are quarters of a second, their weights whole numbers.
    certificate
        Prices, one list for all jobs or one for each.
    term
        ``turnaround`` or ``wait``.

    Raises
    ------
    UnsupportedProblem
        If the checker has no theorem for this certificate or these jobs.

    Notes
    -----
    Nothing here is trusted but that the lines of the jobs are those of the problem: a text that says anything
    else of the certificate proves less, or is refused. Times are in ticks, 1 or 4 in a second.

    *Complexity*: O(prices * log prices).
    """
    kind = certificate.get("kind")
    if kind not in ("job-prices", "time-prices"):
        msg = f"certificates of the kind {kind} are not verified: price lists are"
        raise UnsupportedProblem(msg)
    if term not in _TERMS:
        msg = f"bounds on {term} are not verified: those on {' and '.join(_TERMS)} are"
        raise UnsupportedProblem(msg)
    if not problem.is_rigid:
        msg = "bounds of jobs that are not rigid are not verified"
        raise UnsupportedProblem(msg)
    packed = problem.packed
    ticks = 1 if _are_whole(packed.submit) and _are_whole(packed.runtime) else 4
    _check_whole("submit", packed.submit, ticks, "quarter of a second")
    _check_whole("runtime", packed.runtime, ticks, "quarter of a second")
    _check_whole("weight", packed.weight, 1, "whole number")
    columns = (packed.submit * ticks, packed.runtime * ticks, packed.nodes, packed.weight)
    rows = zip(*(column.astype(np.int64).tolist() for column in columns), strict=True)
    jobs = [f"rigid-workload {problem.num_nodes} {len(problem.jobs)} {ticks}"]
    jobs += [f"{submit} {runtime} {nodes} {weight}" for submit, runtime, nodes, weight in rows]
    prices = _job_prices if kind == "job-prices" else _time_prices
    lines = prices(problem, certificate, f"{kind} {term}", ticks)
    return ProofText("\n".join([*jobs, ""]), "\n".join([*lines, ""]), not problem.is_exact)


def _are_whole(values: FloatArray) -> bool:
    return bool((values % 1 == 0).all())


def _check_whole(field: str, values: FloatArray, units: int, what: str) -> None:
    """Refuse values that are no multiples of 1 / `units`, which the checker cannot read."""
    if not _are_whole(values * units):
        job = int(np.argmax(values * units % 1 != 0))
        msg = f"jobs[{job}]: {field} {values[job]:g} is no {what}; its bounds are not verified"
        raise UnsupportedProblem(msg)


def _time_prices(
    problem: WorkloadProblem, certificate: Mapping[str, object], head: str, ticks: int
) -> Iterator[str]:
    """Yield the unit, the tick at which the first slot begins, and the length and the price of each slot."""
    del problem
    listed = price_list(certificate)
    yield f"{head} {listed.unit} {listed.edges[0] * ticks if listed.edges else 0} {len(listed.prices)}"
    for (begin, end), price in zip(pairwise(listed.edges), listed.prices, strict=True):
        yield f"{(end - begin) * ticks} {price}"


def _job_prices(
    problem: WorkloadProblem, certificate: Mapping[str, object], head: str, ticks: int
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
    sizes = problem.packed.nodes[owners] // divisor
    items = zip((owners + 1).tolist(), sizes.tolist(), prices.tolist(), strict=True)
    paid = [f" {job} {size} {price}" for job, size, price in items]
    used, begins = np.unique(slots, return_index=True)
    yield f"{head} {unit} {divisor} {len(used)}"
    for slot, (begin, end) in zip(used.tolist(), pairwise([*begins.tolist(), len(paid)]), strict=True):
        length = edges[slot + 1] - edges[slot]
        yield f"{edges[slot]} {length} {end - begin}{''.join(paid[begin:end])}"
