"""The reproduction of Linnert et al. 2024: what is run, means and ratios, claims, picture."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest
from picture_tools import SVG, parsed

from allocsolve.errors import InvalidOption
from reproductions.claims import MissingRunsError
from reproductions.linnert2024 import (
    ADMISSIONS,
    CLAIMS,
    COUNT,
    LOADS,
    PROGRAMS,
    READINGS,
    STRATEGIES,
    SYNCHRONOUS,
    TERMS,
    BoundRow,
    Figures,
    Reproduction,
    Run,
    planned_runs,
    reproduction_picture,
    sentences,
    spread,
)
from reproductions.runs import BOUND

if TYPE_CHECKING:
    from collections.abc import Callable

HILBERT, MEDIAN, LEAK, FREE_LEAK = STRATEGIES
FIRST = READINGS[0].name
NORMAL, HEAVY, VERY_HEAVY = LOADS

#: Accepted jobs by allocator and load, as the facts have them; others accept as many as the count.
ACCEPTED = {COUNT: (500, 372, 265), HILBERT: (523, 449, 324), MEDIAN: (566, 482, 386)}
#: Cancelled shares in per cent by load, for the kinds and the mixture, about as the facts have them.
CANCELLED = {
    (NORMAL, HILBERT): (35, 32, 31, 36, 33),
    (NORMAL, MEDIAN): (11, 12, 18, 21, 14),
    (NORMAL, LEAK): (12, 15, 9, 1, 6),
    (NORMAL, FREE_LEAK): (15, 21, 8, 1, 7),
    (HEAVY, HILBERT): (35, 32, 32, 36, 33),
    (HEAVY, MEDIAN): (8, 11, 16, 17, 13),
    (HEAVY, LEAK): (38, 40, 35, 6, 36),
    (HEAVY, FREE_LEAK): (51, 52, 43, 7, 27),
    (VERY_HEAVY, HILBERT): (34, 32, 32, 37, 34),
    (VERY_HEAVY, MEDIAN): (10, 9, 17, 19, 13),
    (VERY_HEAVY, LEAK): (61, 61, 65, 54, 58),
    (VERY_HEAVY, FREE_LEAK): (63, 63, 65, 54, 59),
}


def _run(load: str, seed: int, program: str, strategy: str, reading: str, **values: Any) -> Run:
    accepted = values.get("accepted", 500)
    cancelled = values.get("cancelled", 0)
    return Run(
        *(load, seed, program, strategy, reading),
        jobs=1000,
        accepted=accepted,
        successful=accepted - cancelled,
        cancelled=cancelled,
        cancelled_share=cancelled / accepted,
        accepted_area=0.8,
        hops=2.5,
        held=0.9,
        computing=0.5,
        by_size=(0.9, 0.5, 0.3, 0.1),
        runtime_s=0.1,
    )


def _booked() -> list[Run]:
    return [
        _run(load, seed, "", name, "", accepted=ACCEPTED.get(name, ACCEPTED[COUNT])[place] + 10 * seed)
        for place, load in enumerate(LOADS)
        for name in ADMISSIONS
        for seed in range(2)
    ]


def _executed(change: Callable[[Run], Run] = lambda run: run) -> list[Run]:
    runs = []
    for (load, name), shares in CANCELLED.items():
        accepted = ACCEPTED[name][list(LOADS).index(load)] if name in ACCEPTED else 1000
        for program, share in zip(PROGRAMS, shares, strict=True):
            for reading in READINGS:
                values = {"accepted": accepted, "cancelled": accepted * share / 100}
                runs.append(change(_run(load, 0, str(program), name, reading.name, **values)))
    return runs


BOUNDS = tuple(
    BoundRow(load, term, seed, most=1 - 0.01 * seed, offline=0.9 - 0.01 * seed)
    for load in LOADS
    for term in TERMS
    for seed in range(2)
)


def _measured(change: Callable[[Run], Run] = lambda run: run) -> Reproduction:
    return Reproduction((*_booked(), *_executed(change)), BOUNDS)


def test_a_mean_has_the_interval_of_student() -> None:
    mean, half = spread([1, 2, 3])
    assert mean == 2
    assert half == pytest.approx(4.302653 * 1 / math.sqrt(3))
    assert math.isnan(spread([5]).half)
    assert spread([4, 4]).half == 0


def test_ratios_are_of_common_streams() -> None:
    on = Figures(_measured())
    assert on.ratio(HEAVY, HILBERT).mean == pytest.approx(fmean([449 / 372, 459 / 382]))
    extra = _run(HEAVY, 7, "", HILBERT, "", accepted=1000)
    more = Figures(Reproduction((*_booked(), extra), ()))
    assert more.ratio(HEAVY, HILBERT) == on.ratio(HEAVY, HILBERT)


def test_readings_are_compared_on_common_streams() -> None:
    shares = {FIRST: {0: 100, 1: 300, 2: 500}, SYNCHRONOUS: {1: 310, 2: 530, 3: 0}}
    runs = [
        _run(HEAVY, seed, "1", LEAK, reading, accepted=1000, cancelled=count)
        for reading, counts in shares.items()
        for seed, count in counts.items()
    ]
    on = Figures(Reproduction(tuple(runs), ()))
    before, after, change = on.change(HEAVY, LEAK, 1, "cancelled_share", (FIRST, SYNCHRONOUS))
    assert (before.mean, after.mean, change.mean) == pytest.approx((0.4, 0.42, 0.02))
    only = Figures(Reproduction(tuple(run for run in runs if run.seed in {0, 3}), ()))
    with pytest.raises(MissingRunsError, match="no stream of leak at heavy load in both"):
        only.change(HEAVY, LEAK, 1, "cancelled_share", (FIRST, SYNCHRONOUS))


def test_what_was_not_run_is_named() -> None:
    on = Figures(Reproduction((), ()))
    for what, figure in (
        ("no runs of leak at heavy load with programs 2", lambda: on.executed(HEAVY, LEAK, 2, "successful")),
        ("no bounds at heavy load", lambda: on.offline(HEAVY, TERMS[0])),
        ("no runs at heavy load", lambda: on.num_jobs(HEAVY)),
    ):
        with pytest.raises(MissingRunsError, match=what):
            figure()
    told = sentences(Reproduction((), ()))
    assert {one.verdict for one in told} == {"not run"}
    assert all("no runs" in one.figures for one in told)


def test_the_gap_is_that_of_each_stream() -> None:
    most, offline, gap = Figures(_measured()).offline(NORMAL, TERMS[0])
    assert (most.mean, offline.mean) == pytest.approx((0.995, 0.895))
    assert gap.mean == pytest.approx(fmean([1 / 0.9 - 1, 0.99 / 0.89 - 1]))


#: How those claims begin that do not hold with the shares of the facts, the same in all readings here.
FALSE = (
    *("at very heavy load MM accepts", "or: about half", "so does Hilbert", "normal load, mixed kinds"),
    *(
        "very heavy load, kinds 2 and 3",
        "very heavy load, kind 0",
        "that of Hilbert",
        "they are better for MM",
    ),
    *("the non-contiguous leak cancels", "this is even more", "very heavy load: static", "with synchronous"),
    "so does the contiguous",
)


def test_claims_are_held_against_the_figures() -> None:
    told = sentences(_measured())
    assert len(told) == len(CLAIMS) == 28
    for one in told:
        expected = "does not hold" if one.text.startswith(FALSE) else "holds"
        assert (one.text, one.verdict) == (one.text, expected)
        assert "nan" not in one.figures
    assert sum(one.verdict == "does not hold" for one in told) == len(FALSE)


def test_a_claim_may_depend_on_the_reading() -> None:
    def change(run: Run) -> Run:
        if run.reading == "grace" and run.strategy == HILBERT:
            return run._replace(cancelled_share=0.01)
        return run

    depending = {one.text: one for one in sentences(_measured(change)) if one.verdict == "depends"}
    (hilbert,) = (one for text, one in depending.items() if text.startswith("so does Hilbert"))
    assert hilbert.readings == ("grace",)
    (median,) = (one for text, one in depending.items() if text.startswith("normal load, kind 1"))
    assert median.readings == (FIRST, "demand", "no queue")


def test_synchronous_messages_are_compared_with_the_first_reading() -> None:
    def change(run: Run) -> Run:
        if run.reading == SYNCHRONOUS and run.strategy == LEAK:
            return run._replace(cancelled_share=run.cancelled_share / 2)
        return run

    told = {one.text: one for one in sentences(_measured(change))}
    (fewer,) = (one for text, one in told.items() if text.startswith("so does the contiguous leak"))
    assert fewer.verdict == "holds"
    (similar,) = (one for text, one in told.items() if text.startswith("shares are similar"))
    assert similar.verdict == "does not hold"


def _titles(picture: object) -> list[str]:
    return [text.text or "" for text in parsed(picture).iter(f"{SVG}text") if text.get("class") == "heading"]


def test_the_picture_has_the_figures_of_the_paper() -> None:
    titles = _titles(reproduction_picture(_measured()))
    assert titles[0] == "Accepted jobs (figure 14)"
    assert len(titles) == 1 + 4 * len(LOADS)
    assert f"Successful, synchronous (figure 18): {VERY_HEAVY} load" in titles
    bars = parsed(reproduction_picture(_measured())).iter(f"{SVG}path")
    assert sum(path.get("class", "").startswith("f") for path in bars) > 12 * 20
    assert _titles(reproduction_picture(Reproduction((), ()))) == []
    few = Reproduction(tuple(run for run in _booked() if run.load == HEAVY), ())
    assert _titles(reproduction_picture(few)) == ["Accepted jobs (figure 14)"]


@pytest.mark.parametrize("options", [{"seeds": 0}, {"reading_seeds": -1}])
def test_nothing_to_run_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(InvalidOption, match="nothing to run"):
        planned_runs(NORMAL, **{"seeds": 1, **options}, num_jobs=2, seconds=1)
    with pytest.raises(InvalidOption, match="'idle'"):
        planned_runs("idle", seconds=1)


def test_each_reading_of_each_strategy_is_planned_once() -> None:
    planned = planned_runs(HEAVY, seeds=2, reading_seeds=1, num_jobs=3, seconds=1)
    executed = [task for task, label in planned if label.program is not None]
    assert len(executed) == len(STRATEGIES) * len(PROGRAMS) * (len(READINGS) + 1)
    labels = {label for _, label in planned if label.strategy != BOUND}
    assert len(labels) == len(planned) - 2 * len(TERMS)
    # Of the leaks nothing is asked for in the reading of a rule for bookings, and the other way round.
    assert len({task.key for task in executed}) == len(PROGRAMS) * (4 + 2 + 4 + 2 + 4 + 4)
    for one in planned:
        assert one.task.problem.meta["gap"] == LOADS[HEAVY]
