"""What operators ask of a log by `whatif`: each value is a row that changes one thing."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browser_tools import open_browser
from cli_tools import Capture, refused, run, run_json
from whatif_logs import NODES, PROBLEM, SECONDS, assert_links, assert_no_jargon, fixed_work, sacct

from allocsolve import bench
from allocsolve.bench.runs.runner import open_executor
from allocsolve.cli import main
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS
from allocsolve.instances import closed_window, log_problem, read_table_log, time_origin
from allocsolve.instances.generators.examples import random_workload
from allocsolve.judge import workload_value
from allocsolve.model import Budget, Jobs, WorkloadProblem, terms
from allocsolve.pictures.chart import duration
from allocsolve.registry import make_solver
from allocsolve.report.logs.words import ORDER_NAMES, anchor, at_least

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.xdist_group("browser")
browser = pytest.fixture(scope="module")(open_browser)
work = pytest.fixture(scope="module", autouse=True)(fixed_work)

WINDOW = "2024-01-10T21:00+2h"
ASKED = (
    *("--nodes", f"{NODES},7,24", "--order", "submit,shortest-estimate", "--closed", WINDOW),
    *("--estimates", "given,actual", "--by", "user"),
)
ROWS = [
    *(("", ""), ("nodes", "7"), ("nodes", "24"), ("order", "shortest-estimate")),
    *(("closed", WINDOW), ("estimates", "actual")),
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
    assert answer is not None
    return terms(workload_value(problem, answer, ("wait",)))[0]


def test_each_row_is_a_problem_of_its_own(made: Path, capsys: Capture) -> None:
    told = run_json(capsys, *again(made))
    rows = told["questions"]
    assert [(row["option"], row["value"]) for row in rows] == ROWS
    log = read_table_log(made / "jobs.txt", "sacct", num_nodes=NODES)
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
        WINDOW: (replace(plain, closed=(window,)), "easy"),
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
    assert [*window_row["faults"]] == ["prices"] * (window_row["hindsight_wait"] is None)
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
    assert f"\n{held:,} jobs hold more than 7 nodes in the log, and all 7 in this row." in text
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
    assert_links(page)
    for word in ("what if", "change", "exact limits", ORDER_NAMES["shortest-estimate"]):
        assert f'<dt id="{anchor(word)}">' in page
    assert f'<dt id="{anchor(ORDER_NAMES["wfp3"])}">' not in page
    assert_no_jargon(page)


def test_who_asks_for_nothing_gets_the_page_as_it_was(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "jobs.txt").write_text(sacct(limits=True))
    nothing = ("--nodes", NODES, "--order", "submission", "--estimates", "given")
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
            r"With 3 nodes no scheduler .* below 2\.[45] min: certainly at least 1\.6 min more than the best",
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


#: Of these jobs of 8 nodes, EASY makes more wait on 9 nodes than on 8.
CROWDED = random_workload(0, 12, 8, load=1.5)


def test_more_nodes_may_be_worse(tmp_path: Path, capsys: Capture) -> None:
    waits = [solved(WorkloadProblem(size, CROWDED.jobs), "easy") for size in (8, 9)]
    assert waits[0] < waits[1]
    rows = (
        f"{idx} {job.submit:.0f} 0 {job.runtime:.0f} {job.nodes} -1 -1 {job.nodes} {limit:.0f} -1 1 {idx}"
        for idx, (job, limit) in enumerate(zip(CROWDED.jobs, CROWDED.packed.estimate, strict=True), 1)
    )
    text = "; MaxNodes: 8\n; MaxProcs: 8\n" + "".join(f"{row} -1 -1 -1 -1 -1 -1\n" for row in rows)
    (tmp_path / "jobs.swf").write_text(text)
    argv = ("whatif", tmp_path / "jobs.swf", *SECONDS, "--out", tmp_path / "page.html")
    told = run_json(capsys, *argv, "--nodes", "9,64")
    here, more, most = (row["schedules"]["easy"]["wait"] for row in told["questions"])
    assert here < more
    assert most == 0
    assert told["answers"][-1] == (
        "More nodes are not always better under a policy: with EASY backfilling jobs wait "
        f"{duration(more)} on 9 nodes, but {duration(here)} on 8."
    )
    told = run_json(capsys, *argv, "--nodes", "8,64")
    assert not [one for one in told["answers"] if one.startswith("More nodes")]


#: Two partitions of a machine of 8 nodes: in one of them jobs wait, in the other nobody runs.
HALVES = "JobID|User|Partition|Submit|Start|End|Elapsed|Timelimit|NNodes|State\n" + "".join(
    f"{job}|ann|{name}|2024-03-04T0{hour}:00:00|2024-03-04T0{hour}:00:00|2024-03-04T0{hour + 1}:00:00|"
    f"01:00:00|01:30:00|4|COMPLETED\n"
    for job, (name, hour) in enumerate([("std", 1), ("std", 1), ("std", 1), ("std", 2), ("long", 7)], 1)
)


def test_partitions_become_one_pool(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "jobs.txt").write_text(HALVES)
    argv = ("whatif", tmp_path / "jobs.txt", "--nodes", 8, *SECONDS, "--out", tmp_path / "page.html")
    halves = ("--partitions", "std=4,long=4")
    told = run_json(capsys, *argv, *halves, "--merge", "std,long", "--by", "partition")
    apart, together = told["questions"]
    assert (together["option"], together["value"]) == ("merge", "std,long")
    assert (apart["schedules"]["easy"]["wait"], together["schedules"]["easy"]["wait"]) == (3600, 720)
    assert told["split"]["mean_wait"] == {
        apart["label"]: {"long": 0, "std": 4500},
        "std and long as one": {"long": 0, "std": 900},
    }
    # Without their sizes partitions hold nobody back, but tell who waits.
    split = run_json(capsys, *argv, "--by", "partition")["split"]["mean_wait"]
    assert split["EASY backfilling"] == {"long": 0, "std": 900}
    assert "does not say how many nodes the jobs of 'fat'" in refused(
        capsys, *argv, *halves, "--merge", "std,fat"
    )
    assert "does not say how many nodes the jobs of 'std'" in refused(capsys, *argv, "--merge", "std,long")
    assert "one pool is made of two partitions at least" in refused(capsys, *argv, *halves, "--merge", "std")
    assert "--malleable and --partitions" in refused(capsys, *argv, *halves, "--malleable", 50)
    none = ("--partitions", "std=4,gpu=4", "--merge", "std,gpu")
    assert "the log has no job in 'gpu'" in refused(capsys, *argv, *none)


def test_what_cannot_be_asked_gets_one_line(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "jobs.txt"
    log.write_text(sacct())
    argv = ("whatif", log, "--nodes", NODES, "--out", tmp_path / "page.html")
    for more, message in (
        (("--nodes", "16,0"), "argument --nodes: '0' is below 1"),
        (("--nodes", "16,24,24"), "argument --nodes: 24 is named twice"),
        (("--nodes", "16,"), "argument --nodes: '' is not an integer"),
        (("--order", "fastest"), "argument --order: unknown order 'fastest'"),
        (("--order", "submit,submission"), "argument --order: submission is named twice"),
        (("--estimates", "none"), "argument --estimates: unknown source of estimates 'none'"),
        (("--closed", "tomorrow"), "closed window 'tomorrow': "),
        (
            ("--closed", "2024-01-10T21:00+2h,nodes=17"),
            "2h,nodes=17: closed window from 2024-01-10 21:00:00: closes 17",
        ),
        (("--closed", "2034-01-10T21:00+2h"), "begins after the last job of jobs.txt has ended"),
        (("--closed", "2004-01-10T21:00+2h"), "closed window '2004-01-10T21:00+2h': it ends before"),
        (("--closed", WINDOW, "--closed", WINDOW), f"--closed {WINDOW} is asked twice"),
        (("--by", "weekday"), "argument --by: "),
        (("--by", "partition"), "no column for --partitions: Partition"),
    ):
        assert message in refused(capsys, *argv, *more), more
    log.write_text(sacct().replace("|User|", "|Account|"))
    assert "--by user: jobs.txt does not tell the users of jobs" in refused(capsys, *argv, "--by", "user")
    assert [one.name for one in tmp_path.iterdir()] == ["jobs.txt"]


def test_a_row_that_fails_says_why(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobs.txt").write_text(sacct())
    argv = ["whatif", str(tmp_path / "jobs.txt"), "--nodes", f"{NODES},24", *SECONDS]
    argv += ["--out", str(tmp_path / "page.html")]
    # The processes that run solvers have no room for it.
    monkeypatch.setattr("allocsolve.bench.open_executor", open_executor)
    original = bench.run_missing

    def starved(tasks: Any, *rest: Any, **more: Any) -> None:
        run_missing = original if len(tasks) > 3 else partial(original, memory_mb=1.0)
        run_missing(tasks, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr("allocsolve.bench.run_missing", starved)
        text = run(capsys, *argv, status=1)
    assert "Some computations failed, so their figures are not here: prices with 24 nodes, easy with" in text
    assert re.search(r"^No schedule \(24 nodes\): easy: .*MB", text, re.MULTILINE)
    assert re.search(r"^24 nodes +- +- +- +no bound$", text, re.MULTILINE)
    assert "\nWith 24 nodes nothing is certain: no bound was found.\n" in text
    told = run_json(capsys, *argv)  # what has failed is run again
    assert told["failed"] == []


def test_all_orders_have_a_name() -> None:
    assert tuple(ORDER_NAMES) == QUEUE_ORDERS


@pytest.mark.parametrize("width", [420, 1300])
def test_the_page_opens_in_a_browser(made: Path, browser: Browser, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto((made / "page.html").as_uri())
    assert not page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    page.locator('nav a[href="#asked"]').click()
    heads = page.locator("#asked th button").all_inner_texts()
    assert heads[:2] == ["what if", "mean wait"]
    page.locator("#asked th button").nth(1).click()  # sorts by the mean wait
    waits = page.locator("#asked table").first.locator("tbody td:nth-child(2)")
    keys = [float(cell.get_attribute("data-key") or "") for cell in waits.all()]
    assert keys == sorted(keys)
    assert faults == []
    page.close()
