"""Reports of studies: what is said, tables, figures."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html as html_escapes
import itertools
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st
from picture_tools import SVG, parsed, skylines, squares, visible
from study_tools import MemoryStudy, failed, row, run_study, timed_out

from allocsolve.cli.files import write_texts
from allocsolve.cli.study import write_report
from allocsolve.errors import InvalidOption
from allocsolve.instances import klein2011, uniform_occupancy
from allocsolve.model import (
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Limit,
    Mesh,
    Partition,
    terms,
)
from allocsolve.pictures.chart import Axis
from allocsolve.report import examine, figures, html, markdown, page as report_page
from allocsolve.report.page import PICTURE_BYTES, shown_instances

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.model import Answer, Problem


EVIL = "</script><img src=x onerror=alert(1)>|*&"


@pytest.fixture(scope="module")
def study() -> MemoryStudy:
    """Both families, two seeds, a failure and a time-out, names that want to be code."""
    cubes = [
        replace(uniform_occupancy(Mesh((4, 3, 3)), 0.3, 6, seed), name=f"cube-{seed}") for seed in range(3)
    ]
    tiny = [
        replace(klein2011([4, idx], num_apps=(4, 5)), name=f"tiny-{idx:02}", expand_limit=2)
        for idx in range(4)
    ]
    tiny[0] = replace(tiny[0], name=f"tiny {EVIL}", application_names=(EVIL, *tiny[0].application_names[1:]))
    exact, drawn = ["noX", "infX+c", "cpsat"], ["gen-alg", "random", "branch-and-bound"]
    solvers = {"evolution": exact, "partition": drawn}
    found = run_study([("tiny", tiny), (f"cubes {EVIL}", cubes)], solvers, seeds=(0, 1))
    found.records[2] = failed(found.records[2], f"RuntimeError: {EVIL}")
    found.records[-1] = timed_out(found.records[-1])
    return found


class _Reader(HTMLParser):
    """Collects the tags, the attributes and the contents of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            if self.raw and self.raw[-1][0] == str(len(self.tags)):
                data = self.raw.pop()[1] + data
            self.raw.append((str(len(self.tags)), data))
        else:
            self.texts.append(data)

    def contents(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """Attributes and content of every script or style."""
        return [
            (self.tags[int(idx) - 1][1], content)
            for idx, content in self.raw
            if self.tags[int(idx) - 1][0] == tag
        ]


def unpacked(block: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(block)))


