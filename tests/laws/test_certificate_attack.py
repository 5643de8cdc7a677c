"""A standing attack on the judge: no certificate, however it is changed, proves more than is true."""

from __future__ import annotations

import copy
import functools
import importlib
import math
import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from certificate_kinds import ATTACKED
from hypothesis import Phase, given, settings, strategies as st
from tiers import examples

from allocsolve.cli.schema import schemas
from allocsolve.errors import InvalidAnswer
from allocsolve.judge import certified_bound
from allocsolve.model import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random


Document: TypeAlias = dict[str, Any]

#: How many changes are made before a judge is asked.
_TOGETHER = (1, 1, 1, 2, 2, 3, 5)
#: The share of the judged documents after which the climb begins again.
_RESTARTS = 0.03
#: The share of the steps downhill that are taken.
_DOWNHILL = 0.2
#: The share of the changes that are made to a list or an object as a whole, and not to something in it.
_WHOLE = 0.4


def climb(
    start: Document, bound_of: Callable[[Document], float | None], rng: Random, steps: int
) -> Iterator[tuple[int, float, Document]]:
    """Yield each document that is accepted, and go on from those with a bound as high as the one before.

    Sometimes a climb goes on from a lower bound, too: what an optimiser has found is a peak.

    Parameters
    ----------
    start
        What is changed, again and again.
    bound_of
        What a document proves; None if it is refused.
    rng
        Where chance comes from.
    steps
        How many changed documents are judged.

    Yields
    ------
    tuple
        How many documents have been judged so far, the bound, and the document.
    """
    words = _words()
    first = bound_of(start)
    if first is not None:
        yield 0, first, start
    current, height = start, -math.inf
    for step in range(1, steps + 1):
        if rng.random() < _RESTARTS:
            current, height = start, -math.inf
        changed = copy.deepcopy(current)
        for _ in range(rng.choice(_TOGETHER)):
            _change(changed, words, rng)
        bound = bound_of(changed)
        if bound is not None:
            yield step, bound, changed
            if bound >= height or rng.random() < _DOWNHILL:
                current, height = changed, bound


@functools.cache
def _words() -> list[str]:
    """Return all words that certificates may have."""

    def within(schema: Any) -> Iterator[str]:
        if isinstance(schema, dict):
            known = [*schema.get("enum", ()), schema.get("const")]
            yield from (word for word in known if isinstance(word, str))
        for part in schema.values() if isinstance(schema, dict) else schema:
            if isinstance(part, dict | list):
                yield from within(part)

    return sorted(set(within(schemas()["certificate"])))


def _change(document: Document, words: list[str], rng: Random) -> None:
    """Change one thing somewhere in a document; what lies deeper is not chosen more often."""
    holder: Any = {"": document}
    key: Any = ""
    while isinstance(value := holder[key], dict | list) and value and (key == "" or rng.random() > _WHOLE):
        holder, key = value, rng.choice([*value] if isinstance(value, dict) else range(len(value)))
    if isinstance(value, list):
        _change_list(_beside(value, holder, rng), document, rng)
    elif isinstance(value, dict):
        holder[key] = copy.deepcopy(rng.choice(_alike(document, dict)))
    elif isinstance(value, str):
        holder[key] = rng.choice(words)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = _number(value, document, rng)
    else:
        holder[key] = rng.choice([None, True, False, 0, 1])
    if isinstance(holder, dict) and rng.random() < 0.02:
        del holder[key]


