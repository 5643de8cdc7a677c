"""A standing attack on the judge: no certificate, however it is changed, proves more than is true."""

from __future__ import annotations

import functools
import importlib
import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from certificate_attack import climb
from certificate_kinds import ATTACKED
from hypothesis import Phase, given, settings, strategies as st
from tiers import examples

from allocsolve.cli.schema import schemas
from allocsolve.errors import InvalidAnswer
from allocsolve.families import family_of
from allocsolve.model import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

#: Changed certificates for each problem, of which there are 40 for each kind in CI and 1,000 at full counts.
CHANGES = 100
#: What a judge that is wrong adds to each bound: with this every kind is attacked, to see that it is found.
ONE_MORE = 1.0


def attack(name: str, data: st.DataObject, seed: int, more: float = 0.0) -> None:
    """Fail if a changed certificate is accepted with a bound above the optimum, or breaks the judge."""
    kind = ATTACKED[name]
    problem, term = data.draw(kind.problems), data.draw(st.sampled_from(kind.terms))
    certified_bound = family_of(problem).rules.certified_bound
    assert certified_bound is not None

    def bound_of(document: dict[str, Any]) -> float | None:
        try:
            return more + certified_bound(problem, kind.sealed(problem, term, document), (term,))
        except InvalidAnswer:
            return None

    optimum = kind.optimum(problem, term)
    highest = max(optimum * (1 + kind.tolerance), optimum + kind.tolerance)
    start = kind.document(problem, term)
    for step, bound, document in climb(start, bound_of, random.Random(seed), CHANGES):
        assert bound <= highest, f"step {step}: {bound} of {term} is above {float(optimum)}: {document}"


def attacks(name: str, more: float = 0.0) -> Callable[[], None]:
    """Return the attack on a kind, the same in every run, which ends where it finds something."""

    @given(data=st.data(), seed=st.integers(0, 2**32))
    @settings(
        max_examples=40, derandomize=True, database=None, phases=[Phase.generate], report_multiple_bugs=False
    )
    def attacked(data: st.DataObject, seed: int) -> None:
        attack(name, data, seed, more)

    return attacked


@pytest.mark.parametrize("name", ATTACKED)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=examples(1000))
def test_no_changed_certificate_is_above_the_optimum(name: str, data: st.DataObject, seed: int) -> None:
    attack(name, data, seed)


def test_every_kind_is_attacked() -> None:
    assert {kind.kind for kind in ATTACKED.values()} == set(schemas()["certificate"]["$defs"])


@pytest.mark.parametrize("name", ATTACKED)
def test_one_more_is_found(name: str) -> None:
    with pytest.raises(AssertionError, match="step"):
        attacks(name, ONE_MORE)()


#: The kind that is attacked, a function of its judge, and what stands in its place, which calls it.
FAULTS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "runs take a second longer": (
        "time-prices of rigid jobs",
        "workload.certificate:least_costs",
        lambda was, packed, delays, free, units, *rest: was(
            packed, delays, free, (units[0], units[1] - units[0]), *rest
        ),
    ),
    "prices may be negative": (
        "reservation-certificate",
        "certificates:_first_fault",
        lambda was, values, low: was(values, low - 2**40),
    ),
    "sets of jobs are looked for on a node less": (
        "job-prices",
        "workload.job_prices:fullest_sets",
        lambda was, windows, nodes, capacity, full: was(windows, nodes, capacity - 1, full),
    ),
    "sets of jobs are looked for on one less of each resource": (
        "job-prices on machines",
        "workload.machine_job_prices:fullest_sets_on_machine",
        lambda was, prices, needs, room, cells, full: was(
            prices, needs, frozen(np.maximum(room - 1, 0)), cells, full
        ),
    ),
    "a leaf has a node less": (
        "date-tree",
        "workload.date_tree:Machine.of",
        lambda was, problem, divisor: was(problem, divisor)._replace(
            capacity=was(problem, divisor).capacity - 1
        ),
    ),
    "shared prices are paid to nobody": (
        "date-trees",
        "workload.date_trees:fullest_sets",
        lambda *_: None,
    ),
    "all is closed while something is": (
        "machine-prices",
        "workload.machine_prices:_earned",
        lambda was, problem, *rest: 0 if problem.closed else was(problem, *rest),
    ),
    "moldable jobs have their longest run": (
        "makespan of moldable jobs",
        "workload.certificate:least_times_and_areas",
        lambda was, problem: (problem.run_times(problem.packed.min_nodes), was(problem)[1]),
    ),
    "jobs with profiles cost a tenth more": (
        "time-prices of profiles",
        "workload.certificate:least_cost_of_evolution",
        lambda was, *rest: was(*rest) * 11 / 10,
    ),
    "work costs a tenth more": (
        "time-prices of malleable jobs",
        "workload.certificate:least_cost_of_work",
        lambda was, *rest: was(*rest) * 11 / 10,
    ),
    "steps meet that need a node less": (
        "learned-clauses",
        "evolution.certificate:_holes",
        lambda was, problem, points: was(
            SimpleNamespace(packed=problem.packed, num_nodes=problem.num_nodes - 1), points
        ),
    ),
    "the leaves of a tree are not looked at": (
        "cut-tree",
        "partition.certificate:open_leaf",
        lambda *_: -1,
    ),
    "multipliers prove a hop more": (
        "partition-certificate",
        "partition.certificate:relaxed_cost",
        lambda was, windows, branch, tables, multipliers, size: (
            was(windows, branch, tables, multipliers, size) + 100
        ),
    ),
    "a box is not seen": ("boxes", "partition.boxes:_free_sides", lambda *_: None),
    "a placement is not seen": (
        "knapsack",
        "placement.certificate:least_placement",
        lambda was, *rest: (was(*rest) or 0) + 1,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_judge_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, place, wrong = FAULTS[fault]
    module, function = place.split(":")
    *outer, name_there = function.split(".")
    holder = functools.reduce(getattr, outer, importlib.import_module(f"allocsolve.judge.{module}"))
    right = getattr(holder, name_there)
    monkeypatch.setattr(holder, name_there, lambda *args: wrong(right, *args))
    with pytest.raises(AssertionError, match="step"):
        attacks(name)()
