"""Documents of every kind of file as the strategies draw them, spoilt in some places or none."""

from __future__ import annotations

import copy
import json
import math
from typing import TYPE_CHECKING, Any

from evolving_strategies import evolving_problems
from format_draws import random_schedule, random_workload_of
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from placement_strategies import placement_problems, placements
from reservation_strategies import reservation_problems, reservation_schedules
from resource_strategies import general_problems
from strategies import box_problems, evolution_problems, partition_problems, partitions, workload_problems

from allocsolve import solve
from allocsolve.errors import FormatError
from allocsolve.families import family_named
from allocsolve.instances.formats.files import parse
from allocsolve.instances.formats.own.envelope import problem_document, solution_document

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from hypothesis.strategies import DrawFn

Document = dict[str, Any]

#: What stands where something else should: of each type, at the edges of ranges, whole numbers with a point.
JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 0.5, -0.5, 1.0, 2.0, -0.0, 1e5, 1e300, -1e300, 5e-324),
    *(2**53, 2**53 + 1, 2.0**53 + 2, -(2**53), -(2**53) - 1, 2**62, 10**40, 10**400, math.nan, math.inf),
    *("", "0", "3", "a", "j0", "powers-of-two", "booked", "optimal", "2026-02-30", "2026-01-01\n"),
    *([], [1], [1, 2], [[1, 2]], [1, 2, 3], ["a"], [None], {}, {"x": 1}, {"amdahl": 0.5}, {"": 1}),
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return all lists and objects with a key or index of each of their values."""
    found = []
    level = [value]
    while level:
        inner: list[Any] = []
        for holder in level:
            keys = holder.keys() if isinstance(holder, dict) else range(len(holder))
            found += [(holder, key) for key in keys]
            inner += [holder[key] for key in keys if isinstance(holder[key], dict | list)]
        level = inner
    return found


def spoil(document: Document, names: tuple[str, ...], rng: Random) -> None:
    """Change one place of a document; `names` are the fields of its kind, at whatever depth."""
    at = places(document)
    holder, key = rng.choice(at)
    what = rng.randrange(10)
    if what == 0:
        del holder[key]
    elif what == 1:
        _, other = donor = rng.choice(at)
        holder[key] = copy.deepcopy(donor[0][other])
    elif what == 2 and isinstance(holder[key], int | float) and -1e300 < holder[key] < 1e300:
        number = holder[key]
        holder[key] = rng.choice(
            [-number, number + 0.5, number * 10**15, str(number), not number, number + 1, number + 9, 1]
        )
    elif what == 3 and isinstance(holder[key], int) and abs(holder[key]) < 2**60:
        holder[key] = float(holder[key])
    elif what == 4 and isinstance(holder[key], list) and holder[key]:
        holder[key].append(copy.deepcopy(rng.choice(holder[key])))
    elif what == 5 and isinstance(holder[key], str):
        holder[key] = rng.choice([f"{holder[key]}x", holder[key][:-1], [holder[key]], f"{holder[key]}\n"])
    elif what in (6, 7):
        objects = [thing for thing, name in at if isinstance(thing, dict)]
        rng.choice(objects)[rng.choice(names)] = copy.deepcopy(rng.choice(JUNK))
    else:
        holder[key] = copy.deepcopy(rng.choice(JUNK))


@st.composite
def spoilt(draw: DrawFn, document: Document, names: tuple[str, ...]) -> Document:
    """Return a document with up to three changes."""
    rng = draw(st.randoms(use_true_random=False))
    changed = copy.deepcopy(document)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        if changed:
            spoil(changed, names, rng)
    return changed


def _workloads() -> st.SearchStrategy[Any]:
    seeds = st.integers(0, 10**6)
    drawn = seeds.map(lambda seed: random_workload_of(seed, "rmoaqps"))
    return workload_problems() | drawn | evolving_problems() | general_problems()


#: Problems of each kind, and how an answer to one is drawn, feasible or not.
DRAWS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], st.SearchStrategy[Any]]]] = {
    "evolution": (
        evolution_problems(min_apps=0, releases=True),
        lambda problem: st.just(solve(problem, "noX").answer),
    ),
    "partition": (partition_problems(max_nodes=40, contiguous=None) | box_problems(), partitions),
    "workload": (
        _workloads(),
        lambda problem: st.integers(0, 10**6).map(lambda seed: random_schedule(seed, problem)),
    ),
    "reservation": (reservation_problems(may_leak=True), reservation_schedules),
    "placement": (placement_problems(), placements),
}


@st.composite
def documents(draw: DrawFn, kind: str) -> tuple[Any, Document, Document]:
    """Return a problem, its document, and that of an answer."""
    problems, answers = DRAWS[kind]
    problem = draw(problems | st.sampled_from([*family_named(kind).examples()]))
    document = copy.deepcopy(problem_document(problem))
    answer = solution_document(problem, draw(answers(problem)), {"from": "a test"})
    return problem, document, answer


def _names(schema: Any) -> set[str]:
    """Return the names of all fields that a schema knows, at whatever depth."""
    if isinstance(schema, list):
        return set().union(*map(_names, schema))
    if not isinstance(schema, dict):
        return set()
    own = schema.get("properties", {})
    return {*own} | set().union(*map(_names, schema.values()))


def names_in(schema: Document) -> tuple[str, ...]:
    """Return the names of the fields that a schema knows, at whatever depth, and one that none has."""
    return (*sorted(_names(schema)), "unknown")


def through_text(document: object) -> Any:
    """Return what a file with this document holds; None if its text is refused, whatever is in it."""
    read: list[Any] = [None]

    def fill() -> None:
        read[0] = parse(json.dumps(document).encode(), "text")

    refused = refusal(fill)
    assert refused is None or not refused.breaks_schema
    return read[0]


def refusal(read: Callable[[], object]) -> FormatError | None:
    """Return the fault that a reader finds."""
    try:
        read()
    except FormatError as error:
        return error
    return None


def compare(schema: Document, document: object, read: Callable[[], object]) -> None:
    """Hold the refusals of a schema and of a reader against each other."""
    refused = refusal(read)
    shown = [error.message for error in Draft202012Validator(schema).iter_errors(document)]
    assert bool(shown) == (refused is not None and refused.breaks_schema), (document, shown, refused)
