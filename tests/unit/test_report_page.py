"""The page of a report in a real browser: sorting, pictures, both screens, phones, and nothing loaded."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from browser_tools import Opened, open_browser
from picture_tools import SVG, axes, skylines, squares, visible
from study_tools import MemoryStudy, failed, run_study, timed_out

from allocsolve.instances import klein2011, uniform_occupancy
from allocsolve.model import (
    EvolutionProblem,
    EvolutionSchedule,
    Mesh,
    Partition,
    PartitionProblem,
    Topology,
    terms,
)
from allocsolve.report import examine, html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from allocsolve.bench import Record

EVIL = "</script><img src=x onerror=alert(1)>"
SECTIONS = 3

pytestmark = pytest.mark.xdist_group("browser")
browser = pytest.fixture(scope="module")(open_browser)


@pytest.fixture(scope="module")
def study() -> MemoryStudy:
    """Two families: two to four axes, two objectives, a failure, a solver without answers, evil names.

    No busy machine reaches the limit of time, which would add a table.
    """
    tiny = [
        replace(klein2011([4, idx], num_apps=(4, 5)), name=f"tiny-{idx:02}", expand_limit=2)
        for idx in range(4)
    ]
    tiny[0] = replace(tiny[0], name=EVIL, application_names=(EVIL, *tiny[0].application_names[1:]))
    tiny.append(replace(klein2011(1, num_apps=(60, 60)), name="many", expand_limit=1))
    shapes = [Mesh((8, 8)), Mesh((4, 3, 3)), Mesh((9,)), Topology((3, 2, 2, 2), (True, False, False, False))]
    meshes = [
        replace(uniform_occupancy(shape, 0.2, 6, 1), name=f"mesh-{idx:02}")
        for idx, shape in enumerate(shapes)
    ]
    meshes += [
        replace(uniform_occupancy(Mesh((4, 4)), 0.3, 4, idx), name=f"small-{idx:02}") for idx in range(30)
    ]
    solvers = {"evolution": ["noX", "infX+c", "2X"], "partition": ["gen-alg", "random", "growth"]}
    study = run_study([("tiny", tiny), ("meshes", meshes)], solvers, seeds=(0, 1), seconds=600)
    more = run_study([("tiny", tiny)], solvers, objective="makespan,waste", seconds=600)
    study.records += more.records
    study.answers |= more.answers
    study.records[2] = failed(study.records[2], f"RuntimeError: {EVIL}")
    study.records = [
        timed_out(run) if (run.solver, run.objective) == ("noX", "makespan,waste") else run
        for run in study.records
    ]
    return study


@pytest.fixture(scope="module")
def file(study: MemoryStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on it."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html(examine(study, title=f"Study of {EVIL}"), study), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, file: Path) -> Iterator[Opened]:
    found = Opened(browser, file, viewport={"width": 1200, "height": 900})
    yield found
    assert found.faults == []
    assert found.asked == [file.as_uri()]
    found.page.close()


#: Clicks on a head and returns its state, how many others are marked, and the keys of the column.
CLICK = """([table, column]) => {
    const heads = [...document.querySelectorAll("table.sortable")[table].querySelectorAll("th")];
    heads[column].querySelector("button").click();
    return {
        state: heads[column].ariaSort,
        marked: heads.filter((head) => head.ariaSort !== "none").length,
        keys: [...heads[column].closest("table").tBodies[0].rows].map((row) => row.cells[column].dataset.key),
    };
}"""
TEXT_ORDER = "(keys) => [...keys].sort(new Intl.Collator('en', { numeric: true }).compare)"


def test_every_table_sorts_by_every_column(opened: Opened) -> None:
    tables = opened.page.locator("table.sortable")
    assert tables.count() == 3 + 3 * SECTIONS
    for idx in range(tables.count()):
        kinds = tables.nth(idx).locator("th").evaluate_all("(heads) => heads.map((head) => head.className)")
        for column, kind in enumerate(kinds):
            for state in ("ascending", "descending"):
                found = opened.page.evaluate(CLICK, [idx, column])
                assert (found["state"], found["marked"]) == (state, 1)
                keys, down = found["keys"], state == "descending"
                if kind == "text":
                    assert keys == opened.page.evaluate(TEXT_ORDER, keys)[:: -1 if down else 1]
                else:
                    numbers = [float(key) for key in keys]
                    known = [number for number in numbers if not math.isnan(number)]
                    assert numbers[: len(known)] == sorted(known, reverse=down)  # the others are last


def test_mouse_and_keyboard_sort(opened: Opened) -> None:
    table = opened.page.locator("#s0 table.sortable").first
    head = table.locator("th").nth(2)
    solvers = table.locator("tbody td:first-child")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    up = solvers.all_inner_texts()
    opened.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert solvers.all_inner_texts() == up[::-1]
    opened.page.keyboard.press("Space")
    assert solvers.all_inner_texts() == up
    assert sorted(up) == ["2X", "infX+c", "noX"]


def test_every_instance_has_its_picture(opened: Opened) -> None:
    page = opened.page
    for section in range(SECTIONS):
        page.select_option("#pick-section", str(section))
        names = page.locator("#pick-instance option").all_inner_texts()
        assert len(names) in {5, 34}
        for instance, name in enumerate(names):
            opened.choose(section, instance, 1)
            page.wait_for_function(
                "(name) => document.querySelector('#about').textContent.startsWith(name)", arg=name
            )
            for picture in ("#chosen", "#reference"):
                assert page.locator(f"{picture} svg path").count() >= 4
                box = page.locator(f"{picture} svg").bounding_box()
                assert box is not None
                assert min(box["width"], box["height"]) > 40
            assert (
                page.locator("#reference figcaption").inner_text().startswith(("Best known: ", "Optimum: "))
            )


def _run(study: MemoryStudy, instance: str, solver: str) -> Record:
    """The run that is drawn: the best of the seeds."""
    runs = [
        run for run in study if (run.instance, run.solver) == (instance, solver) and "," not in run.objective
    ]
    return min(runs, key=lambda run: terms(run.value or 0))


def test_a_picture_of_a_schedule_is_that_of_the_answer(opened: Opened, study: MemoryStudy) -> None:
    opened.choose(0, 4, 0)
    run = _run(study, "many", "noX")
    problem, schedule = study.problem(run.digest), study.answers[run.key]
    assert isinstance(problem, EvolutionProblem)
    assert isinstance(schedule, EvolutionSchedule)
    root = opened.drawing("chosen")
    texts = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert "nodes" in texts
    assert any(text.startswith("time [") for text in texts)
    frame, drawn = axes(root), skylines(root)
    assert [skyline.label for skyline in drawn] == list(problem.application_names)[::-1]
    (capacity,) = (path.attrib["d"] for path in root.iter(f"{SVG}path") if path.get("class") == "line")
    full, seen = frame.bottom - float(capacity.split()[-1]), visible(drawn)
    _, _, x_unit, y_unit = drawn[0].plane
    assert full == pytest.approx(-y_unit * problem.num_nodes, abs=0.1)
    second = x_unit * (1 + max(max(skyline.heights) for skyline in drawn)) / schedule.completions.max()
    for app, name in enumerate(problem.application_names):
        assert x_unit * min(seen[name]) >= second * schedule.starts[app] - 0.3
        assert x_unit * (1 + max(seen[name])) <= second * schedule.completions[app] + 0.3
        profile = schedule.profile(app)
        rounding = x_unit * sum(profile.nodes)  # half a unit at either end of each step
        assert seen[name].total() * x_unit == pytest.approx(profile.area * second, abs=rounding)
    held = list(_held(schedule))
    usage = np.bincount(
        np.concatenate([start + np.arange(len(nodes)) for start, nodes in held]),
        np.concatenate([nodes for _, nodes in held]),
    )
    heights = [height for skyline in drawn for height in skyline.heights.values()]
    assert max(heights) == pytest.approx(usage.max(), abs=1)


def _held(schedule: EvolutionSchedule) -> Iterator[tuple[int, list[int]]]:
    """The start of each application, and its nodes second by second."""
    for app, start in enumerate(schedule.starts.tolist()):
        yield start, [nodes for duration, nodes in schedule.profile(app).steps for _ in range(duration)]


def test_a_picture_of_a_mesh_shows_the_chosen_and_the_busy_nodes(opened: Opened, study: MemoryStudy) -> None:
    for solver, name in enumerate(("gen-alg", "random", "growth")):
        opened.choose(1, 0, solver)
        run = _run(study, "mesh-00", name)
        problem, answer = study.problem(run.digest), study.answers[run.key]
        assert isinstance(problem, PartitionProblem)
        assert isinstance(answer, Partition)
        root = opened.drawing("chosen")
        for kind, nodes in (("chosen", answer.nodes.tolist()), ("busy", list(problem.busy))):
            assert sorted(8 * row + column for column, row in squares(root, kind)) == nodes


def test_the_best_known_answer_is_beside_it(opened: Opened) -> None:
    for section, instance in itertools.product(range(SECTIONS), range(4)):
        opened.choose(section, instance, 1)
        about = opened.page.locator("#about").inner_text()
        best = about.split("best known ")[1].split(" ", 1)[1]
        best = re.split(r", (?:certified bound|claimed bound|proven)", best)[0].rstrip(".")
        if section == 2:
            best = best.split(" ", 1)[1]  # the objective has two words
        assert f", {best} (seed " in opened.page.locator("#reference figcaption").inner_text()


def test_a_picture_of_a_partition_has_every_node_once(opened: Opened) -> None:
    for instance, nodes in ((0, 64), (1, 36), (2, 9), (3, 24)):
        opened.choose(1, instance, 0)
        root = opened.drawing("chosen")
        free, busy, chosen = (set(squares(root, kind)) for kind in ("free", "busy", "chosen"))
        assert len(squares(root, "free")) == len(free) == nodes
        assert len(chosen) == 6
        assert not busy & chosen
        assert busy | chosen <= free
    texts = opened.page.locator("#chosen svg text").all_text_contents()
    assert texts[5:] == [f"z = {z}, axis 3 = {axis}" for axis in (0, 1) for z in (0, 1)]


def test_a_run_without_an_answer_says_so(opened: Opened) -> None:
    opened.choose(2, 4, 0)
    opened.page.wait_for_function("document.querySelector('#chosen').textContent.includes('no answer')")
    assert opened.page.locator("#chosen svg").count() == 0
    assert opened.page.locator("#reference svg").count() == 1


def test_rows_come_as_they_are_asked_for(opened: Opened) -> None:
    page = opened.page
    page.select_option("#pick-section", "1")
    assert page.locator("#shown").inner_text() == "50 of 102 rows"
    page.locator("#more").click()
    page.locator("#more").click()
    assert page.locator("#cells tbody tr").count() == 102
    assert not page.locator("#more").is_visible()
    page.fill("#search", "small-07 GROWTH")
    assert page.locator("#shown").inner_text() == "1 of 1 rows"
    page.wait_for_function("document.querySelector('#about').textContent.startsWith('small-07')")
    page.fill("#search", "small")
    page.locator("#cells th button").nth(3).click()
    page.locator("#cells th button").nth(3).click()
    gaps = [float(gap) for gap in opened.column("#cells", 3)]
    assert gaps == sorted(gaps, reverse=True)
    page.locator("#cells tbody tr").nth(4).click()
    name, solver = opened.column("#cells", 0)[4], opened.column("#cells", 1)[4]
    page.wait_for_function(
        "(name) => document.querySelector('#about').textContent.startsWith(name)", arg=name
    )
    assert page.locator("#chosen figcaption").inner_text().startswith(f"Chosen solver: {solver}, ")
    page.fill("#search", "no such thing")
    assert page.locator("#shown").inner_text() == "0 of 0 rows"


def test_names_stay_text(opened: Opened) -> None:
    page = opened.page
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == f"Study of {EVIL}"
    assert page.locator("#pick-instance option").first.inner_text() == EVIL
    opened.choose(0, 0, 1)
    page.wait_for_function(
        "(name) => document.querySelector('#about').textContent.startsWith(name)", arg=EVIL
    )
    assert page.locator("#chosen path[fill] title").last.text_content() == EVIL
    assert opened.column("#cells", 0)[0] == EVIL


@pytest.mark.parametrize("width", [420, 320])
def test_a_phone_scrolls_in_one_direction(browser: Browser, file: Path, width: int) -> None:
    opened = Opened(browser, file, viewport={"width": width, "height": 800})
    for section in range(SECTIONS):
        opened.page.select_option("#pick-section", str(section))
        opened.page.wait_for_selector(f"#pictures[data-shown^='{section} ']")
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
        too_wide = opened.page.evaluate(
            """() => [...document.querySelectorAll("figure .scroll")]
                .filter((box) => box.scrollWidth > box.clientWidth).length"""
        )
        assert too_wide == 0 or width < 420
    letters = opened.page.evaluate(
        """() => [...document.querySelectorAll(".figures svg text")]
            .map((text) => 12 * text.ownerSVGElement.getBoundingClientRect().width
                / text.ownerSVGElement.viewBox.baseVal.width)"""
    )
    assert min(letters) >= 11 or width < 420  # pixels
    assert opened.faults == []
    opened.page.close()


def test_dark_screens_are_dark(browser: Browser, file: Path) -> None:
    for scheme, dark in (("dark", True), ("light", False)):
        opened = Opened(browser, file, color_scheme=scheme)
        colours = opened.page.evaluate(
            """() => [
                getComputedStyle(document.body).backgroundColor,
                getComputedStyle(document.body).color,
                getComputedStyle(document.querySelector('#s0 svg text')).fill,
                getComputedStyle(document.querySelector('#s0 svg .grid')).stroke,
                getComputedStyle(document.querySelector('#chosen svg .text')).fill,
            ]"""
        )
        light = [sum(map(int, colour[4:-1].split(","))) > 3 * 128 for colour in colours]
        assert light == ([False, True, True, False, True] if dark else [True, False, False, True, False])
        opened.page.close()


def test_a_page_that_wants_the_network_is_kept_from_it(browser: Browser, file: Path, tmp_path: Path) -> None:
    spoilt = tmp_path / "spoilt.html"
    text = file.read_text(encoding="utf-8").replace(
        "<main>", '<main><img src="x.png"><script>document.title = "run";</script>'
    )
    spoilt.write_text(text, encoding="utf-8")
    opened = Opened(browser, spoilt)
    assert opened.page.title() == f"Study of {EVIL}"
    assert len(opened.faults) == 2
    assert all("Content Security Policy" in fault for fault in opened.faults)
    opened.page.close()
