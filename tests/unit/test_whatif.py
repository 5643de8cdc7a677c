"""The command `whatif`: from the log of a machine to a page for its operator, and what it says."""

from __future__ import annotations

import gzip
import re
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from browser_tools import open_browser
from cli_tools import Capture, refused, run, run_json, without_compiling
from first_fit import in_order
from whatif_logs import NODES, PROBLEM, SECONDS, assert_links, assert_no_jargon, fixed_work, sacct

from allocsolve import bench
from allocsolve.bench import RecordStore
from allocsolve.cli import main
from allocsolve.errors import FormatError
from allocsolve.instances import log_format
from allocsolve.judge import workload_value
from allocsolve.pictures.chart import duration
from allocsolve.report import whatif
from allocsolve.report.logs.findings import periods_of
from allocsolve.report.logs.words import anchor, at_least, definitions

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.xdist_group("browser")
browser = pytest.fixture(scope="module")(open_browser)
work = pytest.fixture(scope="module", autouse=True)(fixed_work)

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with its page and records, half of the jobs malleable."""
    folder = tmp_path_factory.mktemp("whatif")
    (folder / "jobs.txt").write_text(sacct(name=EVIL))
    argv = ["whatif", str(folder / "jobs.txt"), "--nodes", str(NODES), "--malleable", "50", *SECONDS]
    assert main([*argv, "--out", str(folder / "page.html")]) == 0
    return folder


def again(made: Path, tmp_path: Path) -> tuple[object, ...]:
    """The command on a copy of the records: nothing is run again."""
    for name in ("jobs.txt", "page.html", "page.sqlite"):
        shutil.copy(made / name, tmp_path)
    out = ("--nodes", NODES, "--malleable", "50", *SECONDS, "--out", tmp_path / "page.html")
    return "whatif", tmp_path / "jobs.txt", *out


def test_the_figures_are_those_of_the_judge(made: Path, tmp_path: Path, capsys: Capture) -> None:
    told = run_json(capsys, *again(made, tmp_path))
    assert told["recorded"]["wait"] == workload_value(PROBLEM, in_order(PROBLEM), ("wait",))
    assert (told["jobs"], told["violations"], told["failed"], told["missing"]) == (60, [], [], [])
    assert told["interrupted"] is False
    with RecordStore(made / "page.sqlite", read_only=True) as store:
        kept = {(record.solver, record.objective): record for record in store}
    schedules = told["schedules"]
    assert list(schedules) == ["fcfs", "first-fit", "easy", "conservative", "prices"]
    for name, measured in schedules.items():
        assert measured["wait"] == kept[name, "wait"].value
        assert told["wait_bound"] <= measured["wait"]
    assert told["wait_bound"] == kept["prices", "wait"].certified_bound
    assert schedules["fcfs"]["wait"] == told["recorded"]["wait"]
    (half,) = told["malleable"]
    assert half["share"] == 0.5
    assert 15 < half["jobs"] < 45
    assert list(half["schedules"]) == ["prices", "malleable-min", "static-price"]
    for name, measured in half["schedules"].items():
        assert half["turnaround_bound"] <= measured["turnaround"] == kept[name, "turnaround"].value


def test_means_by_class_come_to_the_mean_of_all(made: Path, tmp_path: Path, capsys: Capture) -> None:
    told = run_json(capsys, *again(made, tmp_path))
    counts = np.bincount(np.ceil(np.log2(PROBLEM.packed.nodes)).astype(int))
    by_size = told["mean_wait_by_size"]["easy"]
    total = sum(counts[int(one)] * mean for one, mean in by_size.items())
    assert total / 60 == pytest.approx(told["schedules"]["easy"]["wait"])
    days = told["mean_wait_by_day"]
    assert list(days) == ["recorded", *told["schedules"]]
    assert next(iter(days["easy"])) == "2024-01-10"


def test_the_terminal_says_it_in_words(made: Path, tmp_path: Path, capsys: Capture) -> None:
    argv = again(made, tmp_path)
    told = run_json(capsys, *argv)
    text = run(capsys, *argv)  # nothing on stderr: no progress where there is no terminal
    assert text.startswith("jobs.txt: 60 jobs on 16 nodes, submitted over ")
    bound = at_least(told["wait_bound"])
    assert f"\nNo scheduler, however clever, could have brought the mean wait below {bound}.\n" in text
    assert f"In this log jobs waited {duration(told['recorded']['wait'])} on average;" in text
    lines = r"as it was +\d", r"EASY backfilling +\d", rf"certainly impossible +below {bound}", r"50 % +\d"
    for line in lines:
        assert re.search(f"^{line}", text, re.MULTILINE), line
    assert text.endswith(f"Page: {tmp_path / 'page.html'} (records: {tmp_path / 'page.sqlite'})\n")


def test_every_figure_leads_to_its_definition(made: Path) -> None:
    page = (made / "page.html").read_text()
    assert_links(page)
    assert_no_jargon(page)
    cards = re.findall(r'<a class="card" href="#means-[^"]+"><b>([^<]+)</b>', page)
    assert len(cards) == 4
    for sentence in re.findall(r'<p class="headline">(.*?)</p>', page):
        unlinked = re.sub(r"<a .*?</a>", "", sentence)
        assert not re.search(r"\d", unlinked.replace("95 % at most", "")), unlinked
    heads = re.findall(r'<button type="button">([^<]+)</button>(<a class="means")?', page)
    undefined = {head for head, link in heads if not link}
    assert undefined == {"schedule", "job", "jobs"}
    for word in definitions("nodes", elastic=True):
        assert f'<dt id="{anchor(word)}">' in page


def test_an_interrupt_keeps_what_is_done(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.txt.gz").write_bytes(gzip.compress(sacct().encode()))
    argv = ["whatif", "jobs.txt.gz", "--nodes", str(NODES), *SECONDS, "--out", "page.html", "--json"]
    original = bench.run_missing

    def interrupted(tasks: Any, *rest: Any, **more: Any) -> None:
        original([task for task in tasks if task.solver in ("fcfs", "easy")], *rest, **more)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("allocsolve.bench.run_missing", interrupted)
        assert main(argv) == 130
    out, err = capsys.readouterr()
    assert without_compiling(err) == (
        "allocsolve: interrupted; what is known is in page.html, the same command goes on from there\n"
    )
    assert '"interrupted": true' in out
    page = (tmp_path / "page.html").read_text()
    assert "had computed prices, first-fit, conservative." in page
    assert "is not known yet" in page
    assert "EASY backfilling: " in page
    kept = [*RecordStore(tmp_path / "page.sqlite")]
    assert sorted(record.solver for record in kept) == ["easy", "fcfs"]
    told = run_json(capsys, *argv[:-1])
    assert told["missing"] == []
    assert [*RecordStore(tmp_path / "page.sqlite")][:2] == kept
    assert "Not complete" not in (tmp_path / "page.html").read_text()
    before = {*tmp_path.iterdir()}
    assert "No page was written: --out FILE.html writes one." in run(capsys, *argv[:-3])
    assert {*tmp_path.iterdir()} == before
    answer = whatif("jobs.txt.gz", NODES, seconds=600, records="page.sqlite").document()
    same = ("recorded", "schedules", "wait_bound", "sentences")
    assert {name: answer[name] for name in same} == {name: told[name] for name in same}


def test_bad_input_gets_one_line(tmp_path: Path, capsys: Capture) -> None:
    log, page = tmp_path / "jobs.txt", tmp_path / "page.html"
    argv = ("whatif", log, "--out", page)
    assert "jobs.txt: cannot be read: No such file" in refused(capsys, *argv)
    log.write_text("a;b\n1;2\n")
    assert f"{log}: begins with 'a;b', like no log that is read" in refused(capsys, *argv)
    assert "no column JobID" in refused(capsys, *argv, "--format", "sacct", "--nodes", 4)
    log.write_text(sacct())
    assert "give the number of nodes" in refused(capsys, *argv)
    nodes = (*argv, "--nodes", NODES)
    assert "there is no time zone 'Mars'" in refused(capsys, *nodes, "--timezone", "Mars")
    assert "argument --malleable: 150 is not in 0..100 per cent" in refused(
        capsys, *nodes, "--malleable", 150
    )
    assert "--malleable 0: " in refused(capsys, *nodes, "--malleable", "0,50")
    assert "there is no directory" in refused(capsys, *nodes[:-3], tmp_path / "no" / "p.html")
    assert "this command writes it twice" in refused(capsys, *argv[:-1], tmp_path / "page.sqlite")
    assert "this command reads it" in refused(capsys, "whatif", log, "--out", log)
    page.write_text("the user's own")
    assert "page.html: exists; --force replaces it" in refused(capsys, *nodes)
    assert page.read_text() == "the user's own"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["jobs.txt", "page.html"]


SWF = "; MaxNodes: 4\n; MaxProcs: 4\n" + "".join(
    f"{job} {100 * job} {wait} 150 3 -1 -1 3 300 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
    for job, wait in enumerate((0, 50, 100, 150), 1)
)


@pytest.mark.parametrize("waits", [True, False])
def test_a_log_of_the_standard_format(waits: bool, tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "jobs.log"
    log.write_text(SWF if waits else re.sub(r"^(\d+ \d+) \d+", r"\1 -1", SWF, flags=re.MULTILINE))
    told = run_json(capsys, "whatif", log, *SECONDS, "--out", tmp_path / "page.html")
    assert told["schedules"]["fcfs"]["wait"] == told["schedules"]["prices"]["wait"] == 75
    assert 74 < told["wait_bound"] <= 75
    page = (tmp_path / "page.html").read_text()
    if waits:
        assert told["recorded"]["wait"] == 75
        assert told["sentences"][-1].startswith("So at least 99 % of the mean wait")
    else:
        assert told["recorded"] is None
        assert "What was cannot be told: the log does not tell when 4 of its 4 jobs started." in page
        assert "as it was: " not in page


def test_a_log_that_does_not_fit_the_machine_is_said_to(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "jobs.log"
    log.write_text(re.sub(r"^(\d+ \d+) \d+", r"\1 0", SWF, flags=re.MULTILINE))
    told = run_json(capsys, "whatif", log, *SECONDS, "--nodes", 3, "--out", tmp_path / "page.html")
    assert told["recorded"]["wait"] == 0
    caution, compare = told["cautions"]
    assert caution.startswith("The log does not fit a machine of 3 nodes: from 100 s to 150 s up to 6 nodes")
    assert "compare them with care" in compare
    assert not [one for one in told["sentences"] if one.startswith(("So at least", "Every usual"))]
    small = run_json(capsys, "whatif", log, *SECONDS, "--nodes", 3, "--out", tmp_path / "page.html")
    assert small == told | {"page": small["page"]}


def test_jobs_that_were_held_back_are_told(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "jobs.csv").write_text(sacct(90_000).replace("|", ","))
    out = ("--nodes", NODES, *SECONDS, "--out", tmp_path / "page.html", "--timezone", "America/New_York")
    told = run_json(capsys, "whatif", tmp_path / "jobs.csv", *out)
    assert told["sentences"][-1].startswith("Every usual policy would have had a shorter mean wait")
    assert next(iter(told["mean_wait_by_day"]["easy"])) == "2024-01-10"  # in UTC it is the next day


def test_formats_are_told_by_what_stands_in_a_log(tmp_path: Path) -> None:
    file = tmp_path / "log"
    for text, expected in (
        (SWF, "swf"),
        (SWF.partition("; MaxProcs: 4\n")[2], "swf"),
        ("\n\n" + sacct(), "sacct"),
        (sacct().replace("|", ","), "sacct"),
        ("﻿JobID;Submit_Time;x\n", "sacct"),
    ):
        file.write_text(text, encoding="utf-8")
        assert log_format(file) == expected
    for text in ("", "1 2 3\n", "a" * 20_000, " ".join("x" * 18)):
        file.write_text(text)
        with pytest.raises(FormatError, match="like no log that is read"):
            log_format(file)


def test_periods_are_days_then_weeks_of_the_calendar() -> None:
    epoch = datetime(2024, 3, 30, 22, 30, tzinfo=UTC).timestamp()
    hours = np.array([3600.0 * hour for hour in range(48)])
    found = periods_of(hours, epoch, ZoneInfo("Europe/Berlin"))
    assert (found.unit, [*found.labels.values()]) == ("day", ["2024-03-30", "2024-03-31", "2024-04-01"])
    assert np.bincount(found.of_jobs).tolist() == [1, 23, 24]  # clocks were set forward on the second
    found = periods_of(np.array([0.0, 86400.0, 40 * 86400.0]), epoch, UTC)
    assert (found.unit, [*found.labels.values()]) == ("week", ["2024-03-25", "2024-05-06"])
    assert found.of_jobs.tolist() == [0, 0, 6]


@pytest.mark.parametrize("epoch", [None, "today", 1e15, -1e18])
def test_without_a_calendar_periods_are_counted(epoch: object) -> None:
    found = periods_of(np.array([5.0, 6.0, 86400 * 30.0]), epoch, UTC)
    assert [*found.labels.values()] == ["week 1", "week 5"]
    assert found.of_jobs.tolist() == [0, 0, 1]
    assert periods_of(np.array([0.0, 2.0**53]), 0.0, UTC).of_jobs.tolist() == [0, 1]


def test_a_bound_is_never_rounded_up() -> None:
    for seconds in np.random.default_rng(1).lognormal(6, 4, 2000).tolist():
        number, unit = at_least(seconds).split()
        size = {"s": 1, "min": 60, "h": 3600, "d": 86400}[unit]
        assert seconds * (1 - 1e-9) - size / 10 <= float(number) * size <= seconds * (1 + 1e-9)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_in_a_browser(made: Path, browser: Browser, width: int, scheme: Any) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    faults: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((made / "page.html").as_uri())
    assert page.title() == "What if? jobs.txt"
    assert page.locator("img").count() == 0
    assert not page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    page.locator(".headline a").first.click()
    assert page.locator("dt:target").inner_text() == "mean wait"
    page.locator("table.sortable th button").first.click()
    overlapping = page.evaluate(
        """() => [...document.querySelectorAll("th")].filter((head) =>
            [...head.children].some((child) =>
                child.getBoundingClientRect().right > head.getBoundingClientRect().right + 1)).length"""
    )
    assert overlapping == 0
    assert faults == []
    assert asked == [(made / "page.html").as_uri()]
    page.close()
