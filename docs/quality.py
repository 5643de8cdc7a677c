"""Write the page on how far what the instance library knows is from proven, by suite and version.

Before a release, from a checkout::

    python docs/quality.py

It adds the gaps of the library to ``docs/quality.json`` under the version that ``pyproject.toml`` states, and
writes ``docs/quality.md`` from that file. ``--package DIR`` takes the checkout in that folder. Figures of a
version that is not the newest in the file are never changed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from allocsolve.bench import gap
from allocsolve.errors import InvalidOption
from allocsolve.families import family_of
from allocsolve.instances import Library

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PAGE = Path(__file__).with_name("quality.md")
DATA = PAGE.with_suffix(".json")

#: The figures of one version: its name, where they are from, and the rows of its suites.
Version = dict[str, Any]

INTRODUCTION: Final = """# Gaps of each version

How close does each version come to the truth on the [instance library](solvers.md)? `python docs/quality.py`
adds a version before its release and writes this page from `docs/quality.json`. Figures of earlier versions
stay.

The *gap* of a problem is how far the best value on record is above the largest bound on record, relative to
that bound; of rejected jobs, relative to what could be accepted. It is 0 where the bound proves the answer
optimal. Each cell has the mean over the problems of a suite, and how many of them are proven optimal. A dash
stands where a version had no such problems. The objective is the first of its family.

`allocsolve library verify` has the judge recompute what is on record. The seconds are wall time of all runs
that bettered a record, on the machines of their days: 2 processors of an AMD EPYC, shared with other work.
"""


def main() -> None:
    """Measure a checkout, and write data and page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("--package", type=Path, default=here, metavar="DIR", help="the checkout to measure")
    args = parser.parse_args()
    versions = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else []
    try:
        versions = with_version(
            versions, {"version": version_of(args.package)}
        )  # before the work, not after it
        versions = with_version(versions, measure(args.package.resolve()))
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


def version_of(package: Path) -> str:
    """Return the version that a checkout states."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def measure(package: Path) -> Version:
    """Return what the library of a checkout knows."""
    git = ("git", "-C", str(package))
    commit = _output(*git, "log", "-1", "--format=%h %cs").split()
    if _output(*git, "status", "--porcelain", "--", "allocsolve", "pyproject.toml"):
        msg = f"{package} is not as it was committed: the figures would be of no commit"
        raise InvalidOption(msg)
    rows, seconds = _known(Library(package / "allocsolve" / "instances" / "library"))
    return {
        "version": version_of(package),
        "commit": commit[0],
        "committed": commit[1],
        "seconds": round(seconds),
        "suites": rows,
    }


def _output(*command: str) -> str:
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")  # noqa: S603 - git
    return done.stdout.strip()


def _gap(value: float, bound: float, kind: str, objective: str) -> float:
    if value == float("inf") or bound == float("-inf"):
        return float("inf")
    return gap(value, bound, kind=kind, objective=objective)


def _known(library: Library) -> tuple[list[dict[str, Any]], float]:
    """Return the rows of all suites and objectives, and the seconds of the runs that bettered them."""
    gaps = defaultdict(list)
    runs = set()  # a run that bettered value and bound stands in a history twice
    for name in library.folders:
        suite = library[name]
        families = {problem.name: family_of(problem) for problem in suite.problems()}
        for row in suite.best_known():
            family = families[row.instance]
            if row.objective == family.objectives[0]:
                gaps[name, row.objective].append(_gap(row.upper, row.lower, family.kind, row.objective))
                runs |= {(row.instance, entry.date, entry.solver, entry.seconds) for entry in row.history}
    return [summary(*key, some) for key, some in gaps.items()], sum(run[-1] for run in runs)


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
    names = ("version", "commit", "committed", "seconds")
    origins = ([str(version[name]) for name in names] for version in versions)
    return "\n".join(
        (INTRODUCTION, _table(("version", "commit", "of", "seconds"), origins), gap_table(versions))
    )


def gap_table(versions: Sequence[Version]) -> str:
    """Return the table of all suites, with a column for each version."""
    rows: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for version in reversed(versions):  # suites in the order of the newest
        for row in version["suites"]:
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