def test_the_page_loads_nothing_and_says_so(study: MemoryStudy) -> None:
    assert html(examine(study), study) == html(examine(study), study), "the same every time"
    page = _Reader(html(examine(study, title=EVIL), study))
    for tag, attributes in page.tags:
        assert tag not in {"img", "link", "iframe", "object", "embed"}
        assert not attributes.keys() & {"src", "style", "onclick", "onerror"}
        assert str(attributes.get("href", "#")).startswith("#")
    (policy,) = (a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    assert allowed["default-src"] == "'none'"
    for tag in ("script", "style"):
        (code,) = (text for attributes, text in page.contents(tag) if "type" not in attributes)
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert allowed[f"{tag}-src"] == f"'sha256-{digest}'"


def test_names_and_errors_stay_text(study: MemoryStudy) -> None:
    page = html(examine(study, title=EVIL), study)
    assert "onerror=alert(1)>" not in page
    texts = " ".join(_Reader(page).texts)
    for text in (f"RuntimeError: {EVIL}", f"tiny {EVIL}", f"cubes {EVIL}: pairwise"):
        assert text in texts


def test_the_embedded_data_are_those_of_the_study(study: MemoryStudy) -> None:
    index, *blocks = map(unpacked, shown_instances(examine(study), study).blocks)
    kinds = ["evolution", "partition"]
    assert [section["name"] for section in index["sections"]] == ["tiny: makespan", f"cubes {EVIL}: pairwise"]
    for kind, section in zip(kinds, index["sections"], strict=True):
        assert kind not in json.dumps(section)  # the script of the page cannot know the family
        records = [one for one in study if one.kind == kind]
        for place, solver, value, gap, time, count, missing in section["cells"]:
            instance, name = section["instances"][place], section["solvers"][solver]
            runs = [one for one in records if (one.instance, one.solver) == (instance["name"], name)]
            assert count == len(runs) == 2
            assert missing == sum(one.value is None for one in runs)
            assert (value is None) == (gap is None) == bool(missing)
            assert time == pytest.approx(sum(one.runtime_s for one in runs) / 2, rel=1e-3)
            block, at = instance["at"]
            pictures = blocks[block - 1][at]
            answered = [one for one in runs if one.value is not None]
            assert (str(solver) in pictures) == bool(answered)
            if answered:
                drawing, seed, (drawn_value,) = pictures[str(solver)]
                run = min(answered, key=lambda one: terms(one.value or 0))
                assert (drawn_value, seed) == (run.value, run.seed)
                _check_drawing(study.problem(run.digest), study.answers[run.key], drawing)


def _check_drawing(problem: Problem, answer: Answer, drawing: str) -> None:
    root = parsed(drawing)
    if isinstance(answer, EvolutionSchedule):
        assert isinstance(problem, EvolutionProblem)
        seen = visible(skylines(root))
        (unit,) = {skyline.plane.x_unit for skyline in skylines(root)}
        ends = [unit * (1 + max(seen[name])) for name in problem.application_names]
        scale = max(ends) / answer.completions.max()
        assert ends == pytest.approx((scale * answer.completions).tolist(), abs=0.3)
        peaks = [max(seen[name].values()) for name in problem.application_names]
        assert peaks == [app.peak for app in problem.applications]
    else:
        assert isinstance(answer, Partition)
        nodes = squares(root, "free")
        assert sorted(squares(root, "chosen")) == sorted(nodes[node] for node in answer.nodes.tolist())


def test_the_failures_are_listed_with_their_reason(study: MemoryStudy) -> None:
    text = markdown(examine(study))
    assert "time limit, no answer | 1 |" in text
    assert r"RuntimeError: \</script\>\<img src=x onerror=alert\(1\)\>\|\*\& | 1 |" in text
    assert "Nothing failed." in markdown(examine([row("a", "x", 5)]))
    with pytest.raises(InvalidOption, match="Study: there is no record to report on"):
        examine([])


def test_figures_are_documents(study: MemoryStudy) -> None:
    found = figures(examine(study))
    assert [name for name in found if name.startswith("tiny")] == [
        f"tiny-makespan-{kind}" for kind in ("gaps", "profile", "time-gap", "primal")
    ]
    for name, document in found.items():
        assert re.fullmatch("[A-Za-z0-9-]+", name)
        root = parsed(document)
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        assert "prefers-color-scheme:dark" in document
        for text in root.iter(f"{SVG}text"):
            assert 0 <= float(text.attrib["x"]) <= width
            assert 0 <= float(text.attrib["y"]) <= height
        for path in root.iter(f"{SVG}path"):
            for x, y in re.findall(r"[ML](\S+?) ([\d.-]+)", path.attrib["d"]):
                assert -1 <= float(x) <= width + 1
                assert -1 <= float(y) <= height + 1


PROBLEM = EvolutionProblem(4, (EvolutionProfile([(10, 2)]),))


def test_what_nobody_answered_has_no_figures() -> None:
    found = examine([failed(row("a", "x", 1), "Boom: x"), timed_out(row("a", "y", 1))])
    assert list(figures(found)) == ["s-makespan-profile"]
    assert "| x | 1 | - | - | - | - | - | 0 | 0 | 1 | 0 | 0 |" in markdown(found)


def test_names_turn_nothing_beside_them_round() -> None:
    evil = "a\u202eb\u2067"
    rows = [row(evil, f"{evil}x", 120, suite=evil), failed(row(evil, "y", 100, suite=evil), f"Boom: {evil}")]
    study = MemoryStudy(rows, {f"digest of {evil}": PROBLEM})
    page = html(examine(study), study)
    tags = re.split(r"(<[^>]*>)", page[page.index("<body>") : page.index('<script type="application/gzip"')])
    for before, text in itertools.pairwise(tags):
        if "\u202e" in text and not text.startswith("<"):
            assert before == "<bdi>"
    assert "\u202e" not in markdown(examine(study))
    assert not any("\u202e" in figure for figure in figures(examine(study)).values())


def test_pictures_that_are_too_large_are_left_out_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_page, "_BLOCK", 1)
    monkeypatch.setattr(report_page, "PICTURE_BYTES", 1)
    rows = [row(name, "x", 10) for name in "ab"]
    small = MemoryStudy(rows, {f"digest of {name}": PROBLEM for name in "ab"})
    index, *blocks = map(unpacked, shown_instances(examine(small), small).blocks)
    first, second = index["sections"][0]["instances"]
    assert (first["at"], first["missing"]) == ([1, 0], "")
    assert (second["at"], second["missing"]) == (None, "left out: the page would be too large")
    assert len(blocks) == 1
    assert PICTURE_BYTES == 12_000_000
    app = EvolutionProfile([(1, 1)])
    huge = MemoryStudy(rows[:1], {"digest of a": EvolutionProblem(4, (app,) * 800)})
    (index,) = map(unpacked, shown_instances(examine(huge), huge).blocks)
    assert "800 applications" in index["sections"][0]["instances"][0]["missing"]


