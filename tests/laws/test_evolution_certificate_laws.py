"""Laws of proofs of makespans: what is proven is so, what was tampered with proves no more than is true."""

from __future__ import annotations

import functools
import itertools
import math
import random
import zlib
from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from evolution_proofs import (
    COVER,
    DELETION,
    HORIZON,
    SIZE,
    Prices,
    certificate_of,
    implied,
    items_of,
    refutation,
    refuted_horizon,
)
from hypothesis import assume, given, settings, strategies as st
from naive_optimum import optimum
from random_toys import wide_toy
from strategies import evolution_problems
from tiers import draws, examples

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, Status
from allocsolve.bounds import step_prices
from allocsolve.errors import InvalidAnswer
from allocsolve.exact import EvolutionConflictSearch, EvolutionCpSat
from allocsolve.exact.evolution._kernels_offset_search import NO_ANSWER
from allocsolve.exact.evolution._makespan_lanes import FromAbove, FromBelow, Knowledge, LaneParams
from allocsolve.exact.evolution._offset_model import OffsetModel
from allocsolve.exact.evolution._proof_log import ProofLog
from allocsolve.exact.evolution.cpsat import step_starts
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import klein2011
from allocsolve.judge import assess, certified_bound, certify
from allocsolve.judge.evolution import certificate as evolution_certificate

if TYPE_CHECKING:
    from allocsolve.model import EvolutionObjective, EvolutionSchedule, Result

rigid_problems = evolution_problems(
    min_apps=2, max_apps=4, max_steps=4, max_nodes=6, expand_limits=(1,), releases=True
)
elastic_problems = evolution_problems(
    min_apps=2, max_apps=3, max_steps=6, max_nodes=6, expand_limits=(1.3, 1.5, 2, 3, math.inf), releases=True
)
problems = rigid_problems | elastic_problems


def with_prices(problem: EvolutionProblem) -> st.SearchStrategy[tuple[EvolutionProblem, Prices | None]]:
    """Return a problem with prices of its steps, any or those of wide steps alone, or without."""
    sizes = [len(app.steps) for app in problem.applications]
    rows = st.tuples(*(st.lists(st.integers(0, 3), min_size=size, max_size=size) for size in sizes))
    return st.tuples(st.just(problem), st.none() | rows.map(list) | st.just(of_wide_steps(problem)))


def of_wide_steps(problem: EvolutionProblem) -> Prices:
    """Return prices of which one is paid at a time: of steps on more than half of the nodes."""
    return [[int(2 * n > problem.num_nodes) for _, n in app.steps] for app in problem.applications]


wide_toys = st.randoms(use_true_random=False).map(lambda rng: wide_toy(rng, (1, 1.5, 2, math.inf)))
priced_problems = (problems | wide_toys).flatmap(with_prices)
MAKESPAN: EvolutionObjective = ("makespan",)


def bound_of(problem: EvolutionProblem, certificate: Any) -> int | None:
    """Return the bound of a certificate, None if it is refused."""
    try:
        return int(certified_bound(problem, certificate, MAKESPAN))
    except InvalidAnswer:
        return None


@settings(max_examples=examples(200))
@given(priced_problems, st.sampled_from((1, 7, 1000)))
def test_every_refutation_is_confirmed_by_the_judge_and_by_its_twin(
    priced: tuple[EvolutionProblem, Prices | None], slices: int
) -> None:
    problem, prices = priced
    (least,) = optimum(problem, MAKESPAN)
    certificate = refutation(problem, int(least) - 1, slices, prices)
    assert bound_of(problem, certificate) == least
    assert refuted_horizon(problem, items_of(certificate), certificate.get("prices")) == least - 1


@settings(max_examples=examples(200))
@given(priced_problems, st.integers(-3, 3))
def test_the_search_derives_what_its_slow_twin_derives(
    priced: tuple[EvolutionProblem, Prices | None], more: int
) -> None:
    """Without any decision, from covers, the budget, and prices with all that steps lose."""
    problem, rows = priced
    (least,) = optimum(problem, MAKESPAN)
    prices = None if rows is None else step_prices(problem, rows)
    log, time = ProofLog(SIZE), max(1, int(least) + more)
    model = OffsetModel(problem, time, Budget().start(), seed=0, log=log, prices=prices)
    before, is_refuted = None, model.contradiction
    while not is_refuted:  # what a slice implies is ground of the next one, until nothing follows any more
        is_refuted = model.search(0) == NO_ANSWER
        values = model.lemmas(time, 0).ground
        if before is not None and (values == before).all():
            break
        before = values
    certificate = model.certificate(time)
    assert certificate is not None
    slow = implied(problem, items_of(certificate), certificate.get("prices"))
    assert (slow is None) == is_refuted
    if slow is not None:
        n = model.points
        expected = [slow[i, j] if i != j else 0 for i in range(n) for j in range(n)]
        assert values.tolist() == expected


