"""Slow twins of the bound by prices per job, on plain machines and on those with resources and windows."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from naive_resources import available, edges_of, needs_of, release_of
from naive_workload_optimum import cost_of

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


def bound(problem: WorkloadProblem, certificate: Mapping[str, Any], term: str) -> Fraction:
    """Return the bound that a certificate proves, by all starts that matter and all sets of jobs."""
    edges = [Fraction(edge) for edge in certificate["edges"]]
    units = {"nodes": certificate["nodes"], **certificate.get("units", {})}
    changes = {*map(Fraction, edges_of(problem))}
    rooms = []
    for low, high in itertools.pairwise(edges):
        moments = [low, *(moment for moment in changes if low < moment < high)]
        open_then = [available(problem, float(moment)) for moment in moments]
        rooms.append({name: max(at[name] for at in open_then) // unit for name, unit in units.items()})
    needs = [
        {name: needs_of(job).get(name, 0) // unit for name, unit in units.items()} for job in problem.jobs
    ]
    prices = [
        {
            certificate["first_slots"][idx] + at: Fraction(price, certificate["unit"])
            for at, price in enumerate(
                certificate["prices"][certificate["offsets"][idx] : certificate["offsets"][idx + 1]]
            )
        }
        for idx in range(len(problem.jobs))
    ]
    total = Fraction(0)
    for job, own, paid in zip(problem.jobs, needs, prices, strict=True):
        barred = [slot for slot, room in enumerate(rooms) if any(own[name] > room[name] for name in units)]
        total += _cheapest(job, paid, edges, barred, term)
    for slot, (low, high) in enumerate(itertools.pairwise(edges)):
        gains = [paid.get(slot, Fraction(0)) for paid in prices]
        total -= (high - low) * _fullest(needs, gains, rooms[slot])
    return total / sum(Fraction(job.weight) for job in problem.jobs)


def _cheapest(
    job: Job, prices: Mapping[int, Fraction], edges: Sequence[Fraction], barred: Sequence[int], term: str
) -> Fraction:
    runtime, first = Fraction(job.runtime), Fraction(release_of(job))
    floor = Fraction(job.submit) + max(runtime, Fraction(SLOWDOWN_FLOOR_S)) - runtime
    starts = {first, floor, *edges, *(edge - runtime for edge in edges)}
    return min(
        cost_of(job, term, start, start + runtime)
        + sum(
            (
                price * max(Fraction(0), min(start + runtime, edges[slot + 1]) - max(start, edges[slot]))
                for slot, price in prices.items()
            ),
            Fraction(0),
        )
        for start in starts
        if start >= first
        and not any(start < edges[slot + 1] and edges[slot] < start + runtime for slot in barred)
    )


def _fullest(
    needs: Sequence[Mapping[str, int]], gains: Sequence[Fraction], room: Mapping[str, int]
) -> Fraction:
    priced = [(own, gain) for own, gain in zip(needs, gains, strict=True) if gain > 0]
    best = Fraction(0)
    for chosen in itertools.product((False, True), repeat=len(priced)):
        inside = [pair for pair, taken in zip(priced, chosen, strict=True) if taken]
        if all(sum(own[name] for own, _ in inside) <= there for name, there in room.items()):
            best = max(best, sum((gain for _, gain in inside), Fraction(0)))
    return best


def soft_sets(
    needs: Sequence[Sequence[int]], odds: Sequence[float], room: Sequence[int]
) -> list[tuple[float, tuple[bool, ...]]]:
    """Return the odds of each set of items that fits, and which items are in it."""
    return [
        (sum(odd for odd, taken in zip(odds, chosen, strict=True) if taken), chosen)
        for chosen in itertools.product((False, True), repeat=len(needs))
        if all(
            sum(need[at] for need, taken in zip(needs, chosen, strict=True) if taken) <= there
            for at, there in enumerate(room)
        )
    ]


def soft_maximum(
    needs: Sequence[Sequence[int]], odds: Sequence[float], room: Sequence[int]
) -> tuple[float, list[float]]:
    """Logarithm of the sum over all fitting sets of e^(sum of their odds), and how likely each item is in."""
    weights = soft_sets(needs, odds, room)
    most = max(weight for weight, _ in weights)
    total = math.fsum(math.exp(weight - most) for weight, _ in weights)
    inside = [
        math.fsum(math.exp(weight - most) for weight, chosen in weights if chosen[item]) / total
        for item in range(len(needs))
    ]
    return most + math.log(total), inside
