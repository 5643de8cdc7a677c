"""What operators ask of a log by `whatif`: each value is a row that changes one thing."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browser_tools import open_browser
from cli_tools import Capture, refused, run, run_json, without_compiling
from whatif_logs import NODES, PROBLEM, SECONDS, sacct

from allocsolve import bench
from allocsolve.cli import main
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS
from allocsolve.instances import closed_window, log_problem, read_sacct_log, time_origin
from allocsolve.judge import workload_value
from allocsolve.model import Budget, Jobs, WorkloadProblem
from allocsolve.pictures.chart import duration
from allocsolve.registry import make_solver
from allocsolve.report.whatif.questions import of_size, size_label
from allocsolve.report.whatif.words import ORDER_NAMES, anchor, at_least

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.xdist_group("browser")
browser = pytest.fixture(scope="module")(open_browser)

WINDOW = "2024-01-10T21:00+2h"
ASKED = (
    *("--nodes", f"{NODES},7,24", "--order", "submit,shortest-estimate", "--closed", WINDOW),
    *("--limits", "given,actual", "--by", "user"),
)
ROWS = [
    *(("", ""), ("nodes", "7"), ("nodes", "24"), ("order", "shortest-estimate")),
    *(("closed", WINDOW), ("limits", "actual")),
]
SHORTEST = "easy(order=shortest-estimate)"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with its page and records, all of `ASKED`."""
    folder = tmp_path_factory.mktemp("questions")
    (folder / "jobs.txt").write_text(sacct(limits=True))
    argv = ["whatif", str(folder / "jobs.txt"), *ASKED, *SECONDS, "--out", str(folder / "page.html")]
    assert main(argv) == 0
    return folder


def again(made: Path) -> tuple[object, ...]:
    """The command with its records: nothing is run again."""
    return "whatif", made / "jobs.txt", *ASKED, *SECONDS, "--out", made / "page.html"


def solved(problem: WorkloadProblem, solver: str) -> float:
    """The mean wait of a solver, in seconds, as the judge has it."""
    answer = make_solver(solver, problem, "wait")(problem, Budget(seconds=60)).answer
    return workload_value(problem, answer, ("wait",))


def test_each_row_is_a_problem_of_its_own(made: Path, capsys: Capture) -> None:
    told = run_json(capsys, *again(made))
    rows = told["questions"]
    assert [(row["option"], row["value"]) for row in rows] == ROWS
    log = read_sacct_log(made / "jobs.txt", num_nodes=NODES)
    plain = log_problem(log)
    assert plain.num_nodes == NODES
    jobs = plain.jobs.packed
    small = Jobs(jobs.submit, np.minimum(jobs.nodes, 7), jobs.runtime, plain.jobs.limit)
    window = closed_window(WINDOW, time_origin(log))
    expected = {
        "": (plain, "easy"),
        "7": (WorkloadProblem(7, small), "easy"),
        "24": (WorkloadProblem(24, plain.jobs), "easy"),
        "shortest-estimate": (plain, SHORTEST),
        WINDOW: (replace(plain, closed=[window]), "easy"),
        "actual": (plain, "easy(estimate=actual)"),
    }
    for row in rows:
        problem, policy = expected[row["value"]]
        assert row["policy"] == policy
        assert row["schedules"][policy]["wait"] == solved(problem, policy)
        if problem is not plain:
            assert [*row["schedules"]] == ["easy", SHORTEST]
        for measured in row["schedules"].values():
            assert row["wait_bound"] is None or row["wait_bound"] <= measured["wait"]
    first, *_, window_row, limits = rows
    assert first["wait_bound"] == told["wait_bound"] == limits["wait_bound"]
    assert first["hindsight_wait"] == told["schedules"]["prices"]["wait"] == limits["hindsight_wait"]
    assert window_row["schedules"]["easy"]["wait"] > first["schedules"]["easy"]["wait"]
    # What does not take closed windows says so, and is no failure.
    assert bool(window_row["refused"]) == (window_row["hindsight_wait"] is None)
    assert (told["failed"], told["missing"]) == ([], [])


def test_waits_by_user_come_to_the_mean_of_all(made: Path, capsys: Capture) -> None:
    told = run_json(capsys, *again(made))
    assert told["split"]["by"] == "user"
    columns = told["split"]["mean_wait"]
    assert [*columns] == [row["label"] for row in told["questions"]]
    for row in told["questions"]:
        means = columns[row["label"]]
        assert [*means] == ["ann", "bob", "cem"]
        mean = sum(means.values()) / 3  # each has a third of the jobs
        assert mean == pytest.approx(row["schedules"][row["policy"]]["wait"])


