"""Broken input of every kind: valid files and command lines, each spoilt by a few random changes.

A case is drawn from its number alone, so that any can be run again: ``python tests/fuzz_worker.py 17``.
"""

from __future__ import annotations

import functools
import gzip
import json
import random
import sqlite3
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fuzz_changes import spoilt, spoilt_text, spoilt_words
from library_tools import KLEIN, MESH, small_library
from sample_records import PROBLEM, VARIANTS

from allocsolve.bench import RecordStore
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import digest, problem_document, solution_document, write_problem, write_solution
from allocsolve.model import Budget, Partition

if TYPE_CHECKING:
    from collections.abc import Callable

SEED: Final = 2026

#: A log of sacct with a step, an array, a job that was resized and one that never ran.
SACCT: Final = """\
JobID|User|Submit|Start|End|Elapsed|Timelimit|AllocNodes|State
1|u|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T01:01:00|01:00:00|02:00:00|4|COMPLETED
1.batch||2024-01-01T00:01:00|2024-01-01T00:01:00|2024-01-01T01:01:00|01:00:00||4|COMPLETED
2_7|v|1704067300|1704067400|1704067500|100|1-00|9|COMPLETED
3|v|2024-01-01T00:03:00|Unknown|Unknown|00:00:00|UNLIMITED|0|PENDING
4|u|2024-01-01T00:05:00|2024-01-01T02:00:00|2024-01-01T02:10:00|00:10:00|30|2|RESIZING
4|u|2024-01-01T00:05:00|2024-01-01T02:10:00|2024-01-01T02:30:00|00:20:00|30|1|COMPLETED
"""


@dataclass(frozen=True)
class Case:
    """A command line, and the files that it may name, in a folder of its own."""

    number: int
    kind: str
    argv: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""
    #: Names of pipes into which nobody writes.
    pipes: tuple[str, ...] = ()


def _text(document: object) -> bytes:
    return json.dumps(document, indent=1).encode()


def _file(write: Callable[[Path], object], name: str = "file") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def _records(path: Path) -> None:
    with RecordStore(path) as store:
        for record in VARIANTS:
            store.append(record, PROBLEM, None)
    with sqlite3.connect(path) as base:  # as after `study run`: one file, of which everything may be changed
        base.execute("PRAGMA journal_mode = DELETE")
        for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            base.execute(f"DROP TRIGGER {name}")
    base.close()


@functools.cache
def _valid() -> dict[str, bytes]:
    """Return files of every format, by the names that commands give them."""
    answer = ListScheduling()(KLEIN[0], Budget()).answer
    assert answer is not None
    square = Partition([2, 3, 6, 7])  # type: ignore[arg-type]  # what arrays are made of
    jobs = "".join(
        f"{n} {9 * n}.5 0 {50 + n} {n} -1 -1 {n} 90 -1 1 1 1 -1 -1 -1 -1 -1\n" for n in range(1, 9)
    )
    log = f"; MaxProcs: 9\n; Computer: one\n;\n{jobs}"
    study = """suites = ["p.json", "q.json"]
solvers = ["noX", "growth(seeds=all)"]
seeds = [0, 1]
memory_mb = 2000
set = { expand_limit = [1, 1.5] }
[objectives]
evolution = "completion,waste"
[[budgets]]
seconds = 1.5
workers = 2
iterations = 100
"""
    names = [("p0", "evolution", "noX"), ("p1", "evolution", "noX")]
    gate = {
        "format": "allocsolve-gate/1",
        "suite": "tiny",
        "solvers_asked": ["noX"],
        "budget": {"seconds": 60, "iterations": 200, "seed": 0},
        "time_factor": 1.5,
        "references": dict.fromkeys(("walk", "scan", "sort", "floats", "sweep", "interpreter"), 1.5),
        "problems": [{"problem": p, "kind": kind, "digest": "0" * 64, "bound": 5} for p, kind, _ in names],
        "solvers": [{"kind": "evolution", "solver": "noX", "mean_gap": 0.1, "timed_on": None, "time": None}],
        "results": [
            {"problem": p, "solver": solver, "status": "feasible", "value": 9, "bound": None}
            for p, _, solver in names
        ],
    }
    best = {
        "format": "allocsolve-best-known/1",
        "rows": [
            {
                "instance": "klein-0",
                "objective": "makespan",
                "digest": digest(KLEIN[0]),
                "lower": 5,
                "upper": None,
                "status": "open",
                "history": [
                    {
                        "kind": "bound",
                        "value": 5,
                        "date": "2026-11-20",
                        "solver": "Fake()",
                        "versions": {"allocsolve": "0.1.0"},
                        "seconds": 0.5,
                    }
                ],
            }
        ],
    }
    return {
        "p.json": _text(problem_document(KLEIN[0])),
        "q.json": _text(problem_document(MESH)),
        "p.csv": _file(lambda path: write_problem(KLEIN[0], path), "p.csv"),
        "q.csv": _file(lambda path: write_problem(MESH, path), "q.csv"),
        "a.json": _text(solution_document(KLEIN[0], answer, {"solver": "noX"})),
        "b.json": _text(solution_document(MESH, square, {})),
        "a.csv": _file(lambda path: write_solution(path, KLEIN[0], answer, {}), "a.csv"),
        "b.csv": _file(lambda path: write_solution(path, MESH, square, {}), "b.csv"),
        "log.swf": log.encode(),
        "log.txt": SACCT.encode(),
        "log.swf.gz": gzip.compress(log.encode(), mtime=0),
        "study.toml": study.encode(),
        "gate.json": _text(gate),
        "best_known.json": _text(best),
        "library.json": _file(_index),
        "s.sqlite": _file(_records),
    }


