"""Studies: what is to be compared, as a TOML file, and the tasks that it stands for."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allocsolve.bench.library.design import folder_problems, suite
from allocsolve.bench.library.references import folder_references
from allocsolve.bench.runs.describe import describe
from allocsolve.bench.runs.runner import MEMORY_MB
from allocsolve.bench.runs.study_file import load_study
from allocsolve.bench.runs.tasks import plan
from allocsolve.errors import AllocsolveError, FormatError, InvalidOption
from allocsolve.families import families, family_named, family_of, with_settings
from allocsolve.instances import read_problem
from allocsolve.model import Budget
from allocsolve.model.result import POLICY_SECONDS

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from allocsolve.bench.runs.describe import Description
    from allocsolve.bench.runs.tasks import Task
    from allocsolve.bench.scores.catalogue import Reference
    from allocsolve.families import AnyFamily
    from allocsolve.model import Problem


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