def test_page_tables_and_figures_are_written(study: MemoryStudy, tmp_path: Path) -> None:
    page, table, folder = tmp_path / "r.html", tmp_path / "r.md", tmp_path / "figures"
    folder.mkdir()
    write_report(study, examine(study, title="Mine"), page, table=table)
    drawn = write_texts(figures(examine(study)), folder, ".svg")
    assert html_escapes.unescape(page.read_text(encoding="utf-8")).startswith("<!DOCTYPE html>")
    assert table.read_text(encoding="utf-8").startswith("# Mine\n")
    assert sorted(drawn) == sorted(folder.iterdir())
    assert [file.stem for file in drawn] == list(figures(examine(study)))


def test_a_problem_that_is_lost_has_no_picture() -> None:
    rows = [row("a", "x", 10), row("b", "x", 10)]
    small = MemoryStudy(rows, {"digest of a": PROBLEM})
    index, *_ = map(unpacked, shown_instances(examine(small), small).blocks)
    first, second = index["sections"][0]["instances"]
    assert (first["at"], first["missing"]) == ([1, 0], "")
    assert (second["at"], second["missing"]) == (None, "the problem is not in the records")


def test_names_that_are_no_unicode_are_written(tmp_path: Path) -> None:
    lone = MemoryStudy([row("a\ud800", "x\udcff", 5)], {"digest of a\ud800": PROBLEM})
    page = tmp_path / "r.html"
    write_report(lone, examine(lone), page, table=tmp_path / "r.md")
    write_texts(figures(examine(lone)), tmp_path, ".svg")
    assert "<td" in page.read_text(encoding="utf-8")


# --- Report tables ------------------------------------------------------------------------------------


def test_markdown_by_hand() -> None:
    rows = [row("a", "x", 120), row("a", "y", 100, 100, runtime=0.002), row("b", "x", 50)]
    rows.append(row("b", "y", 50, 40))
    lines = markdown(examine(rows, title="One | two")).splitlines()
    assert lines[0] == r"# One \| two"
    assert "| s | evolution | makespan | 2 | 1 | 0 | 0 | 2 | 1 | 4 |" in lines
    (x,) = [line for line in lines if line.startswith("| x | 2 | 22.50")]
    assert x.split(" | ")[2:] == [
        r"22.50 \[20.00, 25.00\]",
        r"22.50 \[20.00, 25.00\]",
        r"25.00 \[20.00, 25.00\]",
        "25.00",
        "22.37",  # sqrt(21 * 26) - 1
        *("1", "0", "0", "0", "0 |"),
    ]
    assert "| x | y | 0 | 1 | 1 | 8.33 | 1.000 | 1.000 |" in lines
    table = lines.index("### Pairs of solvers")
    assert lines[table + 3] == "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"


def test_the_headline_names_the_best() -> None:
    rows = [row("a", "x", 120), row("a", "y", 100, 100), row("b", "x", 50), row("b", "y", 50, 40)]
    rows.append(row("c", "y", 5))
    (sentence,) = examine(rows).headlines
    assert sentence == (
        "Of 2 solvers on 2 evolution problems, y is best: makespan 12.5 % above the best known bound on "
        "average, best known value on 2 of 2."
    )
    text = markdown(examine(rows, made="Made by hand."))
    assert text.index("Of 2 solvers") < text.index("Made by hand.") < text.index("## Study")
    (sentence,) = examine([*rows[:1], row("a", "z", 120), row("a", "w", 120)]).headlines
    assert ", x, z and w are best: best known value on 1 of 1." in sentence
    (sentence,) = examine([row("a", "x", 120), timed_out(row("b", "x", 1))]).headlines
    assert sentence == "x on 2 evolution problems: answers 1 of them, best known value on 1 of 2."
    (sentence,) = examine([timed_out(row("b", "x", 1))]).headlines
    assert sentence == "None of 1 solver has an answer to any of 1 evolution problem (makespan)."
    (sentence,) = examine([row("a", "x", 1), row("b", "y", 1)]).headlines
    assert sentence == "No evolution problem was run by all of 2 solvers (makespan)."


@given(st.permutations([("a", 130, 100), ("b", 110, 100), ("c", 120, 100), ("d", 5, -math.inf)]))
def test_the_least_mean_gap_stands_first(rows: list[tuple[str, int, float]]) -> None:
    found = examine([row(name if bound > 0 else "other", name, value, bound) for name, value, bound in rows])
    lines = markdown(found).splitlines()
    first = lines.index("### Gap to the best known bound, in %") + 4
    assert [line.split(" | ")[0] for line in lines[first : first + 4]] == ["| b", "| c", "| a", "| d"]


