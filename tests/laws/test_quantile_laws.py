"""One definition of quantiles: its laws, and that metrics, tables and pictures take it."""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from picture_tools import SVG, parsed
from study_tools import row

from allocsolve.judge.quantiles import quantile, row_quantiles
from allocsolve.report import examine, figures
from allocsolve.report.tables import gap_table

ROOT = Path(__file__).resolve().parents[2]

maybe_infinite = st.floats(0, 1e6) | st.just(math.inf)
samples = st.lists(maybe_infinite, min_size=1, max_size=60)
shares = st.integers(0, 100).map(lambda percent: percent / 100)


@given(samples, shares)
def test_a_quantile_is_the_least_value_that_covers_its_share(sample: list[float], share: float) -> None:
    assume(share != 0.5)
    found = quantile(sample, share)
    assert found in sample
    percent = round(100 * share)
    assert 100 * sum(value <= found for value in sample) >= percent * len(sample)
    assert 100 * sum(value < found for value in sample) < percent * len(sample) or found == min(sample)


@given(samples)
def test_at_one_half_it_is_the_median(sample: list[float]) -> None:
    assert quantile(sample, 0.5) == statistics.median(sample)
    assert quantile(sample, 0.49) <= quantile(sample, 0.5) <= quantile(sample, 0.51)


@given(st.lists(st.tuples(maybe_infinite, maybe_infinite), min_size=1), shares)
def test_rows_are_taken_one_by_one(pairs: list[tuple[float, float]], share: float) -> None:
    rows = np.array(pairs).T
    assert row_quantiles(rows, share).tolist() == [quantile(one, share) for one in rows]


def test_the_95th_percentile_by_hand() -> None:
    assert quantile(range(1, 21), 0.95) == 19
    assert quantile(range(1, 20), 0.95) == 19
    assert quantile([1, 2, math.inf], 0.5) == 2
    assert [quantile(range(1, 20 * n + 1), 0.95) for n in range(1, 60)] == [19 * n for n in range(1, 60)]


def _drawn_median(values: list[int]) -> tuple[float, float, float]:
    """The median that the picture of some gaps names, the one that it draws, and that of the table."""
    findings = examine([row(f"i{idx}", "x", 100 + gap, 100) for idx, gap in enumerate(values)])
    (document,) = [text for name, text in figures(findings).items() if name.endswith("-gaps")]
    lines = [path for path in parsed(document).iter(f"{SVG}path") if path.get("class") == "median"]
    (line,) = lines
    title = line.find(f"{SVG}title")
    assert title is not None
    assert title.text is not None
    x = float(re.findall(r"M(\S+?) ", line.attrib["d"])[0])
    table = gap_table(findings.sections[0])
    cell = table.rows[0][table.heads.index("median")]
    assert isinstance(cell.key, float)
    return float(title.text.removesuffix(" %")), x, 100 * cell.key


@given(st.lists(st.integers(1, 400), min_size=2, max_size=12))
def test_the_picture_and_the_table_have_the_same_median(gaps: list[int]) -> None:
    named, _, tabled = _drawn_median(gaps)
    assert named in {float(f"{tabled * near:.3g}") for near in (1 - 1e-9, 1 + 1e-9)}
    assert tabled == pytest.approx(statistics.median(gaps))


def test_the_line_stands_where_it_says() -> None:
    left, middle, right = (
        _drawn_median([10, low, high, 90])[1] for low, high in ((20, 20), (20, 60), (60, 60))
    )
    assert middle == pytest.approx((left + right) / 2, abs=0.1), "between two values, not on the lower one"


#: Other definitions, each with its reason beside it in the module.
OTHERS = {
    "allocsolve/bounds/reservation.py": "where a grid has its edges",
    "allocsolve/prediction/scenarios.py": "estimates from a few draws",
    "allocsolve/prediction/when.py": "estimates from a few earlier answers",
    "reproductions/zojer2025/experiment.py": "quartiles of few seeds, as numpy has them",
}


def test_nobody_else_defines_a_quantile() -> None:
    other = re.compile(
        r"\b(np|numpy|statistics)\.(nan)?(quantiles?|percentile|median\w*)\(|import .*\bmedian\b"
    )
    modules = [*(ROOT / "allocsolve").rglob("*.py"), *(ROOT / "reproductions").rglob("*.py")]
    found = {str(one.relative_to(ROOT)) for one in modules if other.search(one.read_text(encoding="utf-8"))}
    assert found == {*OTHERS}