@pytest.mark.parametrize("limits", [(1,), (1.5, 2, math.inf)], ids=["rigid", "expansion"])
def test_what_wide_steps_lose_is_true_and_confirmed(limits: tuple[float, ...]) -> None:
    """Proofs of many of these toys need losses; what was changed proves no more than is true."""
    rng = random.Random(0)
    for number in draws(2000):
        problem = wide_toy(rng, limits)
        (least,) = optimum(problem, MAKESPAN)
        rows = [[rng.randint(0, 3) for _ in app.steps] for app in problem.applications]
        prices = rng.choice((of_wide_steps(problem), rows))
        certificate = refutation(problem, int(least) - 1, rng.choice((1, 7, 1000)), prices)
        assert bound_of(problem, certificate) == least, (number, problem, prices)
        items = items_of(certificate)
        place = rng.randrange(len(items))
        kind, content = items[place]
        if rng.random() < 0.5:
            del items[place]
        elif isinstance(content, int):
            items[place] = kind, max(0, content + rng.randint(-2, 2))
        elif content and kind != COVER:
            arc, value = content[-1]
            items[place] = kind, [*content[:-1], (arc, value + rng.randint(-2, 2))]
        bound = bound_of(problem, certificate_of(problem, items, certificate.get("prices")))
        assert bound is None or bound <= least, (number, problem, prices, items)


@pytest.mark.parametrize(("valley", "least"), [(4, 9), (5, 11)])
def test_what_nothing_with_a_price_fits_beside_is_lost(valley: int, least: int) -> None:
    """Steps on six of ten nodes pay for 9 s; beside a valley of 2 s on five nodes none of them fits."""
    first = EvolutionProfile(((2, 6), (2, valley), (3, 6)))
    other = EvolutionProfile(((2, 6),))
    problem = EvolutionProblem(10, (first, other, other), expand_limit=math.inf)
    assert optimum(problem, MAKESPAN) == (least,)
    prices = step_prices(problem, [[1, 0, 1], [1], [1]])
    for time in (least - 1, least):
        model = OffsetModel(problem, time, Budget().start(), seed=0, prices=prices)
        assert (model.search(0) == NO_ANSWER) == (time < least)


@settings(max_examples=examples(100))
@given(problems, st.sampled_from((1, 2, 3)))
def test_what_is_called_optimal_is_certified(problem: EvolutionProblem, workers: int) -> None:
    result = EvolutionConflictSearch()(problem, Budget(seconds=600, workers=workers))
    verdict = assess(problem, result, MAKESPAN)
    assert verdict.result.status is Status.OPTIMAL
    if workers < 3:  # a third one is CP-SAT, which leaves no log
        assert verdict.certified_bound == verdict.result.objective


def tampered(items: list[Any], data: st.DataObject) -> list[Any]:
    """Return items of which one is missing, twice there, at another place or otherwise than it was."""
    items = [(kind, list(content) if isinstance(content, list) else content) for kind, content in items]
    place = data.draw(st.integers(0, len(items) - 1))
    kind, content = items[place]
    change = data.draw(st.sampled_from(("drop", "twice", "swap", "cut", "inside")))
    if change == "drop":
        del items[place]
    elif change == "twice":
        items.insert(place, items[place])
    elif change == "swap":
        other = data.draw(st.integers(0, len(items) - 1))
        items[place], items[other] = items[other], items[place]
    elif change == "cut":
        del items[place:]
    elif kind in (HORIZON, DELETION):
        items[place] = kind, max(0, content + data.draw(st.integers(-3, 3)))
    elif content:
        part = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            del content[part]
        else:
            numbers = list(content[part])
            which = data.draw(st.integers(0, len(numbers) - 1))
            numbers[which] += data.draw(st.integers(-3, 3))
            if kind == COVER or which == 0:
                numbers[which] = max(0, numbers[which])
            content[part] = tuple(numbers)
    return items


