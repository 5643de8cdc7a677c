"""The reproduction of Zojer 2025: preparation of the log, runs, figures, sentences, picture."""

from __future__ import annotations

import gzip
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st
from workload_traces import knl_problem, trace

from allocsolve.bench import RecordStore, run
from allocsolve.errors import AllocsolveError, FormatError, InvalidAnswer, InvalidOption
from allocsolve.instances import lublin1999
from allocsolve.judge import window_metrics
from allocsolve.model import Job, WorkloadProblem
from reproductions.zojer2025 import (
    FIGURES,
    POLICIES,
    REFERENCES,
    SHARES,
    PolicyRow,
    Reproduction,
    Run,
    Spread,
    cori_knl,
    examine,
    planned_runs,
    reproduction_picture,
    sentences,
    variants,
)
from reproductions.zojer2025.claims import RUN_CLAIMS
from reproductions.zojer2025.experiment import WARM_UP_S, _changes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEAD = '"Job","User","QOS","Submit","Start","End","Nodes Allocated"\n'
FIRST_DAY = (
    HEAD
    + '"7","me","flex","2022-11-06 22:00:00","2022-11-06 23:00:00","2022-11-06 23:59:59","4"\n'
    + '"8","me","xfer","2022-11-06 22:00:00","2022-11-06 23:00:00","2022-11-06 23:00:09","1"\n'
    + '"9","me","regular_1","2022-11-06 22:00:30","2022-11-06 23:00:00","2022-11-06 23:00:10","2"\n'
)
SECOND_DAY = (
    HEAD
    + '"7","me","flex","2022-11-06 22:00:00","2022-11-07 00:00:00","2022-11-07 01:00:00","4"\n'
    + '"9","me","regular_1","2022-11-07 05:00:00","2022-11-07 06:00:00","2022-11-07 06:00:20","2"\n'
)


def daily(folder: Path, *days: str) -> Path:
    (folder / "cori_knl").mkdir()
    for idx, text in enumerate(days):
        (folder / "cori_knl" / f"{idx}.csv").write_text(text, encoding="utf-8-sig")
    return folder


def test_days_are_joined_and_shared_nodes_left_out(tmp_path: Path) -> None:
    problem = cori_knl(daily(tmp_path, FIRST_DAY, SECOND_DAY))
    rows = [(job.name, job.submit, job.nodes, job.runtime, job.limit) for job in problem.jobs]
    assert rows == [("7", 0, 4, 7200, None), ("9", 30, 2, 10, None), ("9#2", 25200, 2, 20, None)]
    assert (problem.num_nodes, problem.name) == (9688, "cori-knl")
    assert (problem.meta["lines"], problem.meta["joined"]) == (5, 1)
    assert problem.meta["shared_nodes"] == {"xfer": 1}


def test_a_log_whose_days_are_joined_is_the_same(tmp_path: Path) -> None:
    lines = (
        "job_id,submit_time,num_nodes,runtime_seconds,start,end,qos,partition\n"
        "7,2022-11-06 22:00:00,4,7200,2022-11-06 23:00:00,2022-11-07 01:00:00,flex,knl\n"
        "9,2022-11-06 22:00:30,2,10,2022-11-06 23:00:00,2022-11-06 23:00:10,flex,knl\n"
        "9,2022-11-07 05:00:00,2,20,2022-11-07 06:00:00,2022-11-07 06:00:20,flex,knl\n"
    )
    (tmp_path / "cori_knl_merged.csv.gz").write_bytes(gzip.compress(lines.encode()))
    days = tmp_path / "days"
    days.mkdir()
    assert cori_knl(tmp_path) == cori_knl(daily(days, FIRST_DAY, SECOND_DAY))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (HEAD.replace("QOS", "Class") + "x", "there is no column QOS or qos"),
        (HEAD + '"7","me","flex"\n', "line 2: list index out of range"),
        (FIRST_DAY.replace("2022-11-06 22:00:30", "yesterday"), "line 4: Invalid isoformat string"),
        (HEAD, "no jobs"),
    ],
)
def test_a_faulty_log_is_refused(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=fault):
        cori_knl(daily(tmp_path, text))


