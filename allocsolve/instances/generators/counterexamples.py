"""Small problems, each of which refutes a belief that comes easily: what suites of the library have."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from allocsolve.instances.library.files import Library

if TYPE_CHECKING:
    from allocsolve.model import PlacementProblem, Problem, ReservationProblem, WorkloadProblem


@cache
def _suite(name: str) -> tuple[Any, ...]:
    """Return the problems of a suite, each named as its case is."""
    return tuple(replace(problem, name=problem.meta["case"]) for problem in Library()[name].problems())


def counterexamples() -> tuple[Problem, ...]:
    """Return the counterexamples of evolution and partition; ``meta`` of each has its ``reason``.

    Examples
    --------
    >>> counterexamples()[0].name
    'compacting-gap-is-left'
    """
    return _suite("counterexamples")


def shape_counterexamples() -> tuple[ReservationProblem, ...]:
    """Return two lines of nodes with seven jobs without slack, each for every shape.

    At no time do the jobs ask for more nodes than there are, so that all can be accepted with the shape
    ``any``. No seven runs exist, and on a line connected sets are runs. ``meta["accepted"]`` says how many
    jobs can be accepted. On the line of 4 the jobs of two nodes at the start fill nodes 0, 1 and 2, 3; the
    job from 12 to 16 needs the place of the one that ends at 12 and a free one beside it; so the two other
    jobs of one node sit at both ends of the line, or one of them in the way, and no two neighbours are left
    for the last job.

    Examples
    --------
    >>> for case in shape_counterexamples():
    ...     print(case.name, case.meta["accepted"])
    line-of-4-any 7
    line-of-4-connected 6
    line-of-4-run 6
    line-of-6-any 7
    line-of-6-connected 6
    line-of-6-run 6
    """
    return _suite("shape-counterexamples")


def easy_counterexamples() -> tuple[WorkloadProblem, ...]:
    """Return small workloads, each of which tells a published "EASY" from EASY.

    ``meta`` of each has its ``reason``, the ``tool`` that it refutes, and as ``starts`` when each job starts
    (seconds) by each rule: ``"easy"`` (shadow time and extra nodes), ``"fcfs"``, ``"first-fit"``,
    ``"conservative"``, and the rule of the tool, under the name of the preset or of the solver with options
    that follows it, or, where none here does, of the cause.

    Examples
    --------
    >>> case = next(case for case in easy_counterexamples() if case.name == "reservation-without-nodes")
    >>> case.meta["tool"], case.meta["starts"]["easy"], case.meta["starts"]["accasim"]
    ('AccaSim 1.1.3', [0, 100, 110], [0, 1002, 2])
    """
    return _suite("easy-counterexamples")


def network_counterexamples() -> tuple[PlacementProblem, ...]:
    """Return small trees on which rules of schedulers do not take the nearest nodes, or none.

    But for ``rest-by-name`` and ``stall`` they are the smallest such trees. ``meta`` of each has its
    ``reason``; ``takes``, how many nodes each rule takes from each switch of level 1 (None if it takes no
    nodes), by the name of its solver; the total distance of these (``cost``) and the least one
    (``optimum``); and the ``seed`` for which a rule with random choices does so.

    Examples
    --------
    >>> case = next(case for case in network_counterexamples() if case.name == "nodes-by-name")
    >>> case.meta["takes"], case.meta["cost"], case.meta["optimum"]
    ({'kueue': [2, 2], 'kueue(mode=balanced)': [2, 2]}, 20, 18)
    """
    return _suite("network-counterexamples")