def _index(path: Path) -> None:
    (small_library(path.parent / "library").root / "library.json").replace(path)


# --- kinds of cases ------------------------------------------------------------------------------------

SOLVER: Final = {"p": "noX", "q": "growth"}


def _problem(rng: random.Random) -> tuple[tuple[str, ...], str]:
    name = rng.choice(("p.json", "p.json", "q.json", "q.json", "p.csv", "q.csv"))
    answer = {"p": "a.json", "q": "b.json"}[name[0]]
    solver = SOLVER[name[0]]
    return rng.choice(
        (
            ("solve", name, "--solver", solver, "--seconds", "1", "--out", "out.json", "--plot", "out.svg"),
            ("solve", name, "--solver", solver, "--seconds", "1", "--json"),
            ("check", name, answer),
            ("score", name, "--solvers", solver, "--seconds", "1", "--out", "out", "--expand-limit", "9"),
        )
    ), name


def _answer(rng: random.Random) -> tuple[tuple[str, ...], str]:
    problem, name = rng.choice(
        (("p.json", "a.json"), ("q.json", "b.json"), ("p.json", "a.csv"), ("q.json", "b.csv"))
    )
    return ("check", problem, name, *rng.choice(((), ("--json",)))), name


def _log(rng: random.Random) -> tuple[tuple[str, ...], str]:
    name = rng.choice(("log.swf", "log.swf.gz", "log.txt"))
    options = ("sacct", name, "--nodes", "9") if name == "log.txt" else ("swf", name)
    return ("import", *options, "--recorded", "answer.json", "--out", "out.json"), name


def _study(rng: random.Random) -> tuple[tuple[str, ...], str]:
    del rng
    return ("study", "run", "study.toml", "--executor", "no-such"), "study.toml"


def _gate(rng: random.Random) -> tuple[tuple[str, ...], str]:
    return (
        "gate",
        "--baseline",
        "gate.json",
        "--suite",
        "no-such",
        *rng.choice(((), ("--update",))),
    ), "gate.json"


def _instances(rng: random.Random) -> tuple[tuple[str, ...], str]:
    name = rng.choice(("library.json", "best_known.json"))
    return ("library", rng.choice(("list", "verify")), "--library", "."), name


def _sqlite(rng: random.Random) -> tuple[tuple[str, ...], str]:
    return rng.choice(
        (
            ("study", "export", "s.sqlite", "--out", "table.csv"),
            ("study", "export", "s.sqlite", "--out", "table.json"),
            ("study", "report", "s.sqlite", "--out", "page.html", "--out", "page.md"),
            ("study", "verify", "s.sqlite"),
        )
    ), "s.sqlite"


#: Files that are spoilt: how a command and the file are chosen, and how often.
FILES: Final = (
    (_problem, 6),
    (_answer, 3),
    (_log, 2),
    (_study, 3),
    (_gate, 2),
    (_instances, 2),
    (_sqlite, 2),
)

NAMES: Final = (
    *("list-scheduling(expand_limit=1.5, compacting=True, order=longest)", "noX(order=random)", "2X+c"),
    *("annealing(iterations=5)", "cpsat", "curve-fit(method=first-fit, order=snake)", "growth(seeds=all)"),
    *("manhattan-median+swaps", "submesh-first-fit", "paging(exponent=2, order=snake)", "branch-and-bound"),
)

