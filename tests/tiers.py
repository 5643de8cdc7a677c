"""Three tiers of tests, by recorded time: for people after each edit, for each submission, before a release.

``--tier fast`` runs what takes at most half a second with 20 examples a law, ``--tier ci`` also what takes
longer but not minutes, with more examples, the same in every run, ``--tier all`` everything with full counts.
Without it everything that was asked for runs, with 20 examples a law: so times are recorded, by
``--record-times``. What is marked ``release`` is left to ``all`` whatever it takes: a further seed or cell
of what another test holds in the shorter tiers.

Times are seconds of CPU of the process that runs the test and of those that it starts and waits for, in
``times.tsv``: those of the test itself, and of the dearest fixture that it shares with others, which whoever
comes first has to make; both count in the first tier. Who is not in it takes less than half a second. A test
that takes far more than its tier allows fails: record the times again, or make it faster.
"""

from __future__ import annotations

import functools
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

T = TypeVar("T")

#: Most seconds of CPU of a test of a tier, as recorded.
LIMITS: Final[Mapping[str, float]] = {"fast": 0.5, "ci": 25.0}
#: Examples of a law; of one that asks for a number of its own, at most so many.
EXAMPLES: Final[Mapping[str | None, int]] = {None: 20, "fast": 20, "ci": 40, "all": 250}
#: A busy machine takes longer; a test that takes more than this times its limit is another test.
_SLACK: Final = 6.0
#: Compiling what a law compiles for itself: kernels that call an inner kernel, on an empty cache.
_COMPILING_S: Final = 10.0

TIMES: Final = Path(__file__).with_name("times.tsv")

_tier: str | None = None
_recorded: dict[str, tuple[float, float]] = {}


def examples(number: int) -> int:
    """Return how many examples a law that asks for so many of its own has in this tier."""
    return number if _tier == "all" else min(number, EXAMPLES[_tier])


def draws(number: int) -> range:
    """Return the seeds of a law that draws by itself: a tenth of so many in shorter tiers, or twenty."""
    return range(number if _tier == "all" else min(number, max(20, number // 10)))


def some(things: Sequence[T]) -> Sequence[T]:
    """Return all of these, in shorter tiers every third one."""
    return things if _tier == "all" else things[::3]


def before_a_release() -> bool:
    """Return whether this is the longest tier, which has all of what the others have a part of."""
    return _tier == "all"


@functools.cache
def recorded_times() -> Mapping[str, tuple[float, float]]:
    """Return the seconds of CPU of tests and of what they share, by id, from half a second on."""
    if not TIMES.is_file():
        return {}
    rows = (line.split("\t") for line in TIMES.read_text(encoding="utf-8").splitlines()[1:])
    return {name: (float(own), float(shared)) for own, shared, name in rows}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of tiers."""
    group = parser.getgroup("tiers")
    group.addoption(
        "--tier", choices=("fast", "ci", "all"), help="run the tests of a tier (see tests/tiers.py)"
    )
    group.addoption(
        "--record-times", action="store_true", help="write the CPU time of each test to times.tsv"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Set the numbers of examples before the laws are imported."""
    global _tier  # noqa: PLW0603 - laws ask for their numbers of examples when they are imported
    _tier = config.option.tier
    fixed = _tier in ("ci", "all")
    config.addinivalue_line("markers", "release: a further case of what another holds, in --tier all only")
    # No deadline: the first call of a jitted kernel compiles it.
    settings.register_profile(
        "tier", max_examples=EXAMPLES[_tier], deadline=None, derandomize=fixed, print_blob=fixed
    )
    settings.load_profile("tier")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how long it took last time."""
    if _tier is None:
        return None
    seconds = config.cache.get(f"tiers/{_tier}", None) if hasattr(config, "cache") else None
    before = "not run here before" if seconds is None else f"{seconds / 60:.0f} min last time"
    return f"tier: {_tier}, {before}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not of the tier."""
    limit = LIMITS.get(_tier or "")
    if limit is not None:
        chosen = [item for item in items if _is_of_tier(item, limit)]
        config.hook.pytest_deselected(items=[*set(items).difference(chosen)])
        items[:] = chosen


def _id(item: pytest.Item) -> str:
    """Return the name of a test, without the group to which pytest-xdist assigns it."""
    groups = [*getattr(item.get_closest_marker("xdist_group"), "args", ())]
    return item.nodeid.removesuffix(f"@{groups[0]}") if groups else item.nodeid


def _is_of_tier(item: pytest.Item, limit: float) -> bool:
    own, shared = recorded_times().get(_id(item), (0.0, 0.0))
    is_benchmark = item.path.is_relative_to(Path(__file__).with_name("perf"))
    is_left = is_benchmark or item.get_closest_marker("release") is not None
    return not is_left and own + (shared if _tier == "fast" else 0.0) <= limit


def _cpu_s() -> float:
    children = os.times()  # on Windows nothing of them is known
    return time.process_time() + children.children_user + children.children_system


#: Seconds of CPU that a fixture took that tests share, by where it is and its name.
_shared: dict[tuple[str, str], float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """Measure what tests share."""
    begin = _cpu_s()
    value = yield
    if fixturedef.scope != "function":
        place = fixturedef.baseid, fixturedef.argname
        _shared[place] = max(_shared.get(place, 0.0), _cpu_s() - begin)
    return value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Measure a test, and fail one that has left its tier.

    Recorded with it is what it shares with others: whichever of them is the first has to make it.
    """
    begin = _cpu_s()
    yield
    seconds = _cpu_s() - begin
    fixtures = getattr(item, "_fixtureinfo", None)
    shared = [
        _shared.get((fixture.baseid, fixture.argname), 0.0)
        for fixtures_of_name in (fixtures.name2fixturedefs.values() if fixtures else ())
        for fixture in fixtures_of_name
    ]
    item.user_properties.append(("cpu_s", (_id(item), seconds, max(shared, default=0.0))))
    limit = LIMITS.get(_tier or "")
    if limit is not None and seconds > _SLACK * limit + _COMPILING_S:
        pytest.fail(f"took {seconds:.1f} s of CPU, in a tier of {limit:g} s: record the times again")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect the times, of whichever process has run the test."""
    if report.when == "call":
        for name, value in report.user_properties:
            if name == "cpu_s" and isinstance(value, (tuple, list)):
                _recorded[value[0]] = value[1], value[2]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the clock."""
    session.config.stash[_BEGUN] = time.perf_counter()


_BEGUN: Final = pytest.StashKey[float]()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keep how long it took, and the times of the tests if that was asked for."""
    config = session.config
    if hasattr(config, "workerinput"):  # one of several processes: the first of them collects
        return
    if _tier is not None and exitstatus == 0 and hasattr(config, "cache"):  # there may be none
        config.cache.set(f"tiers/{_tier}", time.perf_counter() - config.stash[_BEGUN])
    if config.option.record_times:
        times = {**recorded_times(), **_recorded}
        known = [(*seconds, name) for name, seconds in times.items() if sum(seconds) > LIMITS["fast"]]
        rows = sorted(known, key=lambda row: (-round(row[0], 1), row[2]))
        text = "".join(f"{own:.1f}\t{shared:.1f}\t{name}\n" for own, shared, name in rows)
        TIMES.write_text(f"seconds\tshared\ttest\n{text}", encoding="utf-8")