def test_a_folder_without_the_log_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidOption, match="holds neither cori_knl_merged"):
        cori_knl(tmp_path)
    monkeypatch.delenv("ALLOCSOLVE_TRACES", raising=False)
    with pytest.raises(InvalidOption, match="--log DIR or ALLOCSOLVE_TRACES"):
        cori_knl()


def test_the_real_log(traces: Path) -> None:
    trace(traces, "cori_knl_merged.csv.gz")
    problem, reference = cori_knl(traces), knl_problem(traces)
    assert len(problem.jobs) == 41_524
    pairs = zip(problem.packed, reference.packed, strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)


def test_variants_are_drawn_once_where_there_is_nothing_to_draw() -> None:
    log = lublin1999(1, num_jobs=40)
    chosen = variants(log, [0, 0.4, 1], 3)
    assert [(one.share, one.seed, one.tick) for one in chosen] == [
        *((0, 1, 10), (0.4, 1, 10), (0.4, 2, 10), (0.4, 3, 10)),
        *((1, 1, 10), (1, 1, 1)),
    ]
    assert chosen[0].problem.jobs == log.jobs
    for shares, seeds in (([], 1), ([0.4, 0.4], 1), ([0.4], 0)):
        with pytest.raises(InvalidOption, match="nothing, or some twice"):
            variants(log, shares, seeds)
    with pytest.raises(AllocsolveError, match=r"share takes a number in 0\.\.1, not 2"):
        variants(log, [2], 1)


def small_log() -> WorkloadProblem:
    """Three days on a small cluster, a job every half hour."""
    rng = np.random.default_rng(5)
    jobs = [
        Job(1800 * idx, int(nodes), int(seconds))
        for idx, (nodes, seconds) in enumerate(
            zip(rng.integers(1, 33, 144), rng.integers(60, 20_000, 144), strict=True)
        )
    ]
    return WorkloadProblem(32, jobs, name="small")


@pytest.fixture(scope="module")
def small() -> tuple[Reproduction, RecordStore, list[str]]:
    """The reproduction of a small log, with two policies of rigid jobs."""
    log = small_log()
    planned = planned_runs(variants(log, [0], 1), ["first-fit"], seconds=0.5)
    store = RecordStore()
    run([one.task for one in planned], store=store)
    told: list[str] = []
    found = examine(log, planned, store, progress=lambda done, total, _: told.append(f"{done}/{total}"))
    return found, store, told


def test_runs_are_measured_as_the_thesis_does(small: tuple[Reproduction, RecordStore, list[str]]) -> None:
    found, store, told = small
    assert [run.policy for run in found.runs] == ["first-fit", "easy"]
    assert told == ["1/3", "2/3", "3/3"]
    for one, record in zip(found.runs, store, strict=False):
        answer = store.answer(record.key)
        assert answer is not None
        problem = found.log
        window = window_metrics(problem, answer, WARM_UP_S, float(problem.packed.submit.max()))
        assert one.turnaround == window.turnaround
        assert (one.wait, one.utilisation) == (window.wait, window.utilisation)
        assert one.run == window.turnaround - window.wait
        assert one.all_turnaround == record.value
        assert 0 < one.bound <= one.all_turnaround
        assert one.gap == pytest.approx(one.all_turnaround / one.bound - 1)
        assert (one.expansions, one.shrinks, one.nodes_lost) == (0, 0, 0)
    (bound,) = found.bounds
    assert bound.best is not None
    assert bound.bound.mean <= bound.best.mean <= min(run.all_turnaround for run in found.runs)
    assert bound.gap == pytest.approx(bound.best.mean / bound.bound.mean - 1)


def test_a_value_below_a_bound_is_refused(small: tuple[Reproduction, RecordStore, list[str]]) -> None:
    _, store, _ = small
    log = small_log()
    planned = planned_runs(variants(log, [0], 1), ["first-fit"], seconds=0.5)
    bad = RecordStore()
    for one in planned:
        record = store[one.task.key]
        value = 1.0 if record.value is not None else None
        bad.append(replace(record, value=value), one.task.problem, store.answer(one.task.key))
    with pytest.raises(InvalidAnswer, match="contradiction: a bound of"):
        examine(log, planned, bad)


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=5), min_size=1, max_size=6))
def test_changes_are_those_inside_jobs(sizes: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, sizes)])
    changes = _changes(offsets, np.array([size for job in sizes for size in job]))
    expected = [job[idx] - job[idx - 1] if idx else 0 for job in sizes for idx in range(len(job))]
    assert changes.tolist() == expected