def test_the_terminal_shows_rows_and_what_is_certain(made: Path, capsys: Capture) -> None:
    told = run_json(capsys, *again(made))
    text = run(capsys, *again(made))
    first, small, large, _, window, limits = told["questions"]
    wait = duration(first["schedules"]["easy"]["wait"])
    for line in (
        rf"as it is: {NODES} nodes +{re.escape(wait)} +- ",
        r"7 nodes +\S+ \S+ +\+\d",
        r"24 nodes +\S+ \S+ +-\d",
        rf"closed {re.escape(WINDOW)} +\S+ \S+ +\+\d",
        r"exact limits +\S",
    ):
        assert re.search(f"^{line}", text, re.MULTILINE), line
    held = sum(job.nodes > 7 for job in PROBLEM.jobs)
    assert f" {held:,} jobs hold more than 7 nodes in the log, and all 7 in this row." in text
    assert "What if: EASY backfilling in other orders" in text
    assert "Who gains, who loses, by user" in text
    assert ("no bound" in text) == (window["wait_bound"] is None)
    bound = at_least(first["wait_bound"])
    assert f"No order of the queue and no exact limits can bring the mean wait below {bound}: " in text
    assert large["schedules"]["easy"]["wait"] < first["wait_bound"]
    certain = at_least(first["wait_bound"] - large["schedules"]["easy"]["wait"])
    assert f": certainly at least {certain} less than any scheduler could have reached as it is." in text
    best = min([small["hindsight_wait"], *(one["wait"] for one in small["schedules"].values())])
    known = [first["hindsight_wait"], *(row["schedules"][row["policy"]]["wait"] for row in (first, limits))]
    assert small["wait_bound"] > max(min(known), 0)
    assert best >= small["wait_bound"]
    assert (
        f"With 7 nodes no scheduler can bring the mean wait below {at_least(small['wait_bound'])}: " in text
    )


def test_every_word_on_the_page_leads_to_its_definition(made: Path) -> None:
    page = (made / "page.html").read_text()
    places = re.findall(r' id="([^"]+)"', page)
    assert len({*places}) == len(places)
    links = re.findall(r'href="([^"]*)"', page)
    assert {link.removeprefix("#") for link in links} <= {*places}
    for word in ("what if", "change", "exact limits", ORDER_NAMES["shortest-estimate"]):
        assert f'<dt id="{anchor(word)}">' in page
    assert f'<dt id="{anchor(ORDER_NAMES["wfp3"])}">' not in page
    shown = html.unescape(re.sub(r"<(style|script)>.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL))
    for jargon in ("turnaround", "clairvoyant", "heuristic", "makespan"):
        assert jargon not in shown[: shown.index("Where the figures come from")].lower()


def test_who_asks_for_nothing_gets_the_page_as_it_was(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "jobs.txt").write_text(sacct(limits=True))
    nothing = ("--nodes", NODES, "--order", "submission", "--limits", "given")
    argv = ("whatif", tmp_path / "jobs.txt", *SECONDS, "--out", tmp_path / "page.html")
    told = run_json(capsys, *argv, *nothing)
    assert (told["questions"], told["answers"], told["split"]) == ([], [], None)
    page = (tmp_path / "page.html").read_text()
    assert "asked" not in re.sub(r"users asked for|<style>.*?</style>", "", page, flags=re.DOTALL)
    for word in ("what if", "change", "exact limits", *ORDER_NAMES.values()):
        assert f'id="{anchor(word)}"' not in page
    # Only who waits longer under which policy: no question is needed for that.
    split = run_json(capsys, *argv, *nothing, "--by", "size")["split"]
    assert [*split["mean_wait"]] == [*("as it was", "strict order", "first fit"), *LAST]


LAST = ("EASY backfilling", "conservative backfilling", "best known with hindsight")

#: Two jobs at a time, or one; then the mean wait is 75 s.
TWICE = "; MaxNodes: 6\n; MaxProcs: 6\n" + "".join(
    f"{job} 100 0 100 3 -1 -1 3 300 -1 1 {job} -1 -1 -1 -1 -1 -1\n" for job in range(1, 5)
)


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ("6,12", r"With 12 nodes EASY .* of 0 s: certainly at least (49\.9|50) s less than any scheduler"),
        ("12", r"With 12 nodes EASY .* of 0 s: certainly at least (49\.9|50) s less than any scheduler"),
        (
            "6,3",
            r"With 3 nodes no scheduler .* below 2\.4 min: certainly at least 1\.6 min more than the best",
        ),
        ("6,7", r"With 7 nodes no scheduler .* below \d.* s; EASY backfilling has 50 s as it is\."),
    ],
)
def test_what_is_certain(sizes: str, sentence: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "jobs.swf").write_text(TWICE)
    argv = ("whatif", tmp_path / "jobs.swf", *SECONDS, "--out", tmp_path / "page.html")
    told = run_json(capsys, *argv, "--nodes", sizes)
    if sizes == "12":  # one number is the machine as it is
        assert told["questions"] == []
        assert told["machine"].startswith("12 ")
        return
    assert told["machine"].startswith("6 nodes (MaxNodes")  # as the log tells
    (answer,) = told["answers"]
    assert re.match(sentence, answer), answer
