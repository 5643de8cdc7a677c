"""Studies: what is to be compared, as a TOML file, and the tasks that it stands for."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import tomllib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from allocsolve.bench.library.design import SUITES, folder_problems, folder_references, suite
from allocsolve.bench.runs.describe import describe
from allocsolve.bench.runs.runner import MEMORY_MB
from allocsolve.bench.runs.tasks import plan
from allocsolve.errors import AllocsolveError, FormatError, InvalidOption
from allocsolve.families import families, family_named, family_of, setting_fault, with_settings
from allocsolve.instances import read_problem
from allocsolve.instances.formats.files import MAX_DEPTH, Checker, read_whole
from allocsolve.instances.formats.schema import DIALECT, listing, read_fields, record, text
from allocsolve.model import Budget
from allocsolve.model.result import POLICY_SECONDS
from allocsolve.registry.table import registered_names

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allocsolve.bench.runs.describe import Description
    from allocsolve.bench.runs.tasks import Task
    from allocsolve.bench.scores.catalogue import Reference
    from allocsolve.families import AnyFamily
    from allocsolve.instances.formats.files import Document, PathLike
    from allocsolve.model import Problem

#: The longest file, and how many points a line has at most.
_MAX_BYTES: Final = 2**22
_POINTS: Final = 1000
#: Seeds, iterations and workers are below this.
_COUNTS: Final = 2**31


def load_study(path: PathLike) -> Document:
    """Read the fields of a study from a TOML file, with the defaults of those that are left out.

    Raises `FormatError` if the file cannot be read, is not TOML, or a field is unknown, missing or of the
    wrong type: all are named.
    """
    source = str(path)
    return study_fields(parse_study(read_whole(path, _MAX_BYTES), source), source)


def parse_study(data: bytes, source: str) -> Document:
    """Return what a text in TOML holds, whatever its fields are.

    Raises `FormatError` if it is not TOML in UTF-8, or holds what no study can: a date, an integer of more
    than 64 bits, lists and tables nested deeper than `MAX_DEPTH`.
    """
    try:
        content = data.decode()
        _check_points(content)
        document = tomllib.loads(content)
        faults = [*_unlawful(document, "", MAX_DEPTH)]
    except RecursionError:
        raise FormatError(source, ["lists and tables are nested too deeply"]) from None
    except ValueError as error:  # no UTF-8, no TOML, or a number of more than 4300 digits
        raise FormatError(source, [str(error)]) from None
    if faults:
        raise FormatError(source, faults)
    return document


def _check_points(content: str) -> None:
    """Refuse keys of very many parts: `tomllib` takes time in the square of their number."""
    for number, line in enumerate(content.splitlines(), 1):
        if line.count(".") > _POINTS:
            raise ValueError(f"line {number}: more than {_POINTS} points")


def _unlawful(value: object, place: str, depth: int) -> Iterator[str]:
    """Find what `tomllib` lets pass: integers of more than 64 bits, dates, nestings that cannot be shown."""
    if isinstance(value, dict | list) and not depth:
        yield f"{place.partition('.')[0].partition('[')[0]}: nested deeper than {MAX_DEPTH} levels"
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _unlawful(item, f"{place}.{key}" if place else key, depth - 1)
    elif isinstance(value, list):
        for idx, item in enumerate(value):
            yield from _unlawful(item, f"{place}[{idx}]", depth - 1)
    elif isinstance(value, dt.date | dt.time):
        yield f"{place}: {value} is a date or a time of day, which no field of a study is"
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield f"{place}: an integer of more than 64 bits"


def study_fields(document: Document, source: str) -> Document:
    """Return the fields of a study, with the defaults of those that are left out.

    Raises `FormatError` if fields are missing, unknown, of the wrong type or out of their range: names all of
    them.
    """
    fields, check = read_fields(document, _schema((), ()), source), Checker()
    for idx, budget in enumerate(fields["budgets"]):
        if not budget.get("seconds", math.inf) > 0:  # -inf or nan, which JSON has not
            check.add(f"budgets[{idx}].seconds", f"{budget['seconds']} is not a number above 0")
    for name, value in fields["set"].items():
        for entry in value if isinstance(value, list) else [value]:
            if fault := setting_fault(name, entry):
                check.add("set", fault)
    check.finish(source)
    return fields


def _settings() -> dict[str, list[AnyFamily]]:
    """Return the fields that studies may set, each with the families that let them."""
    fields: dict[str, list[AnyFamily]] = {}
    for family in families():
        for field in family.settings:
            fields.setdefault(field, []).append(family)
    return fields


def study_schema() -> Document:
    """Return the schema of the files of studies, for editors of TOML.

    It knows the names of suites and solvers that are there, as suggestions: others may be paths, or objects
    in modules. Where a field may be inf, null stands for it: JSON has no such number.
    """
    return _schema([*SUITES], sorted({name for family in families() for name in registered_names(family)}))


def _schema(suites: Sequence[str], solvers: Sequence[str]) -> Document:
    """Return the schema of the files of studies with these suggestions."""
    fields = {
        "suites": _names(suites, "suites, folders and files; paths are relative to the study"),
        "solvers": _names(
            solvers,
            "names, with options if you like, such as curve-fit(order=snake), or package.module:object",
        ),
        "seeds": listing(
            {"type": "integer", "minimum": 0, "maximum": _COUNTS - 1},
            "of random choices: each solver runs once with each",
            minItems=1,
            default=[0],
        ),
        "memory_mb": _positive("what a task may hold, in MB (10^6 bytes)", default=int(MEMORY_MB)),
        "policy_seconds": _positive(
            "limit, in seconds, of a solver that does not search", default=int(POLICY_SECONDS)
        ),
        "set": record(
            {field: _one_or_more(field, users) for field, users in _settings().items()},
            (),
            "values of fields of the problems that have such a field, instead of their own; each combination "
            "is a problem",
            default={},
        ),
        "objectives": record(
            {
                family.kind: {
                    "description": f"terms for {family.kind} problems, separated by commas; the first is the "
                    f"most important, default: {family.term_names[0]}",
                    **_suggested(family.term_names),
                }
                for family in families()
            },
            (),
            "what is minimised, by the kind of problems",
            default={},
        ),
        "budgets": listing(
            record(
                {
                    "seconds": {
                        "description": "wall time of a run, in seconds; inf, or left out: no limit",
                        "type": ["number", "null"],
                        "exclusiveMinimum": 0,
                    },
                    "iterations": {
                        "description": "units of work of a local search; left out: no limit",
                        "type": "integer",
                        "minimum": 0,
                        "maximum": _COUNTS - 1,
                    },
                    "workers": {
                        "description": "threads of an exact solver and of annealing",
                        "type": "integer",
                        "minimum": 1,
                        "maximum": _COUNTS - 1,
                        "default": 1,
                    },
                }
            ),
            "what each run may spend: every solver runs once within each",
            minItems=1,
            default=[{"seconds": 10}],
        ),
    }
    besides = "".join(f"\n- {clause}" for clause in _BESIDES)
    return {
        "$schema": DIALECT,
        "title": "A study, in TOML: solvers, problems, seeds and budgets that are run in all combinations",
        "description": f"The reader asks besides, which no schema can say:{besides}",
        **record(fields, ("suites", "solvers")),
    }


_BESIDES: Final = (
    "suites, files, folders and solvers of these names are there, and terms of objectives",
    "each solver is made for problems of the study",
    "a text in set stands for a value of the field",
    "nan is no number",
    f"the text is TOML in UTF-8 of at most {_MAX_BYTES >> 20} MiB, with at most {_POINTS} points in a line",
    "integers have at most 64 bits, no value is a date or a time of day",
    f"lists and tables are nested at most {MAX_DEPTH} deep",
)


def _suggested(names: Sequence[str]) -> Document:
    """Return the schema of a text for which editors offer some."""
    return {"anyOf": [text(minLength=1), {"type": "string", "enum": [*names]}]}


def _names(known: Sequence[str], description: str) -> Document:
    return listing(_suggested(known), description, minItems=1)


def _positive(description: str, **more: Any) -> Document:  # noqa: ANN401 - keywords of a schema
    return {"description": description, "type": "number", "exclusiveMinimum": 0, **more}


def _one_or_more(field: str, users: Sequence[AnyFamily]) -> Document:
    anything: Document = {"type": ["boolean", "null", "number", "string"]}
    schemas = [family.settings[field].schema or anything for family in users]
    value = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    allowed = " or ".join(dict.fromkeys(family.settings[field].values for family in users))
    several = listing(value, minItems=1)
    return {"description": f"{allowed}; or a list of such values", "anyOf": [value, several]}


@dataclass(frozen=True, slots=True)
class Study:
    """Every solver on every problem, with every seed, within every budget.

    Parameters
    ----------
    problems
        Each with the name of its suite (empty for a file); families may be mixed.
    solvers
        Registered names. Each runs on the problems of its family; one name may stand for a solver of each.
    seeds
        Of the budgets.
    budgets
        Their seeds are not used.
    objectives
        By the kind of the problems; a kind without an entry has the first objective of its family.
    policy_seconds
        What a registered solver that does not search may take, whatever its budget.
    references
        What folders state of their problems.

    Raises
    ------
    InvalidOption
        If there is nothing to run, or a solver is of none of the families of the problems.
    """

    problems: tuple[tuple[str, Problem], ...]
    solvers: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    budgets: tuple[Budget, ...] = (Budget(seconds=10.0),)
    objectives: Mapping[str, str] = dataclasses.field(default_factory=dict)
    memory_mb: float = MEMORY_MB
    policy_seconds: float = POLICY_SECONDS
    references: Mapping[tuple[str, str], Reference] = dataclasses.field(default_factory=dict)
    #: What the solvers are, asked once.
    _described: tuple[Description, ...] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("problems", "solvers", "seeds", "budgets"):
            if not getattr(self, name):
                raise InvalidOption(f"a study without {name} has nothing to run")
        kinds = [family.kind for family in self._families()]
        described = describe(self.solvers, [None, *self.objectives.values()])
        for solver in described:
            if not {*solver.kinds} & {*kinds}:
                solved = " and ".join(solver.kinds)
                msg = f"{solver.name} solves {solved} problems, the study has {kinds[0]} problems only"
                raise InvalidOption(msg)
        object.__setattr__(self, "_described", tuple(described))

    def _families(self) -> list[AnyFamily]:
        kinds = {family_of(problem).kind for _, problem in self.problems}
        return [family for family in families() if family.kind in kinds]

    def tasks(self) -> list[Task]:
        """Return what is to be run, family by family, problem by problem."""
        budgets = [
            dataclasses.replace(budget, seed=seed) for budget, seed in product(self.budgets, self.seeds)
        ]
        tasks = []
        for family in self._families():
            named = [(name, problem) for name, problem in self.problems if family_of(problem) is family]
            solvers = [solver for solver in self._described if family.kind in solver.kinds]
            tasks += plan(named, solvers, objective=self.objectives.get(family.kind), budgets=budgets)
        return tasks


def problems_of(name: str) -> Iterator[tuple[str, str, Problem]]:
    """Yield the problems of a file, of a folder, or of a suite.

    Yields
    ------
    suite
        Its name; empty for files, and for folders that are no suite (see `folder_references`).
    source
        What messages call the problem.
    problem
        The problem.
    """
    path = Path(name)
    if path.is_dir():
        yield from ((suite_name, str(file), problem) for suite_name, file, problem in folder_problems(path))
    elif path.exists() or path.suffix or len(path.parts) > 1:
        yield "", name, read_problem(path)
    else:
        yield from ((name, problem.name, problem) for problem in suite(name))


def read_study(path: str | os.PathLike[str]) -> Study:
    """Read a study from a TOML file.

    docs/formats.md shows its fields, of which ``suites`` and ``solvers`` must be there.

    Raises `FormatError` if the file cannot be read, or a field is unknown, missing or of the wrong type: all
    are named.
    """
    source = Path(path)
    document = load_study(source)
    budgets = [
        Budget(**entry | {"seconds": float(entry.get("seconds", math.inf))}) for entry in document["budgets"]
    ]
    try:
        beside = ((name, source.parent / name) for name in document["suites"])
        names = [str(path) if path.exists() else name for name, path in beside]
        problems = [(suite_name, problem) for name in names for suite_name, _, problem in problems_of(name)]
        return Study(
            problems=tuple(_with_settings(problems, document["set"])),
            solvers=tuple(document["solvers"]),
            seeds=tuple(document["seeds"]),
            budgets=tuple(budgets),
            objectives=_objectives(document["objectives"]),
            memory_mb=document["memory_mb"],
            policy_seconds=document["policy_seconds"],
            references=references_of(names),
        )
    except FormatError:  # names a file of its own
        raise
    except AllocsolveError as error:
        raise FormatError(str(path), [str(error)]) from None


def references_of(names: Iterable[str]) -> dict[tuple[str, str], Reference]:
    """Return what those of the names that are folders state of their problems; see `folder_references`."""
    folders = (path for path in map(Path, names) if path.is_dir())
    return {place: reference for folder in folders for place, reference in folder_references(folder).items()}


def _with_settings(
    problems: list[tuple[str, Problem]], settings: Mapping[str, Any]
) -> Iterator[tuple[str, Problem]]:
    """Yield each problem once for every combination of the values of the fields that its family has."""
    for name, problem in problems:
        fields = [field for field in settings if field in family_of(problem).settings]
        for values in product(*(_listed(settings[field]) for field in fields)):
            yield name, with_settings(problem, dict(zip(fields, values, strict=True)), problem.name)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _objectives(given: Mapping[str, str]) -> Mapping[str, str]:
    for kind, objective in given.items():
        family_named(kind).parse_objective(objective)
    return given
