"""The page of a report in a real browser: sorting, pictures, both screens, phones, and nothing loaded."""

from __future__ import annotations

import itertools
import math
import shutil
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from picture_tools import SVG, axes, parsed, skylines, squares, visible
from study_tools import MemoryStudy, failed, row, run_study, timed_out

from allocsolve.families import View
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
from allocsolve.pictures import Drawing
from allocsolve.report import embedded, examine, html

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Page

    from allocsolve.bench import Record

CHROMIUM = shutil.which("chromium")
EVIL = "</script><img src=x onerror=alert(1)>"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
SECTIONS = 3

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def study() -> MemoryStudy:
    """Both families: two to four axes, two objectives, a failure, a solver without answers, evil names."""
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
    study = run_study([("tiny", tiny), ("meshes", meshes)], solvers, seeds=(0, 1))
    more = run_study([("tiny", tiny)], solvers, objective="makespan,waste")
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield started
        started.close()


class Opened:
    """A page with everything that went wrong on it and everything that it asked for."""

    def __init__(self, browser: Browser, file: Path, **options: Any) -> None:
        self.page: Page = browser.new_page(**options)
        self.faults: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("#pictures[data-shown]")
        self.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")

    def _dismiss(self, dialog: Dialog) -> None:
        self.faults.append(dialog.message)
        dialog.dismiss()

    def column(self, table: str, idx: int) -> list[str]:
        """The texts of a column."""
        found: list[str] = self.page.locator(f"{table} tbody tr td:nth-child({idx + 1})").all_inner_texts()
        return found

    def drawing(self, place: str) -> ET.Element:
        """What is drawn in a place, as the browser has it."""
        text = self.page.locator(f"#{place} svg").evaluate(
            "(svg) => new XMLSerializer().serializeToString(svg)"
        )
        return parsed(text)

    def choose(self, section: int, instance: int, solver: int) -> None:
        """Choose what is drawn."""
        for name, value in (("section", section), ("instance", instance), ("solver", solver)):
            self.page.select_option(f"#pick-{name}", str(value))
        self.page.wait_for_selector(f"#pictures[data-shown='{section} {instance} {solver}']")


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
        best = (
            about.split("best known ")[1]
            .split(" ", 1)[1]
            .split(", bound")[0]
            .split(", proven")[0]
            .rstrip(".")
        )
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
    assert texts[4:] == [f"z = {z}, axis 3 = {axis}" for axis in (0, 1) for z in (0, 1)]


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


@pytest.mark.parametrize("width", [390, 320])
def test_a_phone_scrolls_in_one_direction(browser: Browser, file: Path, width: int) -> None:
    opened = Opened(browser, file, viewport={"width": width, "height": 800})
    for section in range(SECTIONS):
        opened.page.select_option("#pick-section", str(section))
        opened.page.wait_for_timeout(50)
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
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


def _show(monkeypatch: pytest.MonkeyPatch, plot: Callable[[int, int], Drawing]) -> None:
    """Have reports show a family of rods: problems are lengths, answers where the rod is cut."""
    view: View[int, int] = View(
        units={"length": "mm"},
        describe=lambda length: f"a rod of {length} mm",
        undrawable=lambda length: f"{length} mm are too long to draw" if length > 99 else "",
        plot=plot,
        metric_fields=lambda length, metrics: [("share", f"{metrics / length}")],
    )
    monkeypatch.setattr(embedded, "family_of", lambda _: SimpleNamespace(view=view))


def _rods(folder: Path, records: list[Record], lengths: dict[str, int]) -> Path:
    """The report on cuts of rods: each answer is its value."""
    problems: Any = {f"digest of {name}": length for name, length in lengths.items()}
    answers: Any = {run.key: run.value for run in records}
    study = MemoryStudy(records, problems, answers)
    file = folder / "rods.html"
    file.write_text(html(examine(study), study), encoding="utf-8")
    return file


def test_the_page_shows_whatever_a_family_draws(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plot(length: int, answer: int) -> Drawing:
        drawing = Drawing(200, 60, "a rod")
        drawing.text(10, 20, f"{EVIL} cut at {answer} of {length}")
        drawing.line((10, 40), (10 + answer, 40), kind="s3", label=EVIL)
        return drawing

    _show(monkeypatch, plot)
    lengths = {"short": 50, "medium": 70, "long": 100}
    rows = [
        row(name, solver, 30 + idx, kind="rod", objective="length")
        for name in lengths
        for idx, solver in enumerate(("saw", "axe"))
    ]
    file = _rods(tmp_path, rows, lengths)
    opened = Opened(browser, file)
    for instance, (name, length) in enumerate(list(lengths.items())[:2]):
        for solver in (0, 1):
            opened.choose(0, instance, solver)
            assert (
                opened.page.locator("#about").inner_text().startswith(f"{name}: a rod of {length} mm; best")
            )
            for place, cut in (("chosen", 30 + solver), ("reference", 30)):
                root = opened.drawing(place)
                (text,) = root.iter(f"{SVG}text")
                assert text.text == f"{EVIL} cut at {cut} of {length}"
                (path,) = root.iter(f"{SVG}path")
                assert (path.get("class"), path.get("d"), path[0].text) == (
                    "s3",
                    f"M10 40L{10 + cut} 40",
                    EVIL,
                )
            caption = f"Chosen solver: {('saw', 'axe')[solver]}, {30 + solver} mm (seed 0)"
            assert opened.page.locator("#chosen figcaption").inner_text() == caption
    opened.choose(0, 2, 0)
    assert opened.page.locator("#chosen").inner_text() == "No picture: 100 mm are too long to draw"
    assert opened.faults == []
    opened.page.close()


@pytest.mark.parametrize(
    "text",
    [
        "<svg xmlns='http://www.w3.org/2000/svg'><g></svg>",
        "<script xmlns='http://www.w3.org/1999/xhtml'>document.title = 'run';</script>",
        "<svg xmlns='http://www.w3.org/2000/svg'><script>document.title = 'run';</script></svg>",
        "<svg xmlns='http://www.w3.org/2000/svg' onload='document.title = \"run\"'></svg>",
        "no drawing",
    ],
)
def test_a_drawing_can_run_nothing(
    text: str, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with the drawing of a family from elsewhere."""

    class Wrong(Drawing):
        def inline(self) -> str:
            return text

    _show(monkeypatch, lambda *_: Wrong(1, 1, "wrong"))
    record = row("rod", "saw", 3, kind="rod", objective="length")
    file = _rods(tmp_path, [record], {"rod": 5})
    opened = Opened(browser, file)
    assert opened.page.title() == "Study"
    drawn = opened.page.locator("#chosen svg").count()
    assert drawn == text.endswith("</svg>") - ("<g>" in text)
    assert opened.page.locator("#chosen").inner_text().endswith("not well-formed.") != bool(drawn)
    opened.page.close()
