"""Laws of statistics: tests of differences, quantiles and what is drawn of them."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st
from picture_tools import SVG, parsed
from scipy import stats
from study_tools import row
from tiers import examples

from allocsolve.bench import holm, signed_rank
from allocsolve.bench.scores.statistics import (
    bootstrap_interval,
    performance_profile,
    primal_gap,
    primal_integral,
    shifted_geometric_mean,
)
from allocsolve.errors import InvalidOption
from allocsolve.judge.quantiles import quantile, row_quantiles
from allocsolve.report import examine, figures
from allocsolve.report.tables import gap_table

values = st.floats(0, 1e6)
shares = st.floats(0, 1)
#: Few different sizes, so that many are equal.
differences = st.lists(st.integers(-4, 4).map(float), max_size=9)


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=8), st.floats(0.1, 10))
def test_a_shifted_mean_is_the_root_of_the_product(sample: list[float], shift: float) -> None:
    product = math.prod(value + shift for value in sample)
    naive = product ** (1 / len(sample)) - shift
    assert shifted_geometric_mean(sample, shift) == pytest.approx(naive, rel=1e-9, abs=1e-9 * shift)


@pytest.mark.parametrize(("sample", "shift"), [([], 1), ([-1.0], 1), ([1.0], 0), ([1.0], math.nan)])
def test_no_shifted_mean(sample: list[float], shift: float) -> None:
    with pytest.raises(InvalidOption, match="no shifted geometric mean"):
        shifted_geometric_mean(sample, shift)


@settings(max_examples=examples(30))
@given(st.lists(values, min_size=2, max_size=40))
def test_a_bootstrap_interval_holds_the_estimate(sample: list[float]) -> None:
    estimates = {"mean": fmean(sample), "median": median(sample), "p95": quantile(sample, 0.95)}
    slack = 1e-9 * max(sample)
    for name in ("mean", "median", "p95"):
        found = bootstrap_interval(sample, name)
        assert found is not None
        assert min(sample) - slack <= found[0] <= estimates[name] + slack
        assert estimates[name] - slack <= found[1] <= max(sample) + slack
        assert bootstrap_interval(sample, name) == found


def test_a_bootstrap_interval_of_a_coin() -> None:
    # The mean of 100 tosses has a standard deviation of 5 %.
    found = bootstrap_interval([0.0, 1.0] * 50, "mean")
    assert found == pytest.approx((0.402, 0.598), abs=0.012)
    assert bootstrap_interval([1.0], "mean") is None
    assert bootstrap_interval([1.0, math.inf], "median") is None


def _naive_signed_rank(sample: list[float]) -> float:
    """The share of the patterns of signs that are at least as uneven."""
    sizes = sorted(abs(term) for term in sample if term)
    if not sizes:
        return 1.0
    rank = {size: fmean(idx for idx, other in enumerate(sizes, 1) if other == size) for size in sizes}
    middle = sum(rank[size] for size in sizes) / 2
    seen = abs(sum(rank[abs(term)] for term in sample if term > 0) - middle)
    sums = [
        sum(rank[size] for size, sign in zip(sizes, signs, strict=True) if sign)
        for signs in itertools.product((False, True), repeat=len(sizes))
    ]
    return sum(abs(total - middle) >= seen - 1e-9 for total in sums) / len(sums)


@settings(max_examples=examples(40))
@given(differences)
def test_signed_rank_by_all_patterns(sample: list[float]) -> None:
    assert signed_rank(sample) == pytest.approx(_naive_signed_rank(sample), abs=1e-12)


def test_signed_rank_of_many_by_the_normal_distribution() -> None:
    # Of 60 different differences only the five smallest are below 0: W = 15.
    z = (60 * 61 / 4 - 15) / math.sqrt(60 * 61 * 121 / 24)
    sample = [float(term if term > 5 else -term) for term in range(1, 61)]
    assert signed_rank(sample) == pytest.approx(math.erfc(z / math.sqrt(2)))


@settings(max_examples=examples(30))
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=50, unique_by=abs))
def test_signed_rank_of_different_ones_is_that_of_scipy(sample: list[float]) -> None:
    nonzero = [term for term in sample if term]
    assume(nonzero)
    assert signed_rank(sample) == pytest.approx(stats.wilcoxon(nonzero, method="exact").pvalue)


@given(st.lists(shares, max_size=12))
def test_holm_raises_in_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert len(adjusted) == len(p_values)
    pairs = list(zip(p_values, adjusted, strict=True))
    assert all(p <= raised <= min(1, len(pairs) * p) for p, raised in pairs)
    for (p, raised), (q, other) in itertools.product(pairs, repeat=2):
        assert p < q or raised >= other


@given(st.lists(shares, max_size=8), st.floats(0, 1, exclude_max=True))
def test_holm_rejects_step_by_step(p_values: list[float], alpha: float) -> None:
    rejected = 0
    for left, p in zip(range(len(p_values), 0, -1), sorted(p_values), strict=True):
        if left * p > alpha:
            break
        rejected += 1
    assert sum(raised <= alpha for raised in holm(p_values)) == rejected


@st.composite
def _costs(draw: st.DrawFn) -> dict[str, list[float]]:
    instances = draw(st.integers(1, 6))
    cost = st.integers(0, 5).map(float) | st.just(math.inf)
    row = st.lists(cost, min_size=instances, max_size=instances)
    return draw(st.dictionaries(st.sampled_from("abcd"), row, min_size=1))


@given(_costs(), st.floats(1, 10))
def test_a_performance_profile_counts_the_instances_within_a_ratio(
    costs: dict[str, list[float]], ratio: float
) -> None:
    found = performance_profile(costs)
    assert list(found) == list(costs)
    columns = list(zip(*costs.values(), strict=True))
    for idx, (solver, steps) in enumerate(found.items()):
        share = max((share for at, share in steps if at <= ratio), default=0.0)
        within = 0
        for column in columns:
            mine, least = column[idx], min(column)
            within += mine < math.inf and (mine == least or (least > 0 and mine / least <= ratio))
        assert share * len(columns) == pytest.approx(within), solver


def test_a_performance_profile_of_different_instances_is_refused() -> None:
    with pytest.raises(InvalidOption, match="same instances for all solvers, not a 1, b 2"):
        performance_profile({"a": [1], "b": [1, 2]})


@given(st.none() | st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
@example(-2e-309, 2e-311)  # their product is 0
def test_a_primal_gap_is_a_share(value: float | None, reference: float) -> None:
    found = primal_gap(value, reference)
    assert 0 <= found <= 1
    assert (found == 0) == (value == reference) or found < 1e-300
    if value is not None:
        assert found == primal_gap(reference, value)


def test_primal_gaps_by_hand() -> None:
    assert [primal_gap(value, 100) for value in (None, 200, 125, 100, 80, -5)] == [1, 0.5, 0.2, 0, 0.2, 1]
    assert (primal_gap(0, 0), primal_gap(3, 0)) == (0, 1)


_steps = st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=6).map(
    lambda steps: tuple(sorted(steps, key=lambda step: (step[0], -step[1])))
)


@given(_steps, st.integers(0, 40))
def test_a_primal_integral_is_the_sum_over_the_seconds(
    steps: tuple[tuple[int, float], ...], end: int
) -> None:
    naive = 0.0
    for second in range(end):
        level = 1.0
        for time, gap in steps:
            if time <= second:
                level = gap
        naive += level
    assert primal_integral(steps, end) == pytest.approx(naive)


# --- Quantile -----------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]

maybe_infinite = st.floats(0, 1e6) | st.just(math.inf)
samples = st.lists(maybe_infinite, min_size=1, max_size=60)
quantile_shares = st.integers(0, 100).map(lambda percent: percent / 100)


@given(samples, quantile_shares)
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


@given(st.lists(st.tuples(maybe_infinite, maybe_infinite), min_size=1), quantile_shares)
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
