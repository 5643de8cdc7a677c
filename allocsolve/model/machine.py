"""Machines as they are: counted resources, windows in which a part is closed, and what jobs ask for.

A resource is a number of equal things, such as GPUs, licences, or nodes that a partition may hold at once;
nodes are the first one of every machine. A problem whose nodes are always there, and all there is, is plain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER, IntArray, frozen
from allocsolve.model.checks import in_range, instance, integer, items, real, shown
from allocsolve.model.columns import FloatArray, plain, seconds_column, texts_column, within
from allocsolve.model.problem import Keyed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


#: Amounts of resources, by name in alphabetical order.
Amounts: TypeAlias = tuple[tuple[str, int], ...]

#: The name of the first resource.
NODES: Final = "nodes"

#: What fields of files are called already.
_RESERVED: Final = frozenset({NODES, "start", "end", "node_ids"})


def checked_amounts(place: str, given: object, *, low: int = 1) -> Amounts:
    """Return amounts of resources as pairs in the order of their names.

    They are given as a mapping from names to whole numbers, or as pairs of both; `low` is the least amount,
    and messages begin with `place`.
    """
    try:
        pairs = dict(given)  # type: ignore[call-overload]  # whatever it is
    except (TypeError, ValueError):
        raise InvalidProblem(f"{place} {shown(given)} is not a mapping from names to amounts") from None
    for name, amount in pairs.items():
        if not (isinstance(name, str) and name):
            raise InvalidProblem(f"{place}: the name {shown(name)} of a resource is not a text")
        what = f"{place}: {name}"
        pairs[name] = in_range(what, integer(what, amount), low)
    return tuple(sorted(pairs.items()))


@dataclass(frozen=True, slots=True)
class ClosedWindow:
    """A time in which a part of the machine is closed: known beforehand, and no job may hold that part in it.

    Parameters
    ----------
    start, end
        Seconds, ``0 <= start < end``; the end does not belong to it. A machine that grows has a window from 0
        to that instant.
    amounts
        How much is closed, by resource; ``nodes`` are one. Everything if left out.
    node_ids
        Which nodes are closed, by id, where nodes are places (`WorkloadProblem.node_types`); there windows
        have no amounts, and close all nodes if both are left out.

    Examples
    --------
    >>> ClosedWindow(86400, 115200).amounts
    ()
    >>> ClosedWindow(0, 60, {"nodes": 50, "gpus": 16}).amounts
    (('gpus', 16), ('nodes', 50))
    """

    start: float
    end: float
    amounts: Amounts | Mapping[str, int] = ()
    node_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            object.__setattr__(self, name, real(f"closed window: {name}", getattr(self, name)))
        if not 0 <= self.start < self.end <= MAX_INTEGER:
            first, last = (shown(plain(time)) for time in (self.start, self.end))
            raise InvalidProblem(f"closed window from {first} s to {last} s: not 0 <= start < end <= 2^53")
        object.__setattr__(self, "amounts", checked_amounts(self.place, self.amounts))
        what = f"{self.place}: node_ids"
        ids = {in_range(what, integer(what, node), 0) for node in items(what, self.node_ids)}
        if ids and self.amounts:
            raise InvalidProblem(f"{self.place}: has amounts and node_ids, of which one says what is closed")
        object.__setattr__(self, "node_ids", tuple(sorted(ids)))

    @property
    def place(self) -> str:
        """What messages call it."""
        return f"closed window from {plain(self.start)} s"


def checked_machine(
    resources: object, closed: object, num_nodes: int
) -> tuple[Amounts, tuple[ClosedWindow, ...]]:
    """Return the counted resources and the closed windows of a machine, the latter by start.

    `InvalidProblem` if a resource has a name that is taken, or a window closes what there is not.
    """
    amounts = checked_amounts("resources", resources)
    for name, _ in amounts:
        if name in _RESERVED:
            raise InvalidProblem(f"resources: the name {name!r} is taken")
    windows: tuple[ClosedWindow, ...] = items("closed", closed)  # type: ignore[arg-type]  # whatever it is
    there = {NODES: num_nodes, **dict(amounts)}
    for idx, window in enumerate(windows):
        instance(f"closed[{idx}]", window, ClosedWindow)
        for name, amount in dict(window.amounts).items():
            if name not in there:
                raise InvalidProblem(f"{window.place}: the machine has no {name!r}, only {', '.join(there)}")
            if amount > there[name]:
                raise InvalidProblem(f"{window.place}: closes {amount} {name} of {there[name]}")
        if window.node_ids and window.node_ids[-1] >= num_nodes:
            msg = f"{window.place}: closes node {window.node_ids[-1]}, none of 0..{num_nodes - 1}"
            raise InvalidProblem(msg)
    by_start = sorted(
        windows, key=lambda window: (window.start, window.end, tuple(window.amounts), window.node_ids)
    )
    return amounts, tuple(by_start)


class Requirements(Keyed):
    """What jobs ask for beside nodes: columns, each empty if no job asks for it; immutable.

    `names` are those of the jobs, for messages, `submit`, shape (jobs,), is in seconds, and the others are
    columns as `allocsolve.model.Jobs` takes them, or None.
    """

    __slots__ = ("boost", "eligible", "needs", "partitions")

    #: Amounts of resources, without those of partitions.
    needs: tuple[Amounts, ...]
    partitions: tuple[str | None, ...]
    #: Seconds, NaN where a job may start at its submission.
    eligible: FloatArray
    #: Seconds.
    boost: FloatArray

    def __init__(
        self,
        names: Sequence[str],
        submit: FloatArray,
        needs: Iterable[Mapping[str, int] | Amounts | None] | None,
        partitions: Iterable[str | None] | None,
        eligible: object,
        boost: object,
    ) -> None:
        given = () if needs is None else items("needs", needs)
        if not any(need is not None for need in given):
            given = ()
        listed = [() if need is None else need for need in given]
        places = [f"job {name!r}: needs" for name in names[: len(listed)]]
        places += [f"job {idx}: needs" for idx in range(len(places), len(listed))]
        amounts = (checked_amounts(place, need, low=0) for place, need in zip(places, listed, strict=False))
        self.needs = tuple(tuple(pair for pair in mine if pair[1]) for mine in amounts)
        self.partitions = () if partitions is None else texts_column("partitions", partitions, none=True)
        self.eligible = _times("eligible", eligible, np.nan)
        self.boost = _times("boost", boost, 0.0)
        for what in self.__slots__:
            if len(getattr(self, what)) not in {0, len(names)}:
                raise InvalidProblem(f"{len(getattr(self, what))} {what} for {len(names)} jobs")
        self._check_values(names)
        if len(self.eligible):  # what is not after the submission says nothing
            self.eligible = frozen(np.where(self.eligible > submit, self.eligible, np.nan))
        if not any(self.needs):
            self.needs = ()
        if not any(self.partitions):
            self.partitions = ()
        if np.isnan(self.eligible).all():
            self.eligible = _NOTHING
        if not self.boost.any():
            self.boost = _NOTHING

    def _check_values(self, names: Sequence[str]) -> None:
        late = np.isnan(self.eligible) | within(self.eligible, 0)
        ahead = within(np.abs(self.boost), 0)
        for what, values, good, range_ in (
            ("eligible", self.eligible, late, "0..2^53"),
            ("boost", self.boost, ahead, "-2^53..2^53"),
        ):
            if not good.all():
                idx = int(np.argmin(good))
                value = shown(plain(values[idx]) if np.isfinite(values[idx]) else float(values[idx]))
                raise InvalidProblem(f"job {names[idx]!r}: {what} {value} is not in {range_}")
        for idx, partition in enumerate(self.partitions):
            if partition == "":
                raise InvalidProblem(f"job {names[idx]!r}: partition '' has no name")

    def __bool__(self) -> bool:
        return any(len(getattr(self, what)) for what in self.__slots__)

    def _key(self) -> tuple[object, ...]:
        return self.needs, self.partitions, self.eligible.tobytes(), self.boost.tobytes()

    def release(self, submit: FloatArray) -> FloatArray:
        """Return when each job may start at the earliest, shape (jobs,), in seconds; `submit` if then."""
        return frozen(np.fmax(submit, self.eligible)) if len(self.eligible) else submit

    def of_job(self, idx: int) -> dict[str, Any]:
        """Return the fields of one job that differ from those of a plain one."""
        fields: dict[str, Any] = {}
        if self.needs and self.needs[idx]:
            fields["needs"] = dict(self.needs[idx])
        if self.partitions and self.partitions[idx] is not None:
            fields["partition"] = self.partitions[idx]
        if len(self.eligible) and not np.isnan(self.eligible[idx]):
            fields["eligible"] = plain(self.eligible[idx])
        if len(self.boost) and self.boost[idx]:
            fields["boost"] = plain(self.boost[idx])
        return fields

    def check(self, names: Sequence[str], nodes: IntArray, flexible: Any, resources: Amounts) -> None:  # noqa: ANN401 - a mask
        """Refuse needs that the machine does not have, or that belong to jobs that are not rigid.

        `flexible`, shape (jobs,), says whether a job is not rigid, and `resources` are those of the machine.
        """
        there = dict(resources)
        for idx in range(len(names)):
            partition = self.partitions[idx] if self.partitions else None
            needs = self.needs[idx] if self.needs else ()
            asked = [*needs, *([] if partition is None else [(partition, int(nodes[idx]))])]
            if not asked:
                continue
            place = f"job {names[idx]!r}"
            if flexible[idx]:
                msg = f"{place} is not rigid, but needs {asked[0][0]!r}: only rigid jobs need more than nodes"
                raise InvalidProblem(msg)
            if partition is not None and partition in dict(needs):
                raise InvalidProblem(f"{place}: partition {partition!r} is also among its needs")
            for name, amount in asked:
                if name not in there:
                    known = f"only {', '.join(there)}" if there else "and no other resource"
                    raise InvalidProblem(f"{place} needs {name!r}: the machine has no such resource, {known}")
                if amount > there[name]:
                    raise InvalidProblem(f"{place} needs {amount} {name} of {there[name]}")


_NOTHING: Final[FloatArray] = frozen(np.empty(0))


def _times(what: str, given: object, missing: float) -> FloatArray:
    if given is None:
        return _NOTHING
    if isinstance(given, np.ndarray):
        return seconds_column(what, given)
    listed: tuple[object, ...] = items(what, given)  # type: ignore[arg-type]  # whatever it is
    if not any(listed) and all(value is None or value == missing for value in listed):
        return _NOTHING
    return seconds_column(what, [missing if value is None else value for value in listed])