@settings(max_examples=examples(300))
@given(priced_problems, st.integers(0, 2), st.data())
def test_no_tampered_proof_says_more_than_is_true(
    priced: tuple[EvolutionProblem, Prices | None], raised: int, data: st.DataObject
) -> None:
    """Whether the judge refuses it or not, its twin says the same."""
    problem, prices = priced
    (least,) = optimum(problem, MAKESPAN)
    items = items_of(refutation(problem, int(least) - 1, 7, prices))
    items = [(kind, content + raised if kind == HORIZON else content) for kind, content in items]
    for _ in range(data.draw(st.integers(0, 2))):
        assume(items)
        items = tampered(items, data)
    if data.draw(st.booleans()):
        problem, prices = data.draw(with_prices(problem))
    bound = bound_of(problem, certificate_of(problem, items, prices))
    assert bound is None or bound <= least
    horizon = refuted_horizon(problem, items, prices)
    assert bound == (None if horizon is None else horizon + 1)


def test_searches_that_tell_each_other_have_one_log() -> None:
    """Horizons fall on the way, clauses are sent, held and deleted."""
    problem = replace(klein2011([77, 2], num_apps=(10, 10)), expand_limit=1)
    start = ListScheduling()(problem, Budget()).answer
    assert start is not None
    known = Knowledge(problem, Budget().start(), step_starts(start), SIZE, LaneParams(slice_conflicts=1))
    log = ProofLog(SIZE)
    lanes = [FromAbove(known, seed, log) for seed in range(3)]
    for lane in lanes:
        lane.share_with(lanes)
    for lane in itertools.cycle(lanes):
        if not known.open:
            break
        lane.advance()
    items = items_of(known.certificate)
    kinds = [kind for kind, _ in items]
    assert kinds.count(HORIZON) > 2
    assert kinds.count(DELETION) > 100
    assert bound_of(problem, known.certificate) == known.value == known.bound


def test_bounds_from_below_have_certificates_of_their_own() -> None:
    params = LaneParams(first_steps=3, least_conflicts=10, slice_conflicts=1)
    problem = replace(klein2011([78, 1], num_apps=(10, 10)), expand_limit=1)
    best = EvolutionCpSat()(problem, Budget(seconds=600, workers=2))
    assert best.answer is not None
    known = Knowledge(problem, Budget().start(), step_starts(best.answer), SIZE, params)
    below = FromBelow(known, 0)
    bounds = {known.bound}
    while known.open:
        below.advance()
        if known.bound not in bounds:
            bounds.add(known.bound)
            assert bound_of(problem, known.certificate) == known.bound
    assert len(bounds) > 2
    assert known.bound == best.objective


def test_a_log_that_grows_too_long_is_given_up() -> None:
    problem = replace(klein2011([77, 2], num_apps=(10, 10)), expand_limit=1)
    none = EvolutionConflictSearch(max_proof_mb=0)(problem, Budget(seconds=600))
    assert none.status is Status.OPTIMAL
    assert none.certificate == {"kind": "area"}
    log = ProofLog(1)
    model = OffsetModel(problem, int(none.objective or 0) - 1, Budget().start(), seed=0, log=log)  # type: ignore[arg-type]  # a number
    while model.search(50) != NO_ANSWER:
        pass
    assert model.certificate(0) is None


#: Nine applications; the proof has thousands of items.
LONG = replace(klein2011([77, 3], num_apps=(9, 9)), expand_limit=1)


@functools.cache
def proven(problem: EvolutionProblem) -> Result[EvolutionSchedule]:
    result = EvolutionConflictSearch()(problem, Budget())
    assert result.status is Status.OPTIMAL
    return result


def test_covers_are_needed_where_pairs_fit() -> None:
    apps = (EvolutionProfile([(10, 1)]),) * 3
    problem = EvolutionProblem(2, apps, expand_limit=1)
    cover = (COVER, [(0, 0, 0), (1, 0, 0), (2, 0, 0)])
    assert bound_of(problem, certificate_of(problem, [cover, (HORIZON, 19)])) == 20
    assert bound_of(problem, certificate_of(problem, [(HORIZON, 19), cover])) == 20
    assert bound_of(problem, certificate_of(problem, [(HORIZON, 19)])) is None
    assert bound_of(problem, certificate_of(problem, [(HORIZON, 20), cover])) is None


