"""Tiers of tests: what belongs to one by its recorded time, and what has left it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from offenders import all_offenders

if TYPE_CHECKING:
    from collections.abc import Sequence


pytest_plugins = ["pytester"]

TESTS = Path(__file__).resolve().parents[1]

BUSY = """
    import time

    def test_quick():
        pass

    def test_slow():
        end = time.process_time() + 0.8
        while time.process_time() < end:
            pass
"""

CONFTEST = """
    from pathlib import Path

    pytest_plugins = ["tiers"]

    def pytest_configure():
        import tiers

        tiers.TIMES = Path(__file__).with_name("times.tsv")
        tiers._COMPILING_S, tiers._SLACK = 0.0, 1.0
"""


@pytest.fixture
def made(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder whose tests have tiers."""
    pytester.makeconftest(CONFTEST)
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    return pytester


def _outcomes(pytester: pytest.Pytester, *options: str) -> tuple[dict[str, int], Sequence[str]]:
    result = pytester.runpytest_subprocess("-p", "no:xdist", "-p", "no:cov", *options)
    return result.parseoutcomes(), result.outlines


def test_what_is_recorded_as_slow_is_left_to_a_longer_tier(made: pytest.Pytester) -> None:
    made.makepyfile(BUSY)
    assert _outcomes(made, "--record-times")[0] == {"passed": 2}
    recorded = (made.path / "times.tsv").read_text(encoding="utf-8")
    assert "test_slow" in recorded
    assert "test_quick" not in recorded
    assert _outcomes(made, "--tier", "fast")[0] == {"passed": 1, "deselected": 1}
    assert _outcomes(made, "--tier", "ci")[0] == {"passed": 2}


def test_a_test_that_has_left_its_tier_fails(made: pytest.Pytester) -> None:
    made.makepyfile(BUSY)
    outcomes, lines = _outcomes(made, "--tier", "fast")
    assert outcomes == {"passed": 1, "failed": 1}
    assert any("in a tier of 0.5 s: record the times again" in line for line in lines)


def test_a_tier_says_how_long_it_took_last_time(made: pytest.Pytester) -> None:
    made.makepyfile("def test_quick(): pass")
    assert any("tier: all, not run here before" in line for line in _outcomes(made, "--tier", "all")[1])
    assert any("tier: all, 0 min last time" in line for line in _outcomes(made, "--tier", "all")[1])


def test_all_that_fails_is_told_with_its_place() -> None:
    def look(number: int) -> None:
        if number == 1:
            assert number > 7
        if number == 2:
            warnings.warn("two", stacklevel=1)
        if number == 4:
            with pytest.raises(KeyError):
                len("")

    with pytest.raises(AssertionError) as failure, all_offenders() as offender:  # noqa: PT012 - one list
        for number in range(5):
            with offender(f"number {number}"):
                look(number)
    said = str(failure.value)
    head, *others = said.split("\nnumber ")
    assert head == "3 of 5 fail"
    assert [text.partition(": ")[0] for text in others] == ["1", "2", "4"]
    for text, told in zip(others, ("AssertionError: assert 1 > 7", "two", "DID NOT RAISE"), strict=True):
        assert told in text
        assert "tests/unit/test_tiers.py:" in text


def test_what_holds_for_all_passes_and_an_empty_list_does_not() -> None:
    with all_offenders() as offender, offender("the only one"):
        pass
    with pytest.raises(AssertionError, match="nothing was looked at"), all_offenders():
        pass


@pytest.mark.parametrize("leaving", [pytest.skip.Exception, KeyboardInterrupt])
def test_what_is_no_failure_is_passed_on(leaving: type[BaseException]) -> None:
    with pytest.raises(leaving), all_offenders() as offender, offender("the only one"):
        raise leaving
