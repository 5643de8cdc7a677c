"""Tests of one rule over a long list: everything that breaks the rule is told at once."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def all_offenders() -> Iterator[Callable[[str], AbstractContextManager[None]]]:
    """Look at everything on a list and fail at the end, with all that has failed.

    What is yielded is called with the name of one thing on the list. It gives a context, and an exception
    in it is told under that name, with the last place in this repository that it came through. A list with
    nothing on it fails: its rule is not tested.

    Raises
    ------
    AssertionError
        With one paragraph for each offender.

    Examples
    --------
    >>> with all_offenders() as offender:
    ...     for number in (2, 3, 4):
    ...         with offender(f"the number {number}"):
    ...             assert number % 2 == 0, "is odd"
    Traceback (most recent call last):
    AssertionError: 1 of 3 fail
    the number 3: AssertionError: is odd
    """
    found: list[str] = []
    names: list[str] = []

    @contextmanager
    def offender(name: str) -> Iterator[None]:
        names.append(name)
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - whatever it is, it is told
            found.append(f"{name}: {_place(error)}{type(error).__name__}: {error}")

    yield offender
    if not names:
        msg = "nothing was looked at"
        raise AssertionError(msg)
    if found:
        msg = "\n".join([f"{len(found)} of {len(names)} fail", *found])
        raise AssertionError(msg)


def _place(error: BaseException) -> str:
    """Return the file and line where an exception left the code of this repository."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT)]
    # An environment of Python may stand inside the repository.
    own = [frame for frame in own if frame.filename != __file__ and "site-packages" not in frame.filename]
    if not own:
        return ""
    return f"{Path(own[-1].filename).relative_to(ROOT)}:{own[-1].lineno}: "
