"""The commands on the instance library: list, verify, improve, build."""

from __future__ import annotations

import math
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve import bench, instances
from allocsolve.cli import options as opt
from allocsolve.cli.files import make_folder
from allocsolve.cli.output import count_bar, remark, say, show_table, write_json
from allocsolve.cli.parser import add_command, commands_of
from allocsolve.instances import PACKAGED
from allocsolve.model import Budget
from allocsolve.pictures.chart import counted, short_number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from allocsolve.bench import Change
    from allocsolve.instances import Suite


def list_suites(args: argparse.Namespace) -> int:
    """List suites and selections: how many instances, how many optima proven and not, by objective."""
    listed = [(suite, _counts(suite)) for suite in instances.Library(args.library).values()]
    if args.json:
        suites = [
            {"name": s.name, "summary": s.summary, "instances": len(s.members), "objectives": counts}
            for s, counts in listed
        ]
        write_json({"library": args.library, "suites": suites})
        return 0
    rows = [
        (*((s.name, str(len(s.members))) if first else ("", "")), *cells, s.summary if first else "")
        for s, counts in listed
        for first, cells in _count_cells(counts)
    ]
    show_table(("suite", "problems", "objective", "proven", "open", ""), rows, texts=(0, 2, 5))
    return 0


def _counts(suite: Suite) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for row in suite.best_known():
        by_status = counts.setdefault(row.objective, {"optimal": 0, "open": 0})
        by_status["optimal" if row.optimal else "open"] += 1
    return counts


def _count_cells(counts: dict[str, dict[str, int]]) -> list[tuple[bool, tuple[str, str, str]]]:
    """Return whether it is the first, and objective, proven and open, of each objective."""
    cells = [(name, str(count["optimal"]), str(count["open"])) for name, count in counts.items()]
    return [(idx == 0, cell) for idx, cell in enumerate(cells or [("-", "0", "0")])]


def verify(args: argparse.Namespace) -> int:
    """Have the judge recompute what is known of suites; the exit status says whether all of it holds."""
    library = instances.Library(args.library)
    suites = [library[name] for name in args.suites or library]
    faults: list[str] = []
    with count_bar("verifying") as progress:
        for idx, suite in enumerate(suites):
            progress(idx, len(suites), suite.name)
            faults += bench.verify_suite(suite)
    faults = list(dict.fromkeys(faults))  # an instance may be in several suites
    members = {member for suite in suites for member in suite.members}
    claimed, bounds = bench.claimed_bounds([] if faults else suites)
    if args.json:
        counts = {"instances": len(members), "bounds": bounds, "bounds_claimed": claimed}
        write_json({"library": args.library, **counts, "faults": faults})
    else:
        say(*faults)
        count = counted(len(members), "instance")
        say(f"{count}: {counted(len(faults), 'fault')}" if faults else f"{count}: all that is stated holds")
        if not faults:
            recomputed = f"{bounds - claimed} recomputed"
            say(f"{bounds} lower bounds: {recomputed}, {claimed} as claimed by exact solvers")
    return 1 if faults else 0


def improve(args: argparse.Namespace) -> int:
    """Run solvers on what is open, and write down what the judge confirms."""
    library = instances.Library(args.library)
    suites = [library[name] for name in dict.fromkeys(args.suites)]
    for folder in dict.fromkeys(member.suite for suite in suites for member in suite.members):
        make_folder(library.root / folder)
        make_folder(library.root / folder / "solutions")
    changes: list[Change] = []
    budget = Budget(seconds=args.seconds, workers=args.workers)
    try:
        with (
            _journal(library.root) as store,
            count_bar("improving") as progress,
            bench.open_executor("local", jobs=1) as cells,
        ):
            for change in bench.improve_suites(
                suites,
                args.solvers,
                objective=args.objective,
                budget=budget,
                store=store,
                executor=cells,
                progress=progress,
                announce=progress.announce,
            ):
                changes.append(change)
                if not args.json:
                    say(*_change_lines(change))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"what the {counted(len(changes), 'run')} before found is in {library.root}, "
            "the same command goes on from there"
        ) from None
    refused = [change for change in changes if change.error]
    if args.json:
        write_json({"library": args.library, "changes": [_change_fields(change) for change in changes]})
    else:
        say(_summary(changes, refused))
    return 1 if refused else 0