def _number(value: Any, document: Document, rng: Random) -> Any:
    """Return another number: one nearby mostly, one from elsewhere, or one at the edge of a range."""
    what, sign = rng.randrange(12), rng.choice((-1, 1))
    if what < 4:
        return value + sign * rng.choice((1, 1, 1, 2, 3, 5, 10, 100))
    if what < 8:
        share = 2 ** rng.randint(1, 12)
        return value + sign * (abs(value) // share if isinstance(value, int) else value / share)
    known = rng.choice(_alike(document, int, float))
    return rng.choice(
        (known, -value, rng.choice((0, 1, -1, 2 * value, 0.5, 2**31, 2**53, 2**62, 2**64, 1e308)))
    )


def _beside(values: list[Any], holder: Any, rng: Random) -> list[list[Any]]:
    """Return a list, and in half of the cases those beside it that are as long, or one longer or shorter."""
    others = [*holder.values()] if isinstance(holder, dict) and rng.random() < 0.5 else []
    near = (other for other in others if isinstance(other, list) and abs(len(other) - len(values)) < 2)
    return [values, *(other for other in near if other is not values)]


def _change_list(lists: list[list[Any]], document: Document, rng: Random) -> None:
    """Drop, repeat, turn round or add entries, or change some alike; in all lists at the same place."""
    what, at, other = rng.randrange(8), *(rng.randrange(len(lists[0]) + 1) for _ in range(2))
    low, high = sorted((at, other))
    later, shift = rng.choice((0, 1, 3, 10, 100)), rng.choice((-5, -1, 1, 5))
    factor = rng.choice((0.5, 0.9, 1.1, 2))
    for each in lists:
        (entry, *_) = each[at : at + 1] or each[-1:] or [0]
        numbers = [value for value in each[low:high] if type(value) is int]
        if what == 0:
            del each[at : at + 1]
        elif what in (1, 2):
            near = rng.choice((entry + later, entry, -entry)) if type(entry) is int else copy.deepcopy(entry)
            each.insert(at + 1, near)
        elif what == 3:
            each[low:high] = each[low:high][::-1]
        elif what == 4:
            each.insert(at, copy.deepcopy(rng.choice(_alike(document, type(entry)))))
        elif len(numbers) == len(each[low:high]):
            each[low:high] = [value + shift if what < 6 else round(value * factor) for value in numbers]


def _alike(document: Any, *kinds: type) -> list[Any]:
    """Return everything in a document that is of one of these types; itself at least, or 0."""
    found: list[Any] = []
    waiting = [document]
    for part in waiting:  # grows while it is read
        if type(part) in kinds:
            found.append(part)
        if isinstance(part, dict | list):
            waiting += part.values() if isinstance(part, dict) else part
    return found or [0]


#: Changed certificates for each problem, of which there are 40 for each kind in CI and 1,000 at full counts.
CHANGES = 100
#: What a judge that is wrong adds to each bound: with this every kind is attacked, to see that it is found.
ONE_MORE = 1.0


def attack(name: str, data: st.DataObject, seed: int, more: float = 0.0) -> None:
    """Fail if a changed certificate is accepted with a bound above the optimum, or breaks the judge."""
    kind = ATTACKED[name]
    problem, term = data.draw(kind.problems), data.draw(st.sampled_from(kind.terms))

    def bound_of(document: dict[str, Any]) -> float | None:
        try:
            return more + certified_bound(problem, kind.sealed(problem, term, document), (term,))
        except InvalidAnswer as error:
            refusal = str(error)
        assert "\n" not in refusal
        return None

    optimum = kind.optimum(problem, term)
    highest = max(optimum * (1 + kind.tolerance), optimum + kind.tolerance)
    start = kind.document(problem, term)
    for step, bound, document in climb(start, bound_of, random.Random(seed), CHANGES):
        assert bound <= highest, f"step {step}: {bound} of {term} is above {float(optimum)}: {document}"


def attacks(name: str, more: float = 0.0, count: int = 40) -> Callable[[], None]:
    """Return the attack by so many draws, the same in every run; it ends where it finds something."""

    @given(data=st.data(), seed=st.integers(0, 2**32))
    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
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


def _on_less_in_a_leaf(was: Callable[..., Any], *asked: Any) -> Any:
    machine, cells = was(*asked)
    return machine._replace(room=frozen(np.maximum(machine.room - 1, 0))), cells


def _on_less(was: Callable[..., Any], prices: Any, needs: Any, room: Any, cells: int, fullest: Any) -> None:
    was(prices, needs, frozen(np.maximum(room - 1, 0)), cells, fullest)


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
    **{
        f"sets of jobs are looked for on {less}": (kind, "workload.job_prices:fullest_sets", _on_less)
        for kind, less in (
            ("job-prices", "a node less"),
            ("job-prices on machines", "one less of each resource"),
        )
    },
    **{
        f"a leaf has {less}": (kind, "workload.date_trees:machine_in_slots", _on_less_in_a_leaf)
        for kind, less in (
            ("date-tree", "a node less"),
            ("date-tree on machines", "one less of each resource"),
        )
    },
    "shared prices are paid to nobody": ("date-trees", "workload.date_trees:fullest_sets", lambda *_: None),
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
    "the leaves of a tree are not looked at": ("cut-tree", "partition.certificate:open_leaf", lambda *_: -1),
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
        attacks(name, count=400)()  # few draws show a small fault
