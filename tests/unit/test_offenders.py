"""Tests over long lists tell all that fails."""

from __future__ import annotations

import warnings

import pytest
from offenders import all_offenders


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
        assert "tests/unit/test_offenders.py:" in text


def test_what_holds_for_all_passes_and_an_empty_list_does_not() -> None:
    with all_offenders() as offender, offender("the only one"):
        pass
    with pytest.raises(AssertionError, match="nothing was looked at"), all_offenders():
        pass


@pytest.mark.parametrize("leaving", [pytest.skip.Exception, KeyboardInterrupt])
def test_what_is_no_failure_is_passed_on(leaving: type[BaseException]) -> None:
    with pytest.raises(leaving), all_offenders() as offender, offender("the only one"):
        raise leaving
