"""The fields of evolving jobs, and of what changes of sizes cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import InvalidProblem, UnknownName
from allocsolve.instances.formats.checker import show
from allocsolve.model import MAX_INTEGER, Join, Phases, Profile, Requests, Stall

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.instances.formats.checker import Checker, Document
    from allocsolve.model import Evolution, Jobs, Reconfiguration

__all__ = [
    "EVOLVING_FIELDS",
    "add_evolving",
    "decode_evolution",
    "decode_reconfiguration",
]

_READINGS: Final = ("requests", "phases", "profile")
_COSTS: Final = {"stall": ("fixed", "per_node", "shared"), "join": ("start", "grow", "shrink")}

#: The fields of a job that are read here.
EVOLVING_FIELDS: Final = (*_READINGS, "release_delay", "expand_limit", *_COSTS)


def decode_evolution(check: Checker, fields: Document, place: str) -> Evolution | None:
    """Return how a job evolves, None if it does not."""
    given = [name for name in _READINGS if fields.get(name) is not None]
    for name, reading in (("release_delay", "phases"), ("expand_limit", "profile")):
        if fields.get(name) is not None and reading not in given:
            check.add(f"{place}.{name}", f"belongs to {reading}, which the job does not have")
    if len(given) > 1:
        check.add(place, f"has {' and '.join(given)}: a job evolves in one way")
    if len(given) != 1:
        return None
    (name,) = given
    where, rows = f"{place}.{name}", check.typed(list, fields[name], f"{place}.{name}")
    if name == "requests":
        events = [_pair(check, row, f"{where}[{idx}]", _share, _change) for idx, row in enumerate(rows)]
        return _made(check, where, lambda: Requests(events))
    if name == "phases":
        delay = check.real_number(
            fields.get("release_delay") or 0, f"{place}.release_delay", "release_delay", 0
        )
        phases = [_pair(check, row, f"{where}[{idx}]", _work, _most_useful) for idx, row in enumerate(rows)]
        return _made(check, where, lambda: Phases(phases, delay))
    limit = fields.get("expand_limit")
    limit = (
        math.inf if limit is None else check.real_number(limit, f"{place}.expand_limit", "expand_limit", 1)
    )
    steps = [_pair(check, row, f"{where}[{idx}]", _count, _natural) for idx, row in enumerate(rows)]
    return _made(check, where, lambda: Profile(steps, limit))


def _made(check: Checker, place: str, make: Callable[[], Evolution]) -> Evolution | None:
    if check.faults:
        return None
    try:
        return make()
    except InvalidProblem as error:
        check.add(place, str(error))
        return None


def _pair(
    check: Checker,
    row: object,
    place: str,
    first: Callable[[Checker, Any, str], Any],
    second: Callable[[Checker, Any, str], Any],
) -> tuple[Any, Any]:
    if not isinstance(row, list) or len(row) != 2:
        check.add(place, f"must be a pair, not {show(row)}")
        return 1, 1
    return first(check, row[0], f"{place}[0]"), second(check, row[1], f"{place}[1]")


def _share(check: Checker, value: object, place: str) -> float:
    return check.real_number(value, place, "remaining", 0, above=True, high=1)


def _change(check: Checker, value: object, place: str) -> int:
    return check.integer(value, place, "change", -MAX_INTEGER)


def _work(check: Checker, value: object, place: str) -> float:
    return check.real_number(value, place, "work", 0, above=True)


def _most_useful(check: Checker, value: object, place: str) -> int | None:
    return None if value is None else _count(check, value, place)


def _count(check: Checker, value: object, place: str) -> int:
    return check.integer(value, place, "value", 1)


def _natural(check: Checker, value: object, place: str) -> int:
    return check.integer(value, place, "nodes", 0)


def decode_reconfiguration(check: Checker, fields: Document, place: str) -> Reconfiguration | None:
    """Return what changes of its size cost a job, None if they cost nothing."""
    given = [name for name in _COSTS if fields.get(name) is not None]
    if len(given) > 1:
        check.add(place, "has stall and join: a job has one kind of cost")
    if len(given) != 1:
        return None
    (name,) = given
    where = f"{place}.{name}"
    costs = check.fields(fields[name], where, (), (*_COSTS[name], *(("holds",) if name == "stall" else ())))
    holds = costs.pop("holds", "new")
    seconds = {key: check.real_number(value, f"{where}.{key}", key, 0) for key, value in costs.items()}
    if name == "join":
        return Join(**seconds)
    try:
        return Stall(**seconds, holds=holds)
    except UnknownName as error:
        check.add(f"{where}.holds", str(error))
        return None


def add_evolving(jobs: Jobs, rows: list[Document]) -> None:
    """Add the fields of evolving jobs and of costs to the rows of jobs."""
    for idx, evolution in enumerate(jobs.evolutions):
        if evolution is not None:
            limits = {name: int(getattr(jobs.packed, name)[idx]) for name in ("min_nodes", "max_nodes")}
            rows[idx] |= {**limits, "kind": "evolving", **_encode_evolution(evolution)}
    for idx, cost in enumerate(jobs.reconfigurations):
        if cost is not None:
            rows[idx] |= _encode_reconfiguration(cost)


def _encode_evolution(evolution: Evolution) -> Document:
    if isinstance(evolution, Requests):
        return {"requests": [[_plain(remaining), change] for remaining, change in evolution.events]}
    if isinstance(evolution, Phases):
        fields: Document = {"phases": [[_plain(work), most] for work, most in evolution.phases]}
        return (
            {**fields, "release_delay": _plain(evolution.release_delay)}
            if evolution.release_delay
            else fields
        )
    fields = {"profile": [[*step] for step in evolution.steps]}
    if evolution.expand_limit < math.inf:
        fields["expand_limit"] = _plain(evolution.expand_limit)
    return fields


def _encode_reconfiguration(cost: Reconfiguration) -> Document:
    name = "stall" if isinstance(cost, Stall) else "join"
    fields: Document = {key: _plain(getattr(cost, key)) for key in _COSTS[name] if getattr(cost, key)}
    if isinstance(cost, Stall) and cost.holds != "new":
        fields["holds"] = cost.holds
    return {name: fields}


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else float(value)
