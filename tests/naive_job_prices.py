"""Slow twins of the bound by prices per job."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from allocsolve.model import SLOWDOWN_FLOOR_S, Job, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def family(seed: int) -> WorkloadProblem:
    """A small problem: 4-7 jobs of up to 10 nodes, all times whole seconds."""
    random = np.random.default_rng(seed)
    num_nodes = int(random.integers(4, 11))
    return WorkloadProblem(
        num_nodes,
        [
            Job(
                int(random.integers(0, 12)),
                int(random.integers(1, num_nodes + 1)),
                int(random.integers(1, 7)),
            )
            for _ in range(int(random.integers(4, 8)))
        ],
    )


def cost(job: Job, end: float | Fraction, term: str) -> Fraction:
    """What the end of a job costs, before the division by the sum of the weights."""
    late = Fraction(end) - Fraction(job.submit)
    if term == "slowdown":
        late = max(Fraction(1), late / max(Fraction(job.runtime), Fraction(SLOWDOWN_FLOOR_S)))
    elif term == "wait":
        late -= Fraction(job.runtime)
    return Fraction(job.weight) * late


def bound(problem: WorkloadProblem, certificate: Mapping[str, Any], term: str) -> Fraction:
    """The bound that a certificate of prices per job proves, by fractions and all subsets of the jobs."""
    edges = [Fraction(edge) for edge in certificate["edges"]]
    prices = [
        {
            certificate["first_slots"][idx] + at: Fraction(price, certificate["unit"])
            for at, price in enumerate(
                certificate["prices"][certificate["offsets"][idx] : certificate["offsets"][idx + 1]]
            )
        }
        for idx in range(len(problem.jobs))
    ]
    total = sum(
        (_cheapest(job, own, edges, term) for job, own in zip(problem.jobs, prices, strict=True)), Fraction(0)
    )
    capacity = problem.num_nodes // certificate["nodes"]
    sizes = [job.nodes // certificate["nodes"] for job in problem.jobs]
    for slot, (low, high) in enumerate(itertools.pairwise(edges)):
        total -= (high - low) * _fullest(sizes, [own.get(slot, Fraction(0)) for own in prices], capacity)
    return total / sum(Fraction(job.weight) for job in problem.jobs)


def _cheapest(job: Job, prices: Mapping[int, Fraction], edges: Sequence[Fraction], term: str) -> Fraction:
    runtime, submit = Fraction(job.runtime), Fraction(job.submit)
    starts: set[Fraction] = {submit, *edges, *(edge - runtime for edge in edges)}
    starts.add(submit + max(runtime, Fraction(SLOWDOWN_FLOOR_S)) - runtime)
    return min(
        cost(job, start + runtime, term)
        + sum(
            (
                price * max(Fraction(0), min(start + runtime, edges[slot + 1]) - max(start, edges[slot]))
                for slot, price in prices.items()
            ),
            Fraction(0),
        )
        for start in starts
        if start >= submit
    )


def _fullest(sizes: Sequence[int], prices: Sequence[Fraction], capacity: int) -> Fraction:
    priced = [(size, price) for size, price in zip(sizes, prices, strict=True) if price > 0]
    best = Fraction(0)
    for chosen in itertools.product((False, True), repeat=len(priced)):
        inside = [pair for pair, taken in zip(priced, chosen, strict=True) if taken]
        if sum(size for size, _ in inside) <= capacity:
            best = max(best, sum((price for _, price in inside), Fraction(0)))
    return best


def soft_slot(sizes: Sequence[int], odds: Sequence[float], capacity: int) -> tuple[float, list[float]]:
    """Logarithm of the sum over all fitting sets of e^(sum of their odds), and how likely each item is in."""
    weights = [
        (sum(odd for odd, taken in zip(odds, chosen, strict=True) if taken), chosen)
        for chosen in itertools.product((False, True), repeat=len(sizes))
        if sum(size for size, taken in zip(sizes, chosen, strict=True) if taken) <= capacity
    ]
    most = max(weight for weight, _ in weights)
    total = math.fsum(math.exp(weight - most) for weight, _ in weights)
    inside = [
        math.fsum(math.exp(weight - most) for weight, chosen in weights if chosen[item]) / total
        for item in range(len(sizes))
    ]
    return most + math.log(total), inside
