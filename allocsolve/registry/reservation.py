"""The family of reservation problems."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from allocsolve.families import Alias, CertificateKind, Codec, Family, Feature, Rules, SolverRow, imported
from allocsolve.instances.formats.own import reservation as codec
from allocsolve.instances.generators.examples import leaking_reservations, reservation_examples
from allocsolve.judge.reservation.rules import RESERVATION_TERMS, reservation_metrics, reservation_violations
from allocsolve.model import (
    RESERVATION_OBJECTIVES,
    DeadlineJob,
    Mesh,
    ReservationProblem,
    ReservationSchedule,
    Topology,
)
from allocsolve.pictures.reservation import RESERVATION_VIEW
from allocsolve.registry.table import exact, heuristic, quick_solvers, with_objective

if TYPE_CHECKING:
    from allocsolve.model import ReservationShape, Solver

#: By what part of a share the claims of solvers may differ from the quotient of the judge.
_TOLERANCE: Final = 1e-9


_TABLE = (
    SolverRow(
        "static",
        "heuristic",
        "each job at its arrival, first start with a set of nodes",
        "allocsolve.registry.place:static",
    ),
    heuristic("greedy", "clairvoyant: the best of eleven orders of jobs", "ReservationGreedy"),
    exact("prices", "clairvoyant schedules, bounds by prices of nodes, anytime", "ReservationPrices"),
    exact("cpsat", "CP-SAT, optional intervals, small problems", "ReservationCpSat", ("ortools",)),
)


def _features(problem: ReservationProblem) -> dict[str, Feature]:
    jobs = problem.packed
    count = len(problem.jobs)
    span = int(jobs.arrival[-1] - jobs.arrival[0]) if count else 0
    slack = (jobs.deadline - jobs.arrival - jobs.runtime) / jobs.runtime
    return {
        "machine": "x".join(map(str, problem.topology.shape)),
        "wrap": "x".join(str(int(ring)) for ring in problem.topology.wrap),
        "shape": problem.shape,
        "num_jobs": count,
        "load": problem.area / (problem.topology.num_nodes * span) if span else None,
        "mean_share": float(jobs.nodes.mean()) / problem.topology.num_nodes if count else None,
        "mean_slack": float(slack.mean()) if count else None,
    }


@functools.cache
def _tiny_problems(topology: Topology, shape: ReservationShape) -> tuple[ReservationProblem, ...]:
    """Return a problem that no greedy rule solves, and the same with jobs that may leak."""
    nodes = topology.num_nodes
    wide, half = max(1, nodes - 1), max(1, nodes // 2)
    rows = ((0, half, 20, 60), (0, wide, 10, 25), (1, 1, 30, 40), (2, half, 5, 9), (3, wide, 10, 40))
    plain = ReservationProblem(topology, tuple(DeadlineJob(*row) for row in rows), shape)
    return plain, replace(plain, leaking=True)


def _warm_up(problem: ReservationProblem) -> tuple[ReservationProblem, ...]:
    """Return tiny problems on a machine with as many axes and rings."""
    sides = tuple(min(side, 3) for side in problem.topology.shape)
    return _tiny_problems(Topology(sides, problem.topology.wrap), problem.shape)


def _quick_solvers(
    _problem: ReservationProblem, objective: tuple[str, ...]
) -> tuple[Solver[ReservationProblem, ReservationSchedule], ...]:
    return tuple(with_objective(solver, objective) for solver in quick_solvers(RESERVATION))


def _leaks(problem: ReservationProblem) -> str:
    return "jobs that may leak" if problem.leaking else ""


_CERTIFICATES: Final[tuple[CertificateKind[ReservationProblem, ReservationSchedule], ...]] = (
    CertificateKind(
        *("", RESERVATION_OBJECTIVES, "prices of node-seconds, slot by slot"),
        check=imported("allocsolve.judge.reservation.certificate:reservation_price_bound"),
        schema=codec.certificate_schema,
        names_term=False,
        beyond=_leaks,
    ),
)


RESERVATION: Final = Family(
    kind="reservation",
    problem=ReservationProblem,
    answer=ReservationSchedule,
    objectives=RESERVATION_TERMS,
    rules=Rules(reservation_violations, reservation_metrics, _CERTIFICATES, tolerance=_TOLERANCE),
    codec=Codec(answer_kind="reservation-schedule", problem=codec.PROBLEM, answer=codec.ANSWER),
    view=RESERVATION_VIEW,
    solvers=_TABLE,
    aliases=(
        Alias(
            "static-{allocator}",
            "static(allocator={allocator})",
            {"allocator": ("any", "count", "growth", "literal", "town", "manhattan-median")},
        ),
    ),
    baseline="prices",
    features=_features,
    warm_up=_warm_up,
    examples=reservation_examples,
    large_example=lambda: leaking_reservations(1, 600, Mesh((16, 8))),
    timing_problems={
        f"{count}-jobs-on-{side}x{side}": functools.partial(
            leaking_reservations, 1, count, Mesh((side, side))
        )
        for count, side in ((10, 4), (100, 8), (1000, 8), (3000, 16), (10_000, 16))
    },
    quick_solvers=_quick_solvers,
)
