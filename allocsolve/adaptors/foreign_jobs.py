"""The jobs of another program as columns: one row for each job that it has submitted, by its own key."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.model import DEFAULT_LIMIT_FACTOR
from allocsolve.model.arrays import read_only_view
from allocsolve.model.checks import choice, integer, real, shown
from allocsolve.model.columns import packed_speedups
from allocsolve.model.evolving import REQUESTED
from allocsolve.model.job_kinds import ALL_SIZES, EVOLVING, JOB_KINDS, MALLEABLE, POWERS_OF_TWO
from allocsolve.model.speedup import SPEEDUP_TABLE
from allocsolve.simulation.sizes import relative_time
from allocsolve.simulation.view import JobColumns

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from allocsolve.model import JobKind
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.job_kinds import SizeSet
    from allocsolve.model.jobs import FloatArray
    from allocsolve.model.speedup import Speedup
    from allocsolve.simulation import Knowledge

__all__ = ["ForeignJobs", "Key"]

#: What another program calls a job by: a number, a name, or an object.
Key: TypeAlias = "Hashable"

_FLOATS: Final = (
    *("submit", "runtime", "estimate", "weight", "parameter", "start", "end"),
    *("stall_fixed", "stall_per_node", "stall_shared", "join_start", "join_grow", "join_shrink"),
)
_INTS: Final = (
    *("nodes", "min_nodes", "max_nodes", "speedup", "kind", "points", "size_step", "user"),
    *("reading", "holds_larger"),
)
_SUBMIT, _RUNTIME, _ESTIMATE, _WEIGHT, _PARAMETER, _START, _END = range(7)
_NODES, _MIN, _MAX, _SPEEDUP, _KIND, _POINTS, _STEP, _USER, _READING = range(9)

#: Rows that there is room for at first.
_ROOM: Final = 64


class ForeignJobs:
    """A table of jobs that grows, as policies see it.

    A job gets the next index when it is added; so jobs are added in the order of their submission, and a
    policy knows nothing of those that are yet to come.

    Parameters
    ----------
    knowledge
        Whether policies may see run times, as of `allocsolve.simulation.EngineRules`.

    Notes
    -----
    *Complexity*: O(1) for each job on average; the columns double when they are full.

    Examples
    --------
    >>> jobs = ForeignJobs()
    >>> jobs.add("17.batch", submit=5, nodes=4, estimate=3600)
    0
    >>> jobs.index["17.batch"], jobs.keys, jobs.columns().estimate.tolist()
    (0, ['17.batch'], [3600.0])
    """

    def __init__(self, knowledge: Knowledge = "estimate") -> None:
        self.knowledge = knowledge
        #: From keys to indices, and back.
        self.index: dict[Key, int] = {}
        self.keys: list[Key] = []
        #: Whether indices are in the order of submission, and whether sizes of running jobs may change.
        self.in_order, self.elastic = True, False
        self._floats: FloatArray = np.zeros((len(_FLOATS), _ROOM))
        self._ints: IntArray = np.zeros((len(_INTS), _ROOM), dtype=np.int64)
        self._offsets: IntArray = np.zeros(_ROOM + 1, dtype=np.int64)
        self._table_nodes: IntArray = np.zeros(0, dtype=np.int64)
        self._table_seconds: FloatArray = np.zeros(0)
        self._users: dict[str, int] = {}
        self._columns: JobColumns | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def add(
        self,
        key: Key,
        *,
        submit: float,
        nodes: int,
        estimate: float | None = None,
        runtime: float | None = None,
        min_nodes: int | None = None,
        max_nodes: int | None = None,
        kind: JobKind = "rigid",
        points: int = 0,
        size_set: SizeSet = ALL_SIZES,
        speedup: Speedup | None = None,
        user: str | None = None,
        weight: float = 1.0,
    ) -> int:
        """Add a job that has been submitted, and return its index.

        Parameters
        ----------
        key
            What the other program calls it by.
        submit
            Seconds.
        nodes, min_nodes, max_nodes, kind, points, size_set, speedup, user, weight
            As of `allocsolve.model.Job`. Without a law of speedup, times are the same on all sizes. An
            evolving job is one whose requests the other program hands on.
        estimate
            What the user said of the run time on `nodes` nodes, in seconds. If left out, 1.25 times the run
            time if that is known; else nobody knows when the job ends: never.
        runtime
            The run time on `nodes` nodes, in seconds, if the other program knows it; shown to policies with
            `knowledge` ``actual`` only.

        Raises
        ------
        InvalidOption
            If a job of this key has been added before.
        InvalidProblem
            If a value is out of range: the message names the job.
        """
        if key in self.index:
            msg = f"job {shown(key)} is submitted twice"
            raise InvalidOption(msg)
        name = f"job {shown(key)}:"
        length = math.nan if runtime is None else _least(f"{name} runtime", runtime)
        if estimate is None:
            estimate = math.inf if runtime is None else DEFAULT_LIMIT_FACTOR * length
        size = _size(f"{name} nodes", nodes)
        low = size if min_nodes is None else _size(f"{name} min_nodes", min_nodes)
        high = size if max_nodes is None else _size(f"{name} max_nodes", max_nodes)
        if not low <= size <= high:
            msg = f"{name} nodes {size} are not from {low} to {high}"
            raise InvalidProblem(msg)
        moment, expected = _moment(f"{name} submit", submit), _least(f"{name} estimate", estimate)
        code = JOB_KINDS.index(choice(f"{name} kind", kind, JOB_KINDS))
        step = POWERS_OF_TWO if size_set == "powers-of-two" else _size(f"{name} size_set", size_set)
        row = self._new_row()
        if speedup is not None:
            self._add_law(row, size, speedup, name)
        self._offsets[row + 1] = max(self._offsets[row], self._offsets[row + 1])
        actual = self.knowledge == "actual"
        self._floats[:7, row] = (
            *(moment, length if actual else math.nan, expected),
            *(weight, self._floats[_PARAMETER, row], math.nan, math.nan),
        )
        self._ints[:9, row] = (
            *(size, low, high, self._ints[_SPEEDUP, row], code, points, step),
            *(self._users.setdefault(user, len(self._users)) if user else -1, REQUESTED * (code == EVOLVING)),
        )
        if row and moment < self._floats[_SUBMIT, row - 1]:
            self.in_order = False
        self.elastic = self.elastic or code in {MALLEABLE, EVOLVING}
        self.index[key] = row
        self.keys.append(key)
        self._columns = None
        return row

    def columns(self) -> JobColumns:
        """Return what is known of the jobs so far, read-only."""
        if self._columns is None:
            count = len(self.keys)
            floats, ints = read_only_view(self._floats[:, :count]), read_only_view(self._ints[:, :count])
            rows = self._offsets[count]
            self._columns = JobColumns(
                **dict(zip(_FLOATS, floats, strict=True)),
                **dict(zip(_INTS, ints, strict=True)),
                table_offsets=read_only_view(self._offsets[: count + 1]),
                table_nodes=read_only_view(self._table_nodes[:rows]),
                table_seconds=read_only_view(self._table_seconds[:rows]),
            )
        return self._columns

    def started(self, job: int, at: float) -> None:
        """Note when a job has started, in seconds; NaN if it has not after all."""
        self._floats[_START, job] = at

    def ended(self, job: int, at: float) -> None:
        """Note when a job has ended, in seconds."""
        self._floats[_END, job] = at

    def expected_run(self, job: int, nodes: int) -> float:
        """Return for how long a job is expected to run on so many nodes, in seconds."""
        row = _RUNTIME if self.knowledge == "actual" else _ESTIMATE
        return float(self._floats[row, job]) * relative_time(self.columns(), job, nodes)

    def _new_row(self) -> int:
        """Return the next row, for which there is room."""
        row = len(self.keys)
        if row == self._floats.shape[1]:
            self._floats, self._ints = _with_room(self._floats, row + 1), _with_room(self._ints, row + 1)
        self._offsets = _with_room(self._offsets, row + 2)
        return row

    def _add_law(self, row: int, nodes: int, law: Speedup, name: str) -> None:
        packed = packed_speedups([law], np.array([nodes]))
        code, sizes, seconds = packed["speedup"][0], packed["table_nodes"], packed["table_seconds"]
        if code == SPEEDUP_TABLE and nodes not in sizes:
            msg = f"{name} nodes {nodes} are not in its table"
            raise InvalidProblem(msg)
        self._ints[_SPEEDUP, row], self._floats[_PARAMETER, row] = code, packed["parameter"][0]
        if code != SPEEDUP_TABLE:
            return
        first, last = int(self._offsets[row]), int(self._offsets[row]) + len(sizes)
        self._table_nodes = _with_room(self._table_nodes, last)
        self._table_seconds = _with_room(self._table_seconds, last)
        self._table_nodes[first:last] = sizes
        self._table_seconds[first:last] = seconds / seconds[sizes == nodes][0]
        self._offsets[row + 1] = last


def _with_room(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """Return an array that has room for so many columns, at least twice as many as before if it has not."""
    have = array.shape[-1]
    if have >= needed:
        return array
    larger = np.zeros((*array.shape[:-1], max(needed, 2 * have)), dtype=array.dtype)
    larger[..., :have] = array
    return larger


def _size(what: str, value: object) -> int:
    number = integer(what, value)
    if number < 1:
        msg = f"{what} {number} is not at least 1"
        raise InvalidProblem(msg)
    return number


def _moment(what: str, value: object) -> float:
    number = real(what, value)
    if not math.isfinite(number):
        msg = f"{what} {number} is no time"
        raise InvalidProblem(msg)
    return number


def _least(what: str, value: object) -> float:
    number = real(what, value)
    if not number >= 0:
        msg = f"{what} {number} is not at least 0"
        raise InvalidProblem(msg)
    return number