def test_a_limit_is_no_failure_and_overruns_are_counted() -> None:
    rows = [
        row("a", "x", 9, limit=Limit.ITERATIONS, runtime=11.3),
        row("b", "x", 9, limit=Limit.ITERATIONS, runtime=9.9),
        timed_out(row("c", "x", 9, runtime=11.2)),
    ]
    text = markdown(examine(rows))
    failures = text[text.index("## Failures") : text.index("## Stopped by a limit")]
    assert "iteration limit" not in failures
    assert "| s: makespan | x | time limit, no answer | 1 | c |" in failures
    assert "| s: makespan | x | iteration limit | 2 | a, b |" in text
    assert "| x | 3 | 0 | 1 | 2 | 0 |" in text


# --- Report figures -----------------------------------------------------------------------------------


def test_more_solvers_than_colours_are_chosen_by_their_gaps() -> None:
    problem = EvolutionProblem(4, (EvolutionProfile([(10, 2)]),))
    bounds = [100, *[-math.inf] * 14]
    rows = [row(name, f"s{idx}", 100 + idx, bounds[idx]) for idx in range(15) for name in "ab"]
    found = figures(examine(rows))
    texts = {node.text for node in parsed(found["s-makespan-profile"]).iter(f"{SVG}text")}
    assert {f"s{idx}" for idx in range(10)} <= texts
    assert "s10" not in texts
    assert "Of 15 solvers the 10 with most answers" in html(
        examine(rows), MemoryStudy(rows, {f"digest of {name}": problem for name in "ab"})
    )


def test_dots_that_cover_each_other_are_drawn_once() -> None:
    rows = [row(f"i{idx}", "x", 150, 100, runtime=1 + idx / 1e6) for idx in range(500)]
    document = figures(examine(rows))["s-makespan-time-gap"]
    dots = [path for path in parsed(document).iter(f"{SVG}path") if path.attrib["class"] == "d0"]
    assert [path.attrib["d"].count("M") for path in dots] == [1, 1]  # the legend, and all of them


@given(st.lists(st.floats(1e-7, 1e7), min_size=1, max_size=20), st.booleans())
def test_axes_hold_their_values_and_have_ticks(values: list[float], log: bool) -> None:
    axis = Axis.around("", values, log=log)
    places = [axis.fraction(value) for value in sorted(values)]
    assert places == sorted(places)
    assert places[0] >= -1e-6
    assert places[-1] <= 1 + 1e-6
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 12
    assert all(-1e-6 <= axis.fraction(tick) <= 1 + 1e-6 for tick in ticks)
    assert len({axis.write(tick) for tick in ticks}) == len(ticks)


def _drawn(document: str, kind: str) -> list[list[tuple[float, float]]]:
    """The points of each shape of a class."""
    root = parsed(document)
    paths = [path.attrib["d"] for path in root.iter(f"{SVG}path") if path.get("class") == kind]
    return [[(float(x), float(y)) for x, y in re.findall(r"[ML](\S+?) (\d+\.?\d*)", d)] for d in paths]


def test_a_performance_profile_is_drawn_to_scale() -> None:
    rows = [row("a", "x", 100), row("b", "x", 100), row("a", "y", 110), row("b", "y", 120)]
    document = figures(examine(rows))["s-makespan-profile"]
    (((left, top), (_, bottom), (right, _)),) = _drawn(document, "axis")
    legend, curve = _drawn(document, "s1")
    assert len(legend) == 2
    middle, half = (left + right) / 2, (top + bottom) / 2
    steps = [(left, bottom), (middle, bottom), (middle, half), (right, half), (right, top)]
    assert curve == [pytest.approx(point, abs=0.06) for point in steps]


def test_a_box_is_drawn_to_scale() -> None:
    gaps = (5, 20, 20, 30, 30, 40, 65, 200)
    rows = [row(f"i{idx}", "x", 100 + gap, 100) for idx, gap in enumerate(gaps)]
    document = figures(examine(rows))["s-makespan-gaps"]
    (((left, _), _, (right, _)),) = _drawn(document, "axis")

    def percent(x: float) -> float:
        return 200 * (x - left) / (right - left)

    whisker, *_ = _drawn(document, "whisker")
    assert [percent(x) for x, _ in whisker] == pytest.approx([5, 65], abs=0.05)
    ((corner,),) = _drawn(document, "box")
    assert percent(corner[0]) == pytest.approx(20, abs=0.05)
    ((median, _),) = _drawn(document, "median")
    assert percent(median[0]) == pytest.approx(30, abs=0.05)
    ((mean, _),) = _drawn(document, "mean")
    assert percent(mean[0]) == pytest.approx(sum(gaps) / 8, abs=0.05)
    ((outlier,),) = _drawn(document, "outlier")
    assert percent(outlier[0]) == pytest.approx(200, abs=0.05)
