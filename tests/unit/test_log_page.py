"""The page of a log: one small file, of which a browser shows everything and runs nothing from outside."""

from __future__ import annotations

import html as markup
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browser_tools import open_browser
from first_fit import first_fit, in_order
from picture_tools import SVG, parsed
from study_tools import MemoryStudy, row

from allocsolve.bench.runs.given import GivenAnswer
from allocsolve.instances.generators.examples import random_workload, workload_examples
from allocsolve.model import Job, WorkloadProblem, WorkloadSchedule
from allocsolve.pictures import WORKLOAD_VIEW
from allocsolve.pictures._workload_series import busiest_window
from allocsolve.pictures.workload import workload_exhibits
from allocsolve.report import examine, html, log_page, page as report_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

EVIL = "</script><img src=x onerror=alert(1)>"

pytestmark = pytest.mark.xdist_group("browser")
browser = pytest.fixture(scope="module")(open_browser)


@pytest.fixture(autouse=True)
def _workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    family = SimpleNamespace(view=WORKLOAD_VIEW, objectives=())
    monkeypatch.setattr(report_page, "family_of", lambda _: family)


def _certificate(problem: WorkloadProblem, slots: int = 50) -> dict[str, Any]:
    edges = np.linspace(0, problem.horizon, slots + 1).astype(int).tolist()
    prices = list(range(slots))
    return {"kind": "time-prices", "term": "turnaround", "edges": edges, "prices": prices, "unit": 8}


def test_a_log_with_a_certificate_has_every_exhibit() -> None:
    problem = random_workload(1, 700)
    answers = {"best": first_fit(problem), "fcfs": in_order(problem)}
    shown = workload_exhibits(problem, answers, [{"kind": "other"}, _certificate(problem)])
    assert [one.title for one in shown] == [
        "Over time",
        "Waiting by size",
        "Waiting by hour of the day",
        "Jobs that lose most against best",
        "best: jobs on nodes",
        "fcfs: jobs on nodes",
    ]
    labels = [title.text for title in parsed(shown[0].drawing).iter(f"{SVG}title")]
    assert labels.count("best") == labels.count("fcfs") == 2
    assert labels.count("price") == 1
    plain = workload_exhibits(problem, answers, [])
    assert "price" not in [title.text for title in parsed(plain[0].drawing).iter(f"{SVG}title")]


def test_given_schedules_are_drawn_even_if_many_are_better() -> None:
    problem = random_workload(1, 60)
    answers = {f"s{idx}": first_fit(problem) for idx in range(9)}
    for given, drawn in ((), {0, 1, 2, 3, 4}), (("s5", "s6"), {0, 1, 2, 5, 6}):
        shown = workload_exhibits(problem, answers, [], given)
        for one in shown[:3]:
            labels = {title.text for title in parsed(one.drawing).iter(f"{SVG}title")}
            assert labels & set(answers) == {f"s{idx}" for idx in drawn}
            assert f"5 of 9 schedules: the best{' and the given ones' if given else ''}." in one.note
        titles = {one.title for one in shown if one.title.endswith("jobs on nodes")}
        last = given or ("s7", "s8")
        assert titles == {f"{name}: jobs on nodes" for name in ("s0", *last)}
    shown = workload_exhibits(problem, answers, [], [*answers])
    assert sum(one.title.endswith("jobs on nodes") for one in shown) == 8


def test_the_losses_are_those_against_the_best_schedule() -> None:
    problem = WorkloadProblem(
        4, [Job(0, 3, 100, name="a"), Job(1, 4, 10, name="b"), Job(2, 1, 1000, name="c")]
    )
    answers = {"early": WorkloadSchedule.of(problem, [0, 100, 110]), "late": first_fit(problem)}
    table = workload_exhibits(problem, answers, [])[3]
    assert table.heads[0] == "solver"
    (cells,) = table.rows
    assert [shown for shown, _ in cells[:2]] == ["late", "b"]
    assert [key for _, key in cells[2:]] == [4, 10, 1, 1001, 99, 902, 1]


def test_a_single_schedule_shows_who_waits_longest() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])
    table = workload_exhibits(problem, {"easy": in_order(problem)}, [])[3]
    assert [[shown for shown, _ in cells] for cells in table.rows] == [
        ["j2", "1", "16.7 min", "2", "1.8 min"],
        ["j1", "4", "10 s", "1", "1.6 min"],
    ]


def test_hours_of_the_day_are_those_of_the_log() -> None:
    jobs = [Job(0, 1, 3600), Job(0, 1, 3600)]
    for meta, hour in (({}, 0), ({"unix_time": 5 * 3600 + 86400 * 9}, 5)):
        problem = WorkloadProblem(1, jobs, meta=meta)
        shown = workload_exhibits(problem, {"one": first_fit(problem)}, [])[2]
        (dots,) = (p.attrib["d"] for p in parsed(shown.drawing).iter(f"{SVG}path") if p.get("class") == "d0")
        (grid,) = {float(x) for x in re.findall(r"M(\S+) ", dots)}
        frame = next(p for p in parsed(shown.drawing).iter(f"{SVG}path") if p.get("class") == "axis")
        left, right = (float(re.findall(r"[ML](\S+) ", frame.attrib["d"])[at]) for at in (0, -1))
        assert abs((grid - left) / (right - left) - hour / 23) < 0.01