def as_printed(policy: str, share: float, name: str) -> float:
    """Figures for which all that the thesis says holds, as far as its sentences agree with each other."""
    keeper = policy == "malleable-prefkeeper"
    if share == 0:
        return {"turnaround": 4551, "wait": 226, "run": 4325, "utilisation": 0.85}.get(name, 0)
    step = round(5 * share)
    return {
        "turnaround": [3800, 3160, 2600, 2130, 1700][step - 1] * (1.01 if keeper else 1),
        "run": [3700, 3150, 2590, 2120, 1690][step - 1],
        "wait": [90, 12, 4, 4, 4][step - 1] if not keeper else [228, 128, 128, 90, 40][step - 1],
        "utilisation": [0.9, 0.93, 0.95, 0.97, 0.99][step - 1],
        "expansions": (10 if keeper or "average" in policy else 3 if "min" in policy else 2.5) - share,
        "shrinks": 20 + share if "min" in policy else (16 if "pref" in policy else 20) - share,
    }.get(name, 1.0)


def fake(figure: Callable[[str, float, str], float], seeds: int = 10) -> Reproduction:
    """A reproduction with these figures; quartiles narrow with the share."""
    rows = tuple(
        PolicyRow(
            share,
            policy,
            seeds,
            {
                name: Spread(value, value - 0.01 * (1 - share), value + 0.01)
                for name in FIGURES
                for value in [figure(policy, share, name)]
            },
        )
        for share in SHARES
        for policy in (*POLICIES, *(REFERENCES if share == 0 else ()))
    )
    ticks = [Run(1.0, 1, tick, POLICIES[0], 1700 + tick, *[0.0] * 11) for tick in (1.0, 10.0)]
    return Reproduction(small_log(), tuple(ticks), rows, ())


def test_sentences_hold_where_figures_are_as_printed() -> None:
    told = {one.text: one for one in sentences(fake(as_printed))}
    for _, text, *_ in RUN_CLAIMS:
        # From 85 % no utilisation rises by 35 %.
        expected = "does not hold" if "about 35 %" in text else "holds"
        assert told[text].verdict == expected, told[text]
    assert told["41,524 jobs are submitted over five days"].verdict == "does not hold"
    assert told["55,587 raw jobs, 14,063 fewer after cleaning"].verdict == "cannot be tested"
    assert sum(one.verdict == "cannot be tested" for one in told.values()) == 8


def test_sentences_do_not_hold_where_malleability_harms() -> None:
    def harmful(policy: str, share: float, name: str) -> float:
        if name == "utilisation":
            return 0.5 - 0.1 * share
        tilt = 1 + POLICIES.index(policy) if policy in POLICIES and share else 1
        return tilt * (1000 + 500 * share)

    told = [one for one in sentences(fake(harmful)) if one.text in {text for _, text, *_ in RUN_CLAIMS}]
    starts = ("points 10 s", "with rigid", "its quartiles", "those of min", "the benefits of", "beyond that")
    still = [one.text for one in told if one.verdict != "does not hold"]
    assert all(text.startswith(starts) for text in still)


def test_sentences_without_runs_say_so() -> None:
    bare = replace(fake(as_printed), policies=(), runs=())
    told = sentences(bare)
    assert sum(one.verdict == "not run" for one in told) == len(RUN_CLAIMS)
    few = {one.text: one for one in sentences(fake(as_printed, seeds=3))}
    quartiles = few["its quartiles over seeds narrow with malleability [80 % against 20 %]"]
    assert (quartiles.verdict, quartiles.figures) == ("not run", "less than 4 seeds")


def test_the_picture_has_a_line_for_each_policy(small: tuple[Reproduction, RecordStore, list[str]]) -> None:
    text = str(reproduction_picture(replace(fake(as_printed), bounds=small[0].bounds)))
    root = ET.fromstring(text)  # noqa: S314 - our own
    titles = [element.text for element in root.iter() if element.tag.endswith("title")]
    for policy in POLICIES:
        assert titles.count(policy) == 5
    assert "thesis, 100 %: 1696" in titles
    assert "thesis, 60 %: ~95 %" in titles
    assert "nan" not in text