#: Command lines that are spoilt. What stays valid by chance is done in a moment.
LINES: Final = tuple(
    tuple(line.split())
    for line in """
solve p.json --solver noX --objective makespan,waste --seconds 1 --workers 1
solve q.json --solver growth --seed 3 --out o.json --plot o.svg --json
solve p.json --solver noX --expand-limit 1 --out o.json --force
check p.json a.json --expand-limit 2 --json
check q.json b.json
solvers noX
import log.swf --from-job 2 --num-jobs 3 --out o.json --nodes 9 --unit nodes --limits keep --origin header
import log.txt --nodes 9 --timezone Europe/Berlin --warm-up 5 --recorded t.csv --out o.json
generate klein2011 --count 2 --seed 1 --num-jobs 2-3 --steps 1-2 --out d
generate klein2011 --count 1 --seed 1 --job-nodes 1-5 --nodes 9 --out d
generate occupancy --machine 4x3 --busy 0.3 --size 3 --count 1 --seed 1 --out d
generate churn --machine 4x3 --wrap all --busy .3 --size 3 --allocator growth --job-nodes 1-3 --out d
generate median-worst-case --size 8 --distance 9,2 --out d
library list --library . --json
library verify klein --library .
study run study.toml --out x.sqlite --executor no-such -j 2
study export s.sqlite --out t.csv
study report s.sqlite --out r.html --out r.md --figures f
study verify s.sqlite
study merge m.sqlite s.sqlite
gate --baseline gate.json --suite no-such --solvers noX,rigid
score p.json --solvers noX --baseline growth --objective makespan --out out
reproduce klein2011 --count 0 --seed 3
reproduce bender2008 --count 0 --seconds 1
reproduce klein2011 --optimal --count 0 --out d --plot no/x.svg
""".splitlines()
    if line
)

#: Names of files that command lines write.
OUTPUTS: Final = ("o.json", "o.svg", "t.csv", "r.html", "r.md", "x.sqlite", "m.sqlite")

#: What stands for a file that is none: endless, silent, a folder, not there.
PLACES: Final = (
    "/dev/zero",
    "/dev/null",
    "pipe",
    ".",
    "no-such",
    "no/such.json",
    "p.json/x",
    "x" * 300,
    "\udcff",
)


def _spoilt_file(rng: random.Random, number: int) -> Case:
    choose = rng.choices([one for one, _ in FILES], [often for _, often in FILES])[0]
    argv, name = choose(rng)
    files = dict(_valid())
    files[name] = spoilt(rng, name, files[name])
    if choose is _instances:
        files |= {f"klein/{part}": files[part] for part in ("best_known.json",)}
        files["klein/klein-0.json"] = _text({**problem_document(KLEIN[0]), "name": "klein-0"})
    stdin = b""
    if argv[0] in ("solve", "check") and name == argv[1] and name.endswith(".json") and rng.random() < 0.2:
        stdin, argv = files[name], tuple("-" if word == name else word for word in argv)
    return Case(number, choose.__name__.strip("_"), argv, files, stdin)


def _strange_place(rng: random.Random, number: int) -> Case:
    lines = [line for line in LINES if any("." in word for word in line)]
    words = list(rng.choice(lines))
    places = [idx for idx, word in enumerate(words) if word in (*_valid(), *OUTPUTS)]
    place = rng.choice(places or [1])
    # A pipe that is written to waits for its reader, as with all programs.
    words[place] = rng.choice([name for name in PLACES if name != "pipe" or words[place] not in OUTPUTS])
    return Case(number, "place", tuple(words), _valid(), pipes=("pipe",))


def _spoilt_name(rng: random.Random, number: int) -> Case:
    name = spoilt_text(rng, rng.choice(NAMES).encode()).decode("utf-8", "surrogateescape").replace("\0", "")
    argv = rng.choice(
        (
            ("solvers", name),
            ("solve", "none.json", "--solver", name),
            ("score", "none.json", "--solvers", name),
        )
    )
    return Case(number, "name", argv, {})


def _spoilt_line(rng: random.Random, number: int) -> Case:
    words = spoilt_words(rng, rng.choice(LINES))
    return Case(number, "line", tuple(word.replace("\0", "") for word in words), _valid(), _valid()["p.json"])


def draw_case(number: int) -> Case:
    """Return the case of a number: always the same."""
    rng = random.Random(f"{SEED}-{number}")
    draw = rng.choices((_spoilt_file, _strange_place, _spoilt_name, _spoilt_line), (12, 1, 2, 5))[0]
    return draw(rng, number)