def test_the_window_is_where_most_jobs_wait() -> None:
    quiet = [Job(1000 * idx, 1, 10) for idx in range(300)]
    crowd = [Job(150_000 + idx, 4, 5) for idx in range(100)]
    problem = WorkloadProblem(4, [*quiet, *crowd])
    low, high = busiest_window(problem, first_fit(problem))
    assert low < high
    assert low <= 150_100 <= high
    small = WorkloadProblem(4, quiet[:3])
    assert busiest_window(small, first_fit(small)) == (0, 2010)


def test_a_page_of_many_jobs_is_small() -> None:
    problem = random_workload(1, 50_000, load=0.5)
    starts = problem.packed.submit
    answers = {
        name: WorkloadSchedule.of(problem, starts + wait) for name, wait in (("soon", 0.0), ("late", 50.0))
    }
    huge = WorkloadProblem(10**9, problem.jobs)  # whatever the starts are, it has the nodes for it
    assert len(log_page(huge, answers, [_certificate(huge, 5000)])) < 1_500_000


@pytest.mark.parametrize("problem", list(workload_examples()), ids=lambda problem: problem.name)
def test_every_example_has_a_page(problem: WorkloadProblem) -> None:
    answers = {"first fit": first_fit(problem), "fcfs": in_order(problem)}
    page = log_page(problem, answers, [_certificate(problem)] if len(problem.jobs) else [])
    assert page.startswith("<!DOCTYPE html>")
    for svg in re.findall(r"<svg .*?</svg>", page, re.DOTALL):
        parsed(svg)


def test_names_from_outside_stay_texts(browser: Browser, tmp_path: Path) -> None:
    jobs = [Job(0, 1, 50, name=EVIL, user=EVIL), Job(1, 2, 60, name=f"{EVIL} 2"), Job(2, 1, 9)]
    problem = WorkloadProblem(2, jobs, name=EVIL)
    file = tmp_path / "log.html"
    file.write_text(log_page(problem, {EVIL: first_fit(problem), f"{EVIL}'": in_order(problem)}), "utf-8")
    page = browser.new_page(viewport={"width": 420, "height": 800})
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(file.as_uri())
    assert page.title() == EVIL
    assert page.locator("h1").inner_text() == EVIL
    assert page.locator("img").count() == 0
    page.locator("table.sortable th button").first.click()
    letters = page.evaluate(
        """() => [...document.querySelectorAll(".figures svg text")]
            .map((text) => 12 * text.ownerSVGElement.getBoundingClientRect().width
                / text.ownerSVGElement.viewBox.baseVal.width)"""
    )
    assert min(letters) >= 11  # pixels, on a phone
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert not wide
    assert faults == []
    page.close()


def test_a_report_shows_each_log_once_with_the_best_schedule_first() -> None:
    problem = random_workload(1, 40)
    digest = "digest of log"
    fields: dict[str, Any] = {"kind": "workload", "digest": digest}
    rows = [
        row("log", "fcfs", 90.0, objective="turnaround", **fields),
        row("log", "prices", 70.0, 50.0, objective="turnaround", certified_bound=50.0, **fields),
        row("log", "fcfs", 9.0, objective="slowdown", **fields),
    ]
    answers: dict[Any, Any] = {one.key: first_fit(problem) for one in rows}
    study = MemoryStudy(rows, {digest: problem}, answers, {rows[1].key: _certificate(problem)})
    page = html(examine(study), study)
    assert len(re.findall(r'<details class="section" id="e\d+"', page)) == 1
    assert '<a href="#e0"><bdi>log</bdi></a>' in page
    section = page[page.index('id="e0"') :]
    assert markup.escape("prices: jobs on nodes") in section
    assert section.index("prices: jobs on nodes") < section.index("fcfs: jobs on nodes")
    assert "the price of a node-second" in section


def test_a_report_shows_the_schedule_that_a_user_gave() -> None:
    problem = random_workload(1, 40)
    fields: dict[str, Any] = {"kind": "workload", "digest": "digest of log", "objective": "turnaround"}
    rows = [row("log", f"s{idx}", 50.0 + idx, **fields) for idx in range(8)]
    mine = GivenAnswer("mine.csv", "0" * 64, None)
    rows[5] = replace(rows[5], solver=mine.name, solver_repr=repr(mine))
    answers: dict[Any, Any] = {one.key: first_fit(problem) for one in rows}
    (shown,) = report_page.shown_instances(
        examine(study := MemoryStudy(rows, {"digest of log": problem}, answers)), study
    ).exhibits
    labels = {title.text for title in parsed(shown.exhibits[0].drawing).iter(f"{SVG}title")}
    assert {"s0", "s1", "s2", "s3", "mine.csv"} <= labels
    assert "s4" not in labels
    assert "mine.csv: jobs on nodes" in {one.title for one in shown.exhibits}


def test_a_report_of_many_logs_leaves_out_what_would_make_it_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report_page, "EXHIBIT_BYTES", 1)
    problems = {f"digest of {name}": random_workload(1, 9) for name in ("a", "b")}
    rows = [row(name, "fcfs", 9.0, kind="workload", objective="turnaround") for name in ("a", "b")]
    answers: dict[Any, Any] = {one.key: first_fit(problems[one.digest]) for one in rows}
    study = MemoryStudy(rows, dict(problems), answers)
    first, second = report_page.shown_instances(examine(study), study).exhibits
    assert first.exhibits
    assert not second.exhibits
    assert second.about.endswith("its pictures are left out: the page would be too large")
