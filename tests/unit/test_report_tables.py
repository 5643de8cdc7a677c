"""Tables of reports: headlines, order, what counts as a failure."""

from __future__ import annotations

import math

from hypothesis import given, strategies as st
from study_tools import row, timed_out

from allocsolve.model import Limit
from allocsolve.report import examine, markdown


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
