"""Workloads: jobs that are submitted over time to a cluster of equal nodes, and their schedules."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem, UnsupportedProblem
from allocsolve.model.arrays import MAX_INTEGER, IntArray, frozen, packed_integers
from allocsolve.model.checks import in_range, integer
from allocsolve.model.columns import FloatArray, are_exact, times_column
from allocsolve.model.evolving import PROFILE, REACTIVE
from allocsolve.model.job_kinds import MALLEABLE, RIGID, are_allowed_sizes
from allocsolve.model.jobs import Jobs
from allocsolve.model.machine import checked_amounts, checked_machine
from allocsolve.model.packed_places import check_places
from allocsolve.model.place_counts import counted
from allocsolve.model.places import checked_types, num_places
from allocsolve.model.plain_only import WHY_PLAIN
from allocsolve.model.problem import OfArrays, Rebuilt, checked_labels, objective_option
from allocsolve.model.speedup import AMDAHL, OVERHEAD, POWER, SPEEDUP_TABLE, time_factor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.model.evolving import Phases
    from allocsolve.model.jobs import Job
    from allocsolve.model.machine import Amounts, ClosedWindow
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.model.places import NodeType
    from allocsolve.model.plain_only import PlainOnly

#: What can be minimised of a schedule; see `WorkloadProblem`.
WorkloadTerm: TypeAlias = Literal["turnaround", "slowdown", "wait", "makespan"]
#: All terms of objectives, the default first.
WORKLOAD_OBJECTIVES: tuple[WorkloadTerm, ...] = get_args(WorkloadTerm)

#: What to minimise: one term, or several in lexicographic order.
WorkloadObjective: TypeAlias = Annotated[tuple[WorkloadTerm, ...], objective_option(WORKLOAD_OBJECTIVES)]

#: Seconds; a shorter run time counts as this long in the slowdown of a job.
SLOWDOWN_FLOOR_S = 10


@dataclass(frozen=True, slots=True)
class WorkloadProblem(Rebuilt):
    """Run each job once, not before its submission, such that the cluster is never over-committed.

    A rigid job holds `Job.nodes` nodes for its run time; a moldable one any number that it allows, from its
    start to its end, for the run time on that number. A malleable one may change its number while it runs, at
    its points: it has done its work when the time that it spent on each number, as a share of the run time on
    that number, adds up to 1. It never stops on the way. Nodes that are left at an instant are there for jobs
    that start or grow at that instant.

    What can be minimised, with the weights w of the jobs:

    turnaround
        Mean of end minus submission, in seconds: sum of w (end - submit) over sum of w. 0 if no job counts.
    slowdown
        Mean of ``max(1, turnaround / max(run time, 10 s))``; the run time is that on `Job.nodes` nodes.
    wait
        Mean of start minus submission, in seconds.
    makespan
        The latest end of a job, in seconds from time 0, whatever its weight.

    Parameters
    ----------
    num_nodes
        Nodes of the cluster, >= 1; None, or the sum of their counts, with `node_types`.
    jobs
        `Jobs`, or rows of them; each fits the cluster.
    name
        For people; two problems that differ in name only have the same digest.
    meta
        Where the problem comes from (log, generator, seed): carried along, never read by a solver.
    resources
        Counted resources beside the nodes, such as GPUs or licences: how much there is of each, by name. At
        no instant jobs hold more of one than is there.
    closed
        When a part of the machine is closed; what several windows close adds up, down to nothing. A job that
        runs into a window needs room beside what is closed: it never stops for one. Where nodes are places,
        windows name the nodes that are closed, or close all.
    node_types
        If there are any, nodes are places: each has its own amounts, jobs are rigid and hold chunks on nodes
        (`Job.chunks`) or whole nodes, and answers say where. Node ids are 0.., those of the first type first.

    Examples
    --------
    >>> from allocsolve.model import Job
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])
    >>> problem.jobs[1].name, problem.area, problem.is_exact
    ('j1', 1340.0, True)
    """

    num_nodes: int
    jobs: Jobs
    name: str = ""
    meta: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    resources: Amounts = ()
    closed: tuple[ClosedWindow, ...] = ()
    node_types: tuple[NodeType, ...] = ()

    def __init__(
        self,
        num_nodes: int | None,
        jobs: Jobs | Iterable[Job],
        name: str = "",
        meta: Mapping[str, object] | None = None,
        resources: Mapping[str, int] | Amounts = (),
        closed: Iterable[ClosedWindow] = (),
        *,
        node_types: Iterable[NodeType] = (),
    ) -> None:
        types = checked_types(node_types, dict(checked_amounts("resources", resources)))
        if types and num_nodes is None:
            num_nodes = num_places(types)
        object.__setattr__(self, "node_types", types)
        object.__setattr__(self, "num_nodes", integer("num_nodes", num_nodes))
        object.__setattr__(self, "jobs", Jobs.of(jobs))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "meta", checked_labels(name, {} if meta is None else meta))
        there, windows = checked_machine(resources, closed, self.num_nodes)
        object.__setattr__(self, "resources", there)
        object.__setattr__(self, "closed", windows)
        self._check()

    def _check(self) -> None:
        in_range("num_nodes", self.num_nodes, 1)
        packed = self.jobs.packed
        for what, sizes in (("nodes", packed.nodes), ("max_nodes", packed.max_nodes)):
            if len(sizes) and sizes.max() > self.num_nodes:
                idx = int(np.argmax(sizes > self.num_nodes))
                msg = f"job {self.jobs.names[idx]!r}: {sizes[idx]} {what} on a cluster of {self.num_nodes}"
                raise InvalidProblem(msg)
        asked = self.jobs.requirements
        if asked.needs or asked.partitions:
            asked.check(self.jobs.names, packed.nodes, packed.kind != RIGID, self.resources)
        if self.node_types or self.jobs.shapes or any(window.node_ids for window in self.closed):
            self._check_places()
        if self.horizon > MAX_INTEGER:
            raise InvalidProblem(f"latest submission plus all run times is {self.horizon:.3g} s, beyond 2^53")

    def _check_places(self) -> None:
        """Refuse what does not go with nodes that are places."""
        there = num_places(self.node_types)
        if not there:
            asking = (
                f"job {name!r} has chunks or types"
                for name, shape in zip(self.jobs.names, self.jobs.shapes, strict=False)
                if shape.fields()
            )
            naming = (f"{window.place}: has node_ids" for window in self.closed if window.node_ids)
            raise InvalidProblem(f"{next(itertools.chain(asking, naming))}, but there are no node_types")
        if self.num_nodes != there:
            raise InvalidProblem(f"num_nodes {self.num_nodes}, but node_types have {there} nodes")
        flexible = self.jobs.packed.kind != RIGID
        if flexible.any():
            job = self.jobs[int(np.argmax(flexible))]
            raise InvalidProblem(f"job {job.name!r} is {job.kind}: where nodes are places all jobs are rigid")
        if by_amounts := next((window.place for window in self.closed if window.amounts), None):
            raise InvalidProblem(f"{by_amounts}: where nodes are places, a window closes node_ids, or all")
        check_places(self.node_types, self.jobs)

    @property
    def answer_type(self) -> type[WorkloadSchedule]:
        """The type of its answers."""
        return WorkloadSchedule

    @property
    def packed(self) -> PackedJobs:
        """The jobs as arrays, for all that knows plain machines only.

        What takes account of the whole machine reads ``jobs.packed``, and
        `allocsolve.model.packed_machine`.

        `UnsupportedProblem` if the problem is not plain: what reads these arrays alone would answer another
        problem.
        """
        self.check_plain()
        return self.jobs.packed

    @property
    def on_nodes(self) -> PackedJobs:
        """The jobs as arrays, for all that knows nodes only, be they counted or places.

        `UnsupportedProblem` if the problem has more than that.
        """
        if not self.node_types or self.resources or self.closed or self.jobs.requirements:
            self.check_plain("views")
        return self.jobs.packed

    def check_plain(self, why: PlainOnly = "nodes", policy: str = "") -> None:
        """Raise `UnsupportedProblem` if the problem is not plain, with a reason that may name a policy."""
        if self.beyond_plain:
            reason = WHY_PLAIN[why].format(policy=policy)
            raise UnsupportedProblem(f"the workload has {self.beyond_plain}, {reason}")

    @property
    def is_plain(self) -> bool:
        """Whether equal nodes, which are always there, are all that jobs need."""
        return not (self.resources or self.closed or self.node_types or self.jobs.requirements)

    @property
    def beyond_plain(self) -> str:
        """What there is besides jobs on nodes, for messages; empty if the problem is plain."""
        asked = self.jobs.requirements
        parts = {
            "closed windows": self.closed,
            "counted resources": self.resources,
            "jobs that are eligible later": len(asked.eligible),
            "head starts": len(asked.boost),
            "nodes as places": self.node_types,
        }
        *first, last = [what for what, there in parts.items() if there] or [""]
        return f"{', '.join(first)} and {last}" if first else last

    def on_counts(self) -> WorkloadProblem:
        """Return the same jobs on a machine whose nodes are counted; itself if they are.

        If all jobs hold whole nodes of any type, it is the problem without `node_types`, and has the same
        schedules if no node is closed for a time. Else they need counted resources, such that each schedule
        on places is one of that problem, of the same value, but not the other way round: what no schedule of
        that goes below, none of this does. These are all that chunks take of each resource of nodes; what
        jobs take that may use one type only, of those nodes; and chunks that are large beside their nodes, by
        dual feasible functions. The one of which jobs need most is its nodes: so `Job.nodes` and `num_nodes`
        are amounts of it. Closed is what the nodes have that are. O(jobs x types x resources + nodes x
        windows).
        """
        if not self.node_types:
            return self
        return replace(self, **counted(self.node_types, self.jobs, self.resources, self.closed))

    def on_plain_machine(self) -> WorkloadProblem:
        """Return the same jobs with nodes as all that they need, on a machine that is always open.

        Every schedule of this problem is one of that, of the same value: what no schedule of that goes below,
        none of this does. It is the workload itself if that is plain. O(jobs).
        """
        if self.is_plain:
            return self
        if self.node_types:
            return self.on_counts().on_plain_machine()
        return WorkloadProblem(self.num_nodes, self.jobs.without_requirements(), self.name, self.meta)

    @property
    def is_rigid(self) -> bool:
        """Whether all jobs are rigid."""
        return not (self.jobs.speedups or self.jobs.evolutions)

    @property
    def is_malleable(self) -> bool:
        """Whether there is a malleable job."""
        return bool((self.jobs.packed.kind == MALLEABLE).any())

    @property
    def is_evolving(self) -> bool:
        """Whether there is an evolving job."""
        return bool(self.jobs.evolutions)

    @property
    def is_elastic(self) -> bool:
        """Whether there is a job that may change its size while it runs, malleable or evolving."""
        return self.is_evolving or self.is_malleable

    @property
    def horizon(self) -> float:
        """Latest submission plus the sum of the longest run times, in seconds: some optimum ends by then.

        The latest instant at which a job becomes eligible, or a closed window ends, counts as a submission.
        """
        packed = self.jobs.packed
        longest = packed.runtime if self.is_rigid else self.run_times(packed.min_nodes)
        if self.is_evolving:
            reading = self.jobs.evolving.reading
            longest = np.where(reading == REACTIVE, self.run_times(np.ones_like(packed.nodes)), longest)
            longest = np.where(reading == PROFILE, packed.runtime, longest)
        latest = self.jobs.requirements.release(packed.submit).max(initial=0)
        latest = max([latest, *(window.end for window in self.closed)])
        return float(latest + longest.sum())

    @property
    def least_held(self) -> IntArray:
        """The nodes that each job surely holds at every instant from its start to its end, shape (jobs,).

        That is less than `Job.min_nodes` of a job with phases, which may fall to one node, and of one with a
        profile that has a step of no nodes.
        """
        fewest, evolving = self.jobs.packed.min_nodes, self.jobs.evolving
        if not self.is_evolving:
            return fewest
        held = np.where(evolving.reading == REACTIVE, 1, fewest)
        for idx in np.flatnonzero(evolving.reading == PROFILE).tolist():
            held[idx] = evolving.nodes[slice(*evolving.offsets[idx : idx + 2])].min()
        return frozen(held)

    @property
    def area(self) -> float:
        """Sum of nodes times run time, in node-seconds; of moldable jobs, on `Job.nodes` nodes."""
        packed = self.jobs.packed
        return float((packed.nodes * packed.runtime).sum())

    @property
    def is_exact(self) -> bool:
        """Whether all times of the best schedules are multiples of a quarter of a second.

        So it is if no job changes its size and all submissions, run times and edges of windows are such
        multiples, whole ones where the horizon is beyond 2^51 s. Then the judge compares times exactly, and
        so do bounds. Limits do not count: policies make plans of them and may start jobs at other times,
        which are later than they need be.
        """
        packed = self.jobs.packed
        rounded = (packed.speedup == AMDAHL) | (packed.speedup == POWER) | (packed.speedup == OVERHEAD)
        rounded &= packed.min_nodes < packed.max_nodes
        if self.is_elastic or rounded.any():
            return False
        edges = [edge for window in self.closed for edge in (window.start, window.end)]
        eligible = np.nan_to_num(self.jobs.requirements.eligible)
        times = [packed.submit, packed.runtime, packed.table_seconds, eligible, np.array(edges)]
        return are_exact(times, self.horizon)

    def cut_at_limits(self) -> WorkloadProblem:
        """Return the workload as it runs where each job is killed at its limit.

        A job whose run time is above its limit has the limit as its run time, and as much less on other
        numbers of nodes. `meta` then says ``{"limits": "cut"}``. It is the workload itself if there is no
        such job. O(jobs).

        `InvalidOption` if such a job may change its size while it runs.

        Examples
        --------
        >>> from allocsolve.model import Job
        >>> problem = WorkloadProblem(4, [Job(0, 2, runtime=4, limit=3), Job(0, 1, runtime=4)])
        >>> problem.cut_at_limits().packed.runtime.tolist()
        [3.0, 4.0]
        """
        jobs = self.jobs.cut_at_limits()
        if jobs is self.jobs:
            return self
        return replace(self, jobs=jobs, meta={**self.meta, "limits": "cut"})

    def run_times(self, sizes: IntArray, jobs: IntArray | None = None) -> FloatArray:
        """Return how long jobs run on given numbers of nodes.

        `jobs` are indices, of the shape of the sizes; each job in order if left out. In seconds, NaN where a
        job cannot run on that number. One that is made of chunks may lie on as many nodes as it has chunks.
        Of a job with phases, the time on 1 to `Job.max_nodes` nodes without changes; of one with a profile,
        that of all steps on the nodes of the first one.
        """
        packed = self.jobs.packed
        at = np.arange(len(self.jobs)) if jobs is None else jobs
        reference, law, parameter = packed.nodes[at], packed.speedup[at], packed.parameter[at]
        most = packed.max_nodes
        if self.jobs.shapes:
            most = np.array([shape.chunks for shape in self.jobs.shapes])
        allowed = (packed.min_nodes[at] <= sizes) & (sizes <= most[at])
        allowed &= are_allowed_sizes(packed.size_step[at], sizes)
        times = np.where(allowed, packed.runtime[at], np.nan)
        other = allowed & (sizes != reference)
        for code in (AMDAHL, POWER, OVERHEAD):
            rows = np.flatnonzero(other & (law == code))
            if len(rows):
                share, wanted, own = parameter[rows], sizes[rows].astype(float), reference[rows].astype(float)
                times[rows] *= time_factor(code, share, wanted) / time_factor(code, share, own)
        for row in np.flatnonzero(other & (law == SPEEDUP_TABLE)).tolist():
            table = self.jobs.speedups[at[row]]
            times[row] = dict(table.rows).get(int(sizes[row]), np.nan)
        if self.is_evolving:
            self._set_times_of_evolving(times, sizes, at)
        return times

    def _set_times_of_evolving(self, times: FloatArray, sizes: IntArray, at: IntArray) -> None:
        """Set the times of jobs with phases or profiles."""
        reading = self.jobs.evolving.reading[at]
        packed = self.jobs.packed
        times[(reading == PROFILE) & (sizes != packed.nodes[at])] = np.nan
        for row in np.flatnonzero(reading == REACTIVE).tolist():
            job, nodes = int(at[row]), int(sizes[row])
            phases: Phases = self.jobs.evolutions[job]  # type: ignore[assignment]  # its code says that it has phases
            start = float(self.jobs.evolving.join_start[job])
            allowed = 1 <= nodes <= packed.max_nodes[job]
            times[row] = start + phases.run_time(nodes) if allowed else np.nan


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadSchedule(OfArrays):
    """How many nodes each job held when: its pieces, in order of time.

    Parameters
    ----------
    offsets
        Shape (jobs + 1,): the pieces of job ``j`` are ``offsets[j]:offsets[j + 1]``.
    starts, ends
        Shape (pieces,), seconds.
    nodes
        Shape (pieces,).
    place_offsets, place_nodes, place_chunks
        Where pieces lie if nodes are places: piece ``p`` has ``place_chunks`` chunks on each of the nodes
        ``place_nodes``, both at ``place_offsets[p]:place_offsets[p + 1]``, and `nodes` says how many nodes
        these are. None if no piece says it.

    Examples
    --------
    >>> from allocsolve.model import Job
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10)])
    >>> schedule = WorkloadSchedule.of(problem, [0, 100])
    >>> schedule.pieces(1), schedule.last_ends.tolist()
    (((100.0, 110.0, 4),), [100.0, 110.0])
    """

    offsets: IntArray
    starts: FloatArray
    ends: FloatArray
    nodes: IntArray
    place_offsets: IntArray | None = None
    place_nodes: IntArray | None = None
    place_chunks: IntArray | None = None

    def __post_init__(self) -> None:
        for name in ("offsets", "nodes"):
            object.__setattr__(self, name, packed_integers(getattr(self, name), name))
        for name in ("starts", "ends"):
            object.__setattr__(self, name, times_column(name, getattr(self, name)))
        offsets = self.offsets
        if offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise InvalidAnswer("offsets must start at 0 and never fall")
        shapes = {self.starts.shape, self.ends.shape, self.nodes.shape}
        if shapes != {(int(offsets[-1]),)}:
            msg = f"starts, ends and nodes of the shapes {sorted(shapes)} for {offsets[-1]} pieces"
            raise InvalidAnswer(msg)
        self._check_places()

    def _check_places(self) -> None:
        names = ("place_offsets", "place_nodes", "place_chunks")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        for name, values in given.items():
            object.__setattr__(self, name, packed_integers(values, name))
        at, nodes, chunks = self.place_offsets, self.place_nodes, self.place_chunks
        if not given or at is None or nodes is None or chunks is None:
            if given:
                raise InvalidAnswer(
                    f"{', '.join(names)} belong together: {', '.join(given)} alone says nothing"
                )
            return
        rises = at.shape == (len(self.nodes) + 1,) and at[0] == 0 and (at[1:] >= at[:-1]).all()
        if not (rises and nodes.shape == chunks.shape == (int(at[-1]),)):
            shapes = f"{at.shape}, {nodes.shape} and {chunks.shape}"
            raise InvalidAnswer(f"{', '.join(names)} of the shapes {shapes} for {len(self.nodes)} pieces")

    @classmethod
    def of(
        cls, problem: WorkloadProblem, starts: object, sizes: Sequence[int] | IntArray | None = None
    ) -> WorkloadSchedule:
        """Build a schedule of jobs that never change their size.

        Starts are in seconds; sizes are those of the problem if left out. `InvalidAnswer` if a job cannot run
        on its number of nodes, or there is not one start for each job.
        """
        begins = times_column("starts", starts)
        jobs = problem.jobs.packed
        nodes = jobs.nodes if sizes is None else packed_integers(sizes, "sizes")
        if begins.shape != (len(problem.jobs),) or nodes.shape != begins.shape:
            raise InvalidAnswer(f"{begins.shape} starts and {nodes.shape} sizes for {len(problem.jobs)} jobs")
        times = jobs.runtime if sizes is None else problem.run_times(nodes)
        if np.isnan(times).any():
            idx = int(np.argmax(np.isnan(times)))
            raise InvalidAnswer(f"job {problem.jobs.names[idx]!r} cannot run on {nodes[idx]} nodes")
        return cls(frozen(np.arange(len(begins) + 1)), begins, begins + times, nodes)

    @classmethod
    def on_places(
        cls, problem: WorkloadProblem, starts: object, offsets: object, nodes: object, chunks: object
    ) -> WorkloadSchedule:
        """Build a schedule on nodes that are places.

        Job ``j`` starts at ``starts[j]`` seconds, and has ``chunks`` chunks on each of the nodes ``nodes``,
        both at ``offsets[j]:offsets[j + 1]``. `InvalidAnswer` if shapes differ; the judge says the rest.
        """
        begins, at = times_column("starts", starts), packed_integers(offsets, "offsets")
        if begins.shape != (len(problem.jobs),) or at.shape != (len(begins) + 1,):
            raise InvalidAnswer(f"{begins.shape} starts and {at.shape} offsets for {len(problem.jobs)} jobs")
        return cls(
            frozen(np.arange(len(begins) + 1)),
            begins,
            begins + problem.jobs.packed.runtime,
            frozen(np.diff(at)),
            *(at, packed_integers(nodes, "nodes"), packed_integers(chunks, "chunks")),
        )

    def pieces(self, job_idx: int) -> tuple[tuple[float, float, int], ...]:
        """Return start and end (seconds) and nodes of each piece of a job."""
        at = slice(self.offsets[job_idx], self.offsets[job_idx + 1])
        columns = (self.starts[at].tolist(), self.ends[at].tolist(), self.nodes[at].tolist())
        return tuple(zip(*columns, strict=True))

    @property
    def first_starts(self) -> FloatArray:
        """Shape (jobs,): when each job starts, in seconds; NaN for one without pieces."""
        return self._of_jobs(self.starts, self.offsets[:-1])

    @property
    def last_ends(self) -> FloatArray:
        """Shape (jobs,): when each job ends, in seconds; NaN for one without pieces."""
        return self._of_jobs(self.ends, self.offsets[1:] - 1)

    def _of_jobs(self, values: FloatArray, at: IntArray) -> FloatArray:
        if len(values) == len(at) and (np.diff(self.offsets) == 1).all():
            return values
        times = np.full(len(at), np.nan)
        running = self.offsets[1:] > self.offsets[:-1]
        times[running] = values[at[running]]
        return times
