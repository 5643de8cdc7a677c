"""Whatever a family draws is shown on the page, and can do nothing else there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from browser_tools import Opened, open_browser
from picture_tools import SVG
from study_tools import MemoryStudy, row

from allocsolve.families import View
from allocsolve.pictures import Drawing
from allocsolve.report import examine, html, page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

    from allocsolve.bench import Record

EVIL = "</script><img src=x onerror=alert(1)>"

pytestmark = pytest.mark.xdist_group("browser")
browser = pytest.fixture(scope="module")(open_browser)


def _show(monkeypatch: pytest.MonkeyPatch, plot: Callable[[int, int], Drawing]) -> None:
    """Have reports show a family of rods: problems are lengths, answers where the rod is cut."""
    view: View[int, int] = View(
        describe=lambda length: f"a rod of {length} mm",
        undrawable=lambda length: f"{length} mm are too long to draw" if length > 99 else "",
        plot=plot,
        metric_fields=lambda length, metrics: [("share", f"{metrics / length}")],
    )
    family = SimpleNamespace(view=view, objectives=(SimpleNamespace(name="length", unit="mm"),))
    monkeypatch.setattr(page, "family_of", lambda _: family)


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
            about = opened.page.locator("#about").inner_text()
            assert about.startswith(f"{name}: a rod of {length} mm; best")
            for place, cut in (("chosen", 30 + solver), ("reference", 30)):
                root = opened.drawing(place)
                (text,) = root.iter(f"{SVG}text")
                assert text.text == f"{EVIL} cut at {cut} of {length}"
                (path,) = root.iter(f"{SVG}path")
                line = ("s3", f"M10 40L{10 + cut} 40", EVIL)
                assert (path.get("class"), path.get("d"), path[0].text) == line
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
