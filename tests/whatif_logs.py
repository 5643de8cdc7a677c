"""A log of a queue for the tests of `whatif`."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
from cli_tools import in_this_process
from first_fit import in_order

from allocsolve.instances.generators.examples import random_workload
from allocsolve.model import Budget
from allocsolve.report.logs import findings

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES = 16
PROBLEM = random_workload(3, 60, NODES, load=1.2)
FIRST = datetime(2024, 1, 10, 20, tzinfo=UTC)
USERS = ("ann", "bob", "cem")
SECONDS = ("--seconds", "600", "--workers", "1")


def fixed_work() -> Iterator[None]:
    """Searches of `whatif` end by their iterations, and in this process: everywhere they find the same."""
    with pytest.MonkeyPatch.context() as patch, in_this_process():
        patch.setattr(findings, "Budget", partial(Budget, iterations=500))
        yield


def sacct(delay: float = 0, *, name: str = "7", limits: bool = False) -> str:
    """A log whose jobs started in order of submission, each so many seconds later than it could have.

    The limits of jobs differ if that is asked for.
    """
    rows = ["JobID|User|Submit|Start|End|Elapsed|Timelimit|NNodes|State"]
    starts = in_order(PROBLEM).first_starts + delay
    for idx, (job, start) in enumerate(zip(PROBLEM.jobs, starts.tolist(), strict=True)):
        limit = job.runtime + 900 * (idx % 7) if limits else 80_000
        seconds = job.submit, start, start + job.runtime
        times = "|".join(f"{FIRST + timedelta(seconds=one):%Y-%m-%dT%H:%M:%S}" for one in seconds)
        spans = "|".join(str(timedelta(seconds=one)).replace(" days, ", "-") for one in (job.runtime, limit))
        rows.append(f"{name if idx == 50 else idx}|{USERS[idx % 3]}|{times}|{spans}|{job.nodes}|COMPLETED")
    return "\n".join([*rows, ""])


def assert_links(page: str) -> None:
    """Each place of a page has a name of its own, and links lead to these and to nothing outside."""
    places = re.findall(r' id="([^"]+)"', page)
    assert len({*places}) == len(places)
    assert {link.removeprefix("#") for link in re.findall(r'href="([^"]*)"', page)} <= {*places}


def assert_no_jargon(page: str) -> None:
    """Operators find none of our words before the section on where figures come from."""
    shown = html.unescape(re.sub(r"<(style|script)>.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL))
    shown = shown[: shown.index("Where the figures come from")].lower()
    jargon = ("turnaround", "makespan", "clairvoyant", "dual", "objective", "regret", "heuristic")
    assert not [word for word in jargon if word in shown]