@contextmanager
def _journal(root: Path) -> Iterator[bench.RecordStore]:
    """Open the records of a command that was interrupted; when the command is done, nobody needs them."""
    path = root / "improve.sqlite"
    finished = False
    try:
        with bench.RecordStore(path, tell=remark) as store:
            yield store
            finished = True
    finally:
        if finished or not len(store):
            path.unlink()


def _change_lines(change: Change) -> list[str]:
    """Return what a run changed, or why it may not, as at most one line."""
    place = f"{change.instance}: {change.solver}"
    if change.error:
        return [f"{place} refused: {change.error}"]
    if change.unsupported:
        return [f"{place} does not apply: {change.unsupported}"]
    before, after = change.before, change.after
    parts = [
        f"{what} {short_number(new)}" + (f", was {short_number(old)}" if math.isfinite(old) else "")
        for what, old, new in (
            (change.objective, before.upper, after.upper),
            ("bound", before.lower, after.lower),
        )
        if new != old
    ]
    return [f"{place}: {'; '.join(parts)}{', optimal' if after.optimal else ''}"] if parts else []


def _summary(changes: Sequence[Change], refused: Sequence[Change]) -> str:
    solutions = sum(change.after.upper < change.before.upper for change in changes)
    bounds = sum(change.after.lower > change.before.lower for change in changes)
    proven = sum(change.after.optimal for change in changes)
    passed = sum(bool(change.unsupported) for change in changes)
    return (
        f"{counted(len(changes), 'run')}: {counted(solutions, 'better solution')}, "
        f"{counted(bounds, 'better bound')}, {proven} proven optimal, {len(refused)} refused"
        + (f", {passed} of a solver that does not apply" if passed else "")
    )


def _change_fields(change: Change) -> dict[str, object]:
    return {
        "instance": change.instance,
        "objective": change.objective,
        "solver": change.solver,
        "lower": change.after.lower,
        "upper": change.after.upper,
        "optimal": change.after.optimal,
        "entries": change.after.history[len(change.before.history) :],
        "error": change.error,
        "unsupported": change.unsupported,
    }


def build(args: argparse.Namespace) -> int:
    """Write the problems of the library, where they are missing, and its index."""
    make_folder(args.library)
    written = bench.build_library(args.library)
    if args.json:
        write_json({"library": args.library, "written": written})
    else:
        say(f"{counted(written, 'problem')} written to {args.library}")
    return 0


def add_library(parser: argparse.ArgumentParser) -> None:
    """Add one command per thing to do with the instance library below `library`."""
    actions = commands_of(parser, "action")

    def action(name: str, run: Callable[[argparse.Namespace], int], summary: str) -> argparse.ArgumentParser:
        added = add_command(actions, name, run, summary)
        help_text = "the folder of the library (default: that of the package)"
        added.add_argument("--library", type=Path, default=PACKAGED, metavar="DIR", help=help_text)
        return added

    action("list", list_suites, "list the suites, and how many of their optima are proven")
    added = action("verify", verify, "have the judge recompute all that is known of suites")
    added.add_argument("suites", nargs="*", metavar="SUITE", help="names of suites (default: all)")
    added = action("improve", improve, "look for better solutions and bounds of open instances")
    added.add_argument("suites", nargs="+", metavar="SUITE", help="names of suites")
    help_text = "solvers to run besides the exact baseline of each kind of problems"
    added.add_argument("--solvers", type=opt.solvers, default=[], metavar="A,B,...", help=help_text)
    opt.add_objective(added, added)
    opt.add_budget(added, "time limit per problem and solver in seconds (default: %(default)s)", 10.0)
    action("build", build, "write the problems that the library is made of, where they are missing")