@pytest.mark.parametrize("limit", [1, 2])
def test_little_room_changes_nothing(limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_CLAUSES": 2, "_FACTS": 2, "_ROOM_WATCHES": 0, "_PART": 100}.items():
        monkeypatch.setattr(evolution_certificate, name, value)
    problem = replace(LONG, expand_limit=limit)
    assert bound_of(problem, proven(problem).certificate) == proven(problem).objective


def log_of(data: bytes) -> str:
    return b64encode(zlib.compress(data)).decode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"kind": "faith"},
            "kind 'faith' of the certificate is none of area, step-prices, falling-prices and learned-",
        ),
        ({"prices": [[1]]}, "prices of the certificate are not one for each step"),
        ({"prices": [[2**31]] * 3}, "prices of the certificate add up to 2.32 or more"),
        ({"prices": [[-1]] * 3}, "are not lists of integers"),
        ({"points": [[0, 0]]}, "are not the steps that may start by themselves"),
        ({"log": "%"}, "not compressed by zlib in base 64"),
        ({"log": b64encode(zlib.compress(b"\x78")[:-5]).decode()}, "cut short"),
        ({"log": log_of(b"")}, "the log ends after item 0"),
        ({"log": log_of(b"\x80")}, "the log ends within item 0"),
        ({"log": log_of(b"\xff" * 6)}, "item 0 of the log has a number of more than 35 bits"),
        ({"log": log_of(bytes([4 * 30, 4 * 30]))}, "item 1 of the log is a horizon that is not below"),
        ({"log": log_of(bytes([4 * 1 + 1, 0, 0, 0]))}, "item 0 of the log names blocks that are none"),
        ({"log": log_of(bytes([4 * 2 + 1, 0, 0, 0, 0, 0, 0]))}, "names blocks that are none"),
        ({"log": log_of(bytes([4 * 2 + 1, 0, 0, 1, 1, 0, 0]))}, "names blocks that are none"),
        ({"log": log_of(bytes([4 * 2 + 1, 0, 0, 0, 7, 0, 0]))}, "names blocks that are none"),
        ({"log": log_of(bytes([4 * 2 + 1, 0, 0, 0, 1, 0, 0]))}, "item 0 of the log is a cover that fits"),
        ({"log": log_of(bytes([4 * 1 + 2, 0, 0]))}, "item 0 of the log has facts that are none"),
        ({"log": log_of(bytes([4 * 1 + 2, 16, 0]))}, "has facts that are none"),
        ({"log": log_of(bytes([4 * 2 + 2, 2, 0, 1, 0]))}, "has facts that are none"),
        ({"log": log_of(bytes([4 * 1 + 2, 1, 0]))}, "item 0 of the log is a clause that does not follow"),
        ({"log": log_of(bytes([4 * 0 + 2]))}, "item 0 of the log is a clause that does not follow"),
        ({"log": log_of(bytes([4 * 0 + 3]))}, "item 0 of the log deletes a clause that is not there"),
    ],
)
def test_malformed_certificates_are_refused(change: dict[str, Any], message: str) -> None:
    problem = EvolutionProblem(2, (EvolutionProfile([(10, 1)]),) * 3, expand_limit=1)
    good = certificate_of(problem, [(COVER, [(0, 0, 0), (1, 0, 0), (2, 0, 0)]), (HORIZON, 19)])
    with pytest.raises(InvalidAnswer, match=message):
        certified_bound(problem, {**good, **change}, MAKESPAN)


def test_certificates_are_of_the_makespan() -> None:
    problem = EvolutionProblem(2, (EvolutionProfile([(10, 1)]),) * 3, expand_limit=2)
    assert certified_bound(problem, {"kind": "area"}, MAKESPAN) == 15
    with pytest.raises(InvalidAnswer, match="bound makespan, not completion"):
        certified_bound(problem, {"kind": "area"}, ("completion",))
    empty = EvolutionProblem(2, (), expand_limit=1)
    with pytest.raises(InvalidAnswer, match="start by themselves"):
        certified_bound(empty, certificate_of(empty, []), MAKESPAN)
    long = EvolutionProblem(2, (EvolutionProfile([(2**30, 1)]),), expand_limit=1)
    with pytest.raises(InvalidAnswer, match="below 2"):
        certified_bound(long, certificate_of(long, []), MAKESPAN)
    result = EvolutionConflictSearch(("waste", "makespan"))(replace(problem, expand_limit=1), Budget())
    assert result.certificate is None
    several = EvolutionConflictSearch(("makespan", "waste"))(replace(problem, expand_limit=1), Budget())
    assert certify(replace(problem, expand_limit=1), several, ("makespan", "waste")) == (20,)
