"""Measure what a version of this package reaches on the instance library, and write the page on it.

Before a release, from a checkout whose kernels are compiled (``make kernels``)::

    python docs/quality.py

It runs a solver of each family on all problems of the library, adds the figures to ``docs/quality.json``
under the version that ``pyproject.toml`` states, and writes ``docs/quality.md`` from that file. Checkouts
that are named are measured instead, on the same problems and side by side: whatever else the machine does
then takes from all alike. Figures of a version that is not the newest in the file are never changed.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from allocsolve.bench import gap
from allocsolve.errors import InvalidOption
from allocsolve.families import family_of
from allocsolve.instances import Library
from allocsolve.version import machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PAGE = Path(__file__).with_name("quality.md")
DATA = PAGE.with_suffix(".json")

#: What each run may take: one worker, so that two versions can be measured on two processors.
SECONDS, WORKERS, SEED = 5, 1, 0

#: The solver that is run, of those that give an answer and a bound: the one that proves most within seconds.
SOLVERS: Final = {
    "evolution": "conflict-search",
    "partition": "branch-and-bound",
    "workload": "prices",
    "reservation": "prices",
    "placement": "tree-knapsack",
}

#: The figures of one version: its name, where they are from, and the rows of its suites.
Version = dict[str, Any]

INTRODUCTION: Final = """# Gaps by version

How good is this version on the [instance library](solvers.md), and was the one before it as good?
`python docs/quality.py` measures it before each release and writes this page from `docs/quality.json`.
Figures of earlier versions stay as they were measured.

The *gap* of an answer is how far its value is above a lower bound, relative to that bound; of rejected jobs,
relative to what could be accepted. It is 0 where the bound proves the answer optimal. Each cell has the mean
over the problems of a suite, and how many of them are proven optimal. The objective is the first of its
family, and all versions are measured on the same problems.
"""

RUNS: Final = """
## Within {seconds} seconds

A solver of each family ({solvers}) has {seconds} s for each problem, {workers} worker and seed {seed}. Value
and bound are those of this run alone; what the library knows of the problem does not count. Versions that
were measured on the same day ran at the same time, on a processor each. A limit in seconds buys less where
other work is done beside it: the table of versions has the seconds of CPU. Runs of one version also differ:
eight runs left a mean of 11.5 to 13.9 % open on `lublin-load`, whichever version it was.
"""

KNOWN: Final = """
## As the library knows it

The best value and the largest bound that the library of the version has on record, whoever found them and
however long it took; `allocsolve library verify` has the judge recompute them. A dash means that it had no
such problems.
"""


def main() -> None:
    """Measure a checkout, and write data and page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("packages", type=Path, nargs="*", default=[here], help="the checkouts to measure")
    packages = [package.resolve() for package in parser.parse_args().packages]
    versions = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else []
    try:
        # What cannot be added is refused before the work, not after it.
        with_versions(versions, [origin(package) for package in packages])
        with ThreadPoolExecutor(len(packages)) as executor:
            versions = with_versions(versions, list(executor.map(measure, packages)))
    except InvalidOption as error:
        parser.error(str(error))
    DATA.write_text(data_text(versions), encoding="utf-8")
    PAGE.write_text(page(versions), encoding="utf-8")


def with_version(versions: Sequence[Version], measured: Version) -> list[Version]:
    """Return the versions with one that was measured: the newest again, or a new one behind it.

    Raises
    ------
    InvalidOption
        If it is neither.
    """
    names = [version["version"] for version in versions]
    if measured["version"] in names[:-1]:
        msg = f"{measured['version']} was measured before {names[-1]}: its figures stay"
        raise InvalidOption(msg)
    kept = [version for version in versions if version["version"] != measured["version"]]
    return [*kept, measured]


def with_versions(versions: Sequence[Version], measured: Iterable[Version]) -> list[Version]:
    """Return the versions with those that were measured, each added as by `with_version`."""
    return functools.reduce(with_version, measured, list(versions))


