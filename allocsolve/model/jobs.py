"""The jobs of a workload: stored as columns, shown as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem, UnsupportedProblem
from allocsolve.model.arrays import frozen
from allocsolve.model.checks import instance, items, shown
from allocsolve.model.columns import (
    FloatArray,
    counts_column,
    packed_speedups,
    plain,
    seconds_column,
    texts_column,
    within,
)
from allocsolve.model.evolving import PROFILE, Profile, evolving_faults, packed_evolving, wrong_run_times
from allocsolve.model.job_kinds import (
    ALL_SIZES,
    EVOLVING,
    MALLEABLE,
    job_kind,
    kind_columns,
    kind_faults,
    size_set,
)
from allocsolve.model.machine import Requirements
from allocsolve.model.packed_jobs import PackedJobs
from allocsolve.model.places import given_shapes, shape_columns
from allocsolve.model.problem import Keyed
from allocsolve.model.speedup import NO_SPEEDUP, SPEEDUP_TABLE, SpeedupTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from allocsolve.model.arrays import IntArray
    from allocsolve.model.evolving import Evolution, PackedEvolving, Reconfiguration
    from allocsolve.model.job_kinds import JobKind, SizeSet
    from allocsolve.model.machine import Amounts
    from allocsolve.model.places import Shape
    from allocsolve.model.speedup import Speedup


@dataclass(frozen=True, slots=True)
class Job:
    """One job: a row of `Jobs`, which checks it.

    Parameters
    ----------
    submit
        When it enters the queue, in seconds, >= 0.
    nodes
        How many nodes it runs on; of a moldable or malleable job, the number to which `runtime` refers; of
        one that is made of chunks, the fewest, which are at least as many as its chunks need.
    runtime
        How long it runs on `nodes` nodes, in seconds, above 0.
    limit
        The run time that the user asked for, in seconds, above 0; None if it is not given.
    name
        Distinct; ``j0``, ``j1``, ... by position if empty.
    user
        Who submitted it, if that is known.
    weight
        How much it counts in objectives, >= 0. A job of weight 0 runs, but does not count.
    min_nodes, max_nodes
        The fewest and most nodes of a job that is not rigid; if left out, those of its profile or of its
        table of speedups, else `nodes`.
    speedup
        The law of a moldable or malleable job; None for a rigid one.
    kind
        ``rigid``, ``moldable`` (its number of nodes is chosen at its start), ``malleable`` (it may change
        while the job runs) or ``evolving`` (the job itself asks for changes); if left out, evolving with an
        evolution, else moldable with a speedup and rigid without.
    points
        Into how many equal parts the work of a malleable job is divided, between which its number of nodes
        may change; 0: it may change at any time.
    size_set
        The numbers of nodes on which the job may run, from `min_nodes` to `max_nodes`: multiples of an
        integer (1: all), or ``powers-of-two``. A table of speedups has its own.
    evolution
        How an evolving job asks for nodes and gives them back. With `Requests` it has a speedup besides; with
        `Phases` `runtime` is the time on `nodes` nodes without changes, the start included; with a `Profile`
        `runtime` is the sum of its steps, `nodes` those of the first one, and `min_nodes` and `max_nodes` are
        their least and most, each 1 where the profile says 0.
    reconfiguration
        What changes of its size cost: a `Stall` of a malleable job or one with requests, a `Join` of one with
        phases; nothing if left out.
    needs
        How much a rigid job needs of counted resources while it runs, by their names.
    partition
        A resource of which a rigid job needs as much as it has nodes.
    eligible
        Before which instant it must not start, in seconds; its submission if left out. Waits and turnarounds
        count from the submission.
    boost
        Its head start, in seconds: in the queue it counts as submitted so much earlier.
    chunks
        Of how many equal chunks a rigid job is made, each on one node, where nodes are places
        (`WorkloadProblem.node_types`); whole nodes, `nodes` of them, if left out.
    each
        How much a chunk takes of what its node has, by name.
    per_node
        The most chunks on a node; any number if left out.
    exclusive
        Whether it shares its nodes with nobody. It then holds all of each of them.
    types
        The types of nodes that it may use, by name; any if left out.
    """

    submit: float
    nodes: int
    runtime: float
    limit: float | None = None
    name: str = ""
    user: str | None = None
    weight: float = 1
    min_nodes: int | None = None
    max_nodes: int | None = None
    speedup: Speedup | None = None
    kind: JobKind | None = None
    points: int = 0
    size_set: SizeSet = 1
    evolution: Evolution | None = None
    reconfiguration: Reconfiguration | None = None
    needs: Mapping[str, int] | None = None
    partition: str | None = None
    eligible: float | None = None
    boost: float = 0
    chunks: int | None = None
    each: Mapping[str, int] | None = None
    per_node: int | None = None
    exclusive: bool = False
    types: Sequence[str] | None = None


#: The fields of a job and the columns of `Jobs`, where these have another name.
COLUMNS: Final[Mapping[str, str]] = {
    "name": "names",
    "user": "users",
    "speedup": "speedups",
    "kind": "kinds",
    "size_set": "size_sets",
    "evolution": "evolutions",
    "reconfiguration": "reconfigurations",
    "partition": "partitions",
}
#: The limit assumed for a job without one, as a multiple of its run time (Zojer et al. 2025).
DEFAULT_LIMIT_FACTOR = 1.25


class Jobs(Keyed, Sequence[Job]):
    """The jobs of a workload, in any order; immutable.

    Parameters
    ----------
    submit, nodes, runtime
        Columns of equal length, see `Job`.
    limit
        Seconds, NaN where no limit is given; all without one if left out.
    names, users, weight, min_nodes, max_nodes, speedups, kinds, points, size_sets
        Columns, or None for what `Job` has by default.
    evolutions, reconfigurations, needs, partitions, eligible, boost
        Columns, or None for what `Job` has by default.
    chunks, each, per_node, exclusive, types
        Columns, or None if all jobs hold whole nodes.

    Examples
    --------
    >>> jobs = Jobs(submit=[0, 5], nodes=[4, 8], runtime=[600, 60.5], limit=[900, float("nan")])
    >>> jobs[1].name, jobs[1].runtime, jobs[1].limit
    ('j1', 60.5, None)
    >>> jobs.packed.estimate.tolist()
    [900.0, 75.625]
    """

    __slots__ = (
        *("evolutions", "evolving", "limit", "names", "packed", "reconfigurations"),
        *("requirements", "shapes", "speedups", "users"),
    )

    #: Distinct.
    names: tuple[str, ...]
    #: One for each job; empty if no user is known.
    users: tuple[str | None, ...]
    #: Shape (jobs,), seconds; NaN where no limit is given.
    limit: FloatArray
    #: One for each job; empty if all are rigid.
    speedups: tuple[Speedup | None, ...]
    #: One for each job; empty if none evolves, or no change costs anything.
    evolutions: tuple[Evolution | None, ...]
    reconfigurations: tuple[Reconfiguration | None, ...]
    packed: PackedJobs
    evolving: PackedEvolving
    #: What they ask for beside nodes: counted resources, partitions, earliest starts, head starts.
    requirements: Requirements
    #: What they hold on nodes that are places; empty if all hold whole nodes of any type.
    shapes: tuple[Shape, ...]

    def __init__(
        self,
        submit: object,
        nodes: object,
        runtime: object,
        limit: object = None,
        *,
        names: Iterable[str] | None = None,
        users: Iterable[str | None] | None = None,
        weight: object = None,
        min_nodes: object = None,
        max_nodes: object = None,
        speedups: Iterable[Speedup | None] | None = None,
        kinds: Iterable[JobKind | None] | None = None,
        points: object = None,
        size_sets: Iterable[SizeSet] | None = None,
        evolutions: Iterable[Evolution | None] | None = None,
        reconfigurations: Iterable[Reconfiguration | None] | None = None,
        needs: Iterable[Mapping[str, int] | Amounts | None] | None = None,
        partitions: Iterable[str | None] | None = None,
        eligible: object = None,
        boost: object = None,
        chunks: Iterable[int | None] | None = None,
        each: Iterable[Mapping[str, int] | Amounts | None] | None = None,
        per_node: Iterable[int | None] | None = None,
        exclusive: Iterable[bool] | None = None,
        types: Iterable[Iterable[str] | None] | None = None,
    ) -> None:
        starts = seconds_column("submit", submit)
        count = len(starts)
        self.names = (
            tuple(f"j{idx}" for idx in range(count)) if names is None else texts_column("names", names)
        )
        self.users = () if users is None else texts_column("users", users, none=True)
        self.speedups = _if_any(() if speedups is None else items("speedups", speedups))
        self.evolutions = _if_any(() if evolutions is None else items("evolutions", evolutions))
        self.reconfigurations = _if_any(
            () if reconfigurations is None else items("reconfigurations", reconfigurations)
        )
        if not any(self.users):
            self.users = ()
        self.limit = np.full(count, np.nan) if limit is None else seconds_column("limit", limit)
        self.limit.setflags(write=False)
        needed, lengths = counts_column("nodes", nodes), seconds_column("runtime", runtime)
        low = needed if min_nodes is None or chunks is None else counts_column("min_nodes", min_nodes)
        fewest = np.maximum(needed, low) if len(low) == len(needed) else needed
        columns = {
            "chunks": chunks,
            "each": each,
            "per_node": per_node,
            "exclusive": exclusive,
            "types": types,
        }
        shapes = given_shapes(self.names, fewest, columns)
        if shapes and len(low) == len(needed):  # all of them are rigid
            needed, min_nodes, max_nodes = (
                frozen(np.array([shape.least_nodes for shape in shapes])),
                None,
                None,
            )
        self.shapes = shapes if any(shape.fields() for shape in {*shapes}) else ()
        laws = packed_speedups(self.speedups, needed)
        if self.evolutions:
            kinds = _with_evolving(kinds, self.evolutions)
        packed = PackedJobs(
            submit=starts,
            nodes=needed,
            min_nodes=self._limits(needed, 0) if min_nodes is None else counts_column("min_nodes", min_nodes),
            max_nodes=self._limits(needed, 1) if max_nodes is None else counts_column("max_nodes", max_nodes),
            runtime=lengths,
            estimate=frozen(np.where(np.isnan(self.limit), DEFAULT_LIMIT_FACTOR * lengths, self.limit))
            if len(lengths) == len(self.limit)
            else lengths,
            weight=frozen(np.ones(count)) if weight is None else seconds_column("weight", weight),
            **laws,
            **kind_columns(kinds, points, size_sets, laws["speedup"]),
        )
        self.packed = packed
        self.evolving = packed_evolving(self.evolutions, self.reconfigurations, count)
        self._check()
        self.requirements = Requirements(self.names, starts, needs, partitions, eligible, boost)

    def _limits(self, nodes: IntArray, side: int) -> IntArray:
        """Return the fewest (side 0) or most nodes (side 1) that profiles, tables or `nodes` say."""
        if not (self.speedups or self.evolutions):
            return nodes
        limits = nodes.copy()
        for listed in (self.speedups, self.evolutions):
            for idx, how in enumerate(listed[: len(nodes)]):
                if isinstance(how, SpeedupTable | Profile):
                    limits[idx] = stated_range(0, how)[side]
        return frozen(limits)

    @classmethod
    def of(cls, rows: Iterable[Job]) -> Jobs:
        """Return the jobs of these rows."""
        if isinstance(rows, cls):
            return rows
        jobs = [instance(f"job {idx}", row, Job) for idx, row in enumerate(items("jobs", rows))]
        columns: dict[str, list[Any]] = {
            COLUMNS.get(field.name, field.name): [getattr(job, field.name) for job in jobs]
            for field in fields(Job)
        }
        columns["limit"] = [np.nan if limit is None else limit for limit in columns["limit"]]
        columns["names"] = [name if name != "" else f"j{idx}" for idx, name in enumerate(columns["names"])]
        ranges = [stated_range(job.nodes, job.evolution or job.speedup) for job in jobs]
        for side, name in enumerate(("min_nodes", "max_nodes")):
            stated = zip(columns[name], ranges, strict=True)
            columns[name] = [range_[side] if given is None else given for given, range_ in stated]
        return cls(**columns)

    def __len__(self) -> int:
        return len(self.packed.submit)

    @overload
    def __getitem__(self, at: int) -> Job: ...
    @overload
    def __getitem__(self, at: slice) -> Jobs: ...
    def __getitem__(self, at: int | slice) -> Job | Jobs:
        if isinstance(at, slice):
            return Jobs.of([self[idx] for idx in range(*at.indices(len(self)))])
        packed = self.packed
        idx = range(len(self))[at]
        limit = float(self.limit[idx])
        return Job(
            submit=plain(packed.submit[idx]),
            nodes=int(packed.nodes[idx]),
            runtime=plain(packed.runtime[idx]),
            limit=None if np.isnan(limit) else plain(limit),
            name=self.names[idx],
            user=self.users[idx] if self.users else None,
            weight=plain(packed.weight[idx]),
            min_nodes=int(packed.min_nodes[idx]),
            max_nodes=int(packed.max_nodes[idx]),
            speedup=self.speedups[idx] if self.speedups else None,
            kind=job_kind(packed.kind[idx]),
            points=int(packed.points[idx]),
            size_set=size_set(packed.size_step[idx]),
            evolution=self.evolutions[idx] if self.evolutions else None,
            reconfiguration=self.reconfigurations[idx] if self.reconfigurations else None,
            **self.requirements.of_job(idx),
            **(self.shapes[idx].fields() if self.shapes else {}),
        )

    def cut_at_limits(self) -> Jobs:
        """Return the jobs as they run where they are killed at their limits: see `WorkloadProblem`."""
        packed = self.packed
        over = packed.runtime > self.limit
        if not over.any():
            return self
        elastic = over & (packed.kind >= MALLEABLE)
        if elastic.any():
            idx = int(np.argmax(elastic))
            msg = (
                f"job {self.names[idx]!r} runs for {plain(packed.runtime[idx])} s, beyond its limit of "
                f"{plain(self.limit[idx])} s, and changes its size: only jobs that keep theirs are killed"
            )
            raise InvalidOption(msg)
        limits = self.limit.tolist()
        laws = [
            _scaled(law, self[idx], limits[idx]) if over[idx] and isinstance(law, SpeedupTable) else law
            for idx, law in enumerate(self.speedups)
        ]
        return self.replace(runtime=np.where(over, self.limit, packed.runtime), speedups=laws or None)

    def with_runtimes(self, runtimes: FloatArray) -> Jobs:
        """Return the jobs with other run times on `Job.nodes` nodes; shape (jobs,), seconds."""
        return self.replace(runtime=runtimes)

    def replace(self, **columns: object) -> Jobs:
        """Return the jobs with some columns changed, as the constructor takes them.

        The fewest and the most nodes of jobs that are all rigid follow from their nodes.
        """
        return Jobs(**(self._columns() | columns))

    def refuse(self, which: NDArray[np.bool_], why: str) -> None:
        """Raise `UnsupportedProblem` about the first job of a mask, if it has one."""
        if which.any():
            raise UnsupportedProblem(f"job {self.names[int(np.argmax(which))]!r} {why}")

    def without_requirements(self) -> Jobs:
        """Return the jobs as if they needed nothing beside nodes."""
        return self.replace(needs=None, partitions=None, eligible=None, boost=None)

    def __iter__(self) -> Iterator[Job]:
        return (self[idx] for idx in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} jobs>"

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle by construction: the arrays stay read-only."""
        return _restored, (self._columns(),)

    def _columns(self) -> dict[str, Any]:
        """Return the columns as the constructor takes them."""
        packed, asked = self.packed, self.requirements
        has_ranges = bool(self.speedups or self.evolutions)
        return {
            "submit": packed.submit,
            "nodes": packed.nodes,
            "runtime": packed.runtime,
            "limit": self.limit,
            "names": self.names,
            "users": self.users or None,
            "weight": packed.weight,
            "min_nodes": packed.min_nodes if has_ranges else None,
            "max_nodes": packed.max_nodes if has_ranges else None,
            "speedups": self.speedups or None,
            "kinds": [*map(job_kind, packed.kind.tolist())] if (packed.kind >= MALLEABLE).any() else None,
            "points": packed.points,
            "size_sets": [*map(size_set, packed.size_step.tolist())]
            if (packed.size_step != ALL_SIZES).any()
            else None,
            "evolutions": self.evolutions or None,
            "reconfigurations": self.reconfigurations or None,
            "needs": asked.needs or None,
            "partitions": asked.partitions or None,
            "eligible": asked.eligible if len(asked.eligible) else None,
            "boost": asked.boost if len(asked.boost) else None,
            **shape_columns(self.shapes),
        }

    def _key(self) -> tuple[object, ...]:
        arrays = (self.limit, *self.packed)
        texts = (self.names, self.users, self.speedups, self.evolutions, self.reconfigurations)
        return *texts, *(array.tobytes() for array in arrays), self.requirements, self.shapes

    def _check(self) -> None:
        packed, count = self.packed, len(self)
        columns: list[tuple[str, Any]] = [("names", self.names), ("limit", self.limit)]
        columns += [(name, getattr(packed, name)) for name in ("nodes", "runtime", "weight")]
        columns += [(name, getattr(packed, name)) for name in ("min_nodes", "max_nodes")]
        columns += [("points", packed.points), ("size_sets", packed.size_step)]
        listed = ("users", "speedups", "evolutions", "reconfigurations")
        columns += [(name, getattr(self, name)) for name in listed if getattr(self, name)]
        for name, column in columns:
            if len(column) != count:
                raise InvalidProblem(f"{len(column)} {name} for {count} jobs")
        if len(set(self.names)) < count:
            seen: set[str] = set()
            twice = next(name for name in self.names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise InvalidProblem(f"job name {twice!r} is used twice")
        given = ~np.isnan(self.limit)
        for name, values, good, range_ in (
            ("submit", packed.submit, within(packed.submit, 0), "0..2^53"),
            ("runtime", packed.runtime, within(packed.runtime, 0) & (packed.runtime > 0), "0..2^53, above 0"),
            ("limit", self.limit, ~given | (within(self.limit, 0) & (self.limit > 0)), "0..2^53, above 0"),
            ("weight", packed.weight, within(packed.weight, 0), "0..2^53"),
            ("nodes", packed.nodes, packed.nodes >= 1, "1..2^53"),
            ("min_nodes", packed.min_nodes, packed.min_nodes >= 1, "1..2^53"),
        ):
            self._refuse(name, values, good, range_)
        outside = (packed.nodes < packed.min_nodes) | (packed.nodes > packed.max_nodes)
        outside &= self.evolving.reading != PROFILE  # of these, a fault names the profile
        if outside.any():
            idx = int(np.argmax(outside))
            low, size, high = packed.min_nodes[idx], packed.nodes[idx], packed.max_nodes[idx]
            msg = f"job {self.names[idx]!r}: nodes {size} is not in min_nodes..max_nodes, {low}..{high}"
            raise InvalidProblem(msg)
        rigid = (packed.speedup == NO_SPEEDUP) & (packed.kind != EVOLVING)
        fixed = packed.min_nodes == packed.max_nodes
        self._refuse("max_nodes", packed.max_nodes, ~rigid | fixed, "nodes: a job without speedup is rigid")
        faults = chain(kind_faults(packed), evolving_faults(packed, self.evolving, self.reconfigurations))
        for at_fault, matter in faults:
            if at_fault.any():
                raise InvalidProblem(f"job {self.names[int(np.argmax(at_fault))]!r} {matter}")
        for idx, seconds in wrong_run_times(packed, self.evolving, self.evolutions):
            lasts, takes = (shown(plain(value)) for value in (packed.runtime[idx], seconds))
            fault = f"job {self.names[idx]!r}: runtime {lasts}, but on its nodes it takes {takes} s"
            raise InvalidProblem(fault)
        for idx in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
            self._check_table(idx)

    def _refuse(self, what: str, values: Any, good: NDArray[np.bool_], range_: str) -> None:  # noqa: ANN401 - arrays
        if not good.all():
            idx = int(np.argmin(good))
            msg = f"job {self.names[idx]!r}: {what} {shown(plain(values[idx]))} is not in {range_}"
            raise InvalidProblem(msg)

    def _check_table(self, idx: int) -> None:
        """Refuse a table without the nodes and the run time of its job, or with sizes outside its range."""
        packed = self.packed
        rows = self.speedups[idx].rows  # type: ignore[union-attr]  # its code says that it is a table
        reference = int(packed.nodes[idx]), float(packed.runtime[idx])
        if reference not in rows:
            raise InvalidProblem(f"job {self.names[idx]!r}: the speedup table has no row {list(reference)}")
        low, high = packed.min_nodes[idx], packed.max_nodes[idx]
        if (rows[0][0], rows[-1][0]) != (low, high):
            stated = f"{rows[0][0]}..{rows[-1][0]} nodes, min_nodes..max_nodes are {low}..{high}"
            raise InvalidProblem(f"job {self.names[idx]!r}: the speedup table has {stated}")


def stated_range(nodes: int, how: Speedup | Evolution | None) -> tuple[int, int]:
    """Return the fewest and the most nodes that a profile or a table says; `nodes` for all else."""
    if isinstance(how, Profile):
        sizes = [max(1, size) for _, size in how.steps]
        return min(sizes), max(sizes)
    if isinstance(how, SpeedupTable):
        return how.rows[0][0], how.rows[-1][0]
    return nodes, nodes


def _with_evolving(
    kinds: Iterable[JobKind | None] | None, evolutions: tuple[Evolution | None, ...]
) -> list[JobKind | None]:
    """Return the kinds of jobs, evolving where none is given for a job that evolves."""
    given = (None,) * len(evolutions) if kinds is None else items("kinds", kinds)
    return [
        "evolving" if kind is None and evolution is not None else kind
        for kind, evolution in zip(given, evolutions, strict=False)
    ]


def _scaled(table: SpeedupTable, job: Job, runtime: float) -> SpeedupTable:
    """Return the table of a job that has another run time on its number of nodes."""
    return SpeedupTable(
        [
            (nodes, runtime if nodes == job.nodes else seconds * (runtime / job.runtime))
            for nodes, seconds in table.rows
        ]
    )


def _if_any(column: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a column, or an empty one if it has only None."""
    return () if all(value is None for value in column) else column


def _restored(columns: Mapping[str, Any]) -> Jobs:
    return Jobs(**columns)