def origin(package: Path) -> Version:
    """Return the version that a checkout states, and its commit.

    Raises
    ------
    InvalidOption
        If its code is not that of the commit.
    """
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    git = ("git", "-C", str(package))
    commit, day = _output(*git, "log", "-1", "--format=%h %cs").split()
    if _output(*git, "status", "--porcelain", "--", "allocsolve", "pyproject.toml"):
        msg = f"{package} is not as it was committed: the figures would be of no commit"
        raise InvalidOption(msg)
    return {"version": str(project["version"]), "commit": commit, "committed": day}


def measure(package: Path) -> Version:
    """Run the solvers of a checkout, and read what its library knows."""
    stated = origin(package)
    began = time.perf_counter()
    runs, cpu_seconds = _runs(package)
    known = _known(package)
    facts = {name: fact for name, fact in machine().items() if name != "platform"}
    return {
        **stated,
        "measured": dt.datetime.now(dt.UTC).date().isoformat(),
        "machine": facts,
        "limit_s": SECONDS,
        "workers": WORKERS,
        "seed": SEED,
        "seconds": round(time.perf_counter() - began),
        "cpu_seconds": round(cpu_seconds),
        "runs": [summary(*key, gaps) for key, gaps in runs.items()],
        "known": [summary(*key, gaps) for key, gaps in known.items()],
    }


def _output(*command: str) -> str:
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")  # noqa: S603 - git
    return done.stdout.strip()


def _runs(package: Path) -> tuple[dict[tuple[str, str], list[float]], float]:
    """Return the gaps of runs by suite and objective, infinite without value or bound, and CPU seconds."""
    library = Library()
    suites: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in library.folders:
            suite = library[name]
            for member, problem in zip(suite.members, suite.problems(), strict=True):
                folder = Path(scratch) / family_of(problem).kind
                folder.mkdir(exist_ok=True)
                shutil.copy(library.root / name / f"{member.instance}.json", folder)
                suites[member.instance] = name
        scored = [score(package, folder) for folder in sorted(Path(scratch).iterdir())]
    rows = [row for of_family, _ in scored for row in of_family]
    found = {row["instance"]: (row["objective"], gap_of(row)) for row in rows}
    gaps = defaultdict(list)
    for instance, suite_name in suites.items():
        objective, size = found[instance]
        gaps[suite_name, objective].append(size)
    return gaps, sum(seconds for _, seconds in scored)


def gap_of(row: Mapping[str, str]) -> float:
    """Return the gap of a row of ``scores.csv`` by its own value and bounds; infinite without one of them."""
    bounds = (row["bound"], row["certified_bound"], row["combinatorial_bound"])
    value, bound = float(row["value"] or "inf"), max(float(bound or "-inf") for bound in bounds)
    return _gap(value, bound, row["kind"], row["objective"])


def _gap(value: float, bound: float, kind: str, objective: str) -> float:
    if value == float("inf") or bound == float("-inf"):
        return float("inf")
    return gap(value, bound, kind=kind, objective=objective)


def score(package: Path, problems: Path) -> tuple[list[dict[str, str]], float]:
    """Return what a checkout writes of the problems of a family: rows of ``scores.csv``; and CPU seconds."""
    solver = SOLVERS[problems.name]
    options = {
        "--solvers": solver,
        "--baseline": solver,
        "--seconds": SECONDS,
        "--workers": WORKERS,
        "--seed": SEED,
        "--out": problems / "out",
    }
    stated = [text for pair in options.items() for text in map(str, pair)]
    command = [sys.executable, "-m", "allocsolve", "score", str(problems), *stated]
    with tempfile.TemporaryDirectory() as empty:  # nothing of the present folder is imported
        process = subprocess.Popen(command, cwd=empty, env={**os.environ, "PYTHONPATH": str(package)})  # noqa: S603 - our own command line
        _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        msg = f"{package} could not score the problems of {problems.name}"
        raise InvalidOption(msg)
    with (problems / "out" / "scores.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)), usage.ru_utime + usage.ru_stime


def _known(package: Path) -> dict[tuple[str, str], list[float]]:
    """Return the gaps of what the library of a checkout knows, by suite and objective."""
    library = Library(package / "allocsolve" / "instances" / "library")
    gaps = defaultdict(list)
    for name in library.folders:
        suite = library[name]
        families = {problem.name: family_of(problem) for problem in suite.problems()}
        for row in suite.best_known():
            family = families[row.instance]
            if row.objective == family.term_names[0]:
                gaps[name, row.objective].append(_gap(row.upper, row.lower, family.kind, row.objective))
    return gaps


def summary(suite: str, objective: str, gaps: Sequence[float]) -> dict[str, Any]:
    """Return the row of a suite: the mean of its finite gaps, how many are 0, and how many infinite."""
    finite = [size for size in gaps if size < float("inf")]
    return {
        "suite": suite,
        "objective": objective,
        "problems": len(gaps),
        "optimal": gaps.count(0),
        "without_gap": len(gaps) - len(finite),
        "gap": round(statistics.fmean(finite), 6) if finite else None,
    }


def data_text(versions: Iterable[Version]) -> str:
    """Return the data as they are kept: a line for each field, and one for each row."""
    texts = []
    for version in versions:
        fields = (f'  "{name}": {_field(value)}' for name, value in version.items())
        texts.append("{\n" + ",\n".join(fields) + "\n}")
    return "[" + ",\n".join(texts) + "]\n"


def _field(value: object) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"    {json.dumps(row)}" for row in value) + "\n  ]"
    return json.dumps(value)


def page(versions: Sequence[Version]) -> str:
    """Return the page of the data."""
    newest = versions[-1]
    named = ", ".join(f"`{solver}` for {kind}" for kind, solver in SOLVERS.items())
    limits = {
        "solvers": named,
        "seconds": newest["limit_s"],
        "workers": newest["workers"],
        "seed": newest["seed"],
    }
    return "".join(
        (
            INTRODUCTION,
            "\n## Versions\n\n",
            _table(
                ("version", "commit", "of", "measured", "seconds", "of them CPU", "machine"),
                map(_origin, versions),
            ),
            RUNS.format(**limits),
            "\n",
            gap_table(versions, "runs"),
            KNOWN,
            "\n",
            gap_table(versions, "known"),
        )
    )


def _origin(version: Version) -> tuple[str, ...]:
    facts = dict(version["machine"])
    where = f"{facts.pop('processor')}, {facts.pop('cpus')} processors"
    backends = ", ".join(f"{name} {fact}" for name, fact in facts.items())
    named = (
        version[name] for name in ("version", "commit", "committed", "measured", "seconds", "cpu_seconds")
    )
    return (*map(str, named), f"{where}; {backends}")


def gap_table(versions: Sequence[Version], what: str) -> str:
    """Return the table of all suites, with a column for each version."""
    rows: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for version in reversed(versions):  # suites in the order of the newest
        for row in version[what]:
            rows[row["suite"], row["objective"]][version["version"]] = row
    names = [version["version"] for version in versions]
    lines = (
        (
            *key,
            str(max(row["problems"] for row in by_version.values())),
            *(_cell(by_version.get(name)) for name in names),
        )
        for key, by_version in rows.items()
    )
    return _table(("suite", "objective", "problems", *names), lines)


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "-"
    share = "-" if row["gap"] is None else f"{100 * row['gap']:.1f} %"
    parts = [share, f"{row['optimal']} optimal"]
    if row["without_gap"]:
        parts.append(f"{row['without_gap']} without")
    return ", ".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, ["---"] * len(heads), *rows))


if __name__ == "__main__":
    main()
