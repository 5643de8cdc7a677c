"""Reservation: jobs with deadlines that book nodes of a mesh or torus (Linnert et al. 2024)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER, IntArray, frozen, packed_integers
from allocsolve.model.checks import choice, flag, in_range, instance, integer, items, real, shown
from allocsolve.model.columns import plain, times_column
from allocsolve.model.partition import Topology
from allocsolve.model.problem import OfArrays, Rebuilt, checked_labels, objective_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.model.columns import FloatArray

#: Outcomes of a job: not accepted; accepted and not executed; ended by itself in time; stopped.
REJECTED, BOOKED, SUCCESSFUL, CANCELLED = range(4)

#: The outcomes by their codes.
OUTCOMES: Final = ("rejected", "booked", "successful", "cancelled")


class Hold(NamedTuple):
    """A node that a job holds for some time."""

    node: int
    start: float  #: seconds
    end: float  #: seconds


@dataclass(frozen=True, slots=True, eq=False)
class ReservationSchedule(OfArrays):
    """The outcome of each job, and which nodes it held when.

    Parameters
    ----------
    outcomes
        Shape (jobs,): `REJECTED`, `BOOKED`, `SUCCESSFUL` or `CANCELLED`.
    ends
        Shape (jobs,), seconds: when the job ended or was stopped; of a booked one, when its booking ends; NaN
        of a rejected one.
    offsets
        Shape (jobs + 1,): the holds of job ``j`` are ``offsets[j]:offsets[j + 1]``, ordered by start, then
        node.
    nodes
        Shape (holds,): node ids.
    hold_starts, hold_ends
        Shape (holds,), seconds: from when until when the job has the node.
    computed
        Shape (jobs,), node-seconds in which a process of the job computed on a node, as an execution claims
        them; None without an execution.

    Examples
    --------
    >>> from allocsolve.model import DeadlineJob, Mesh, ReservationProblem
    >>> problem = ReservationProblem(Mesh((2, 2)), [DeadlineJob(0, 2, 10, 10), DeadlineJob(0, 3, 5, 20)])
    >>> schedule = ReservationSchedule.of(problem, {0: (0, [0, 1])})
    >>> schedule.outcomes.tolist(), schedule.holds(0)
    ([1, 0], (Hold(node=0, start=0.0, end=10.0), Hold(node=1, start=0.0, end=10.0)))
    """

    outcomes: IntArray
    ends: FloatArray
    offsets: IntArray
    nodes: IntArray
    hold_starts: FloatArray
    hold_ends: FloatArray
    computed: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("outcomes", "offsets", "nodes"):
            object.__setattr__(self, name, packed_integers(getattr(self, name), name))
        for name in ("hold_starts", "hold_ends"):
            object.__setattr__(self, name, times_column(name, getattr(self, name)))
        object.__setattr__(self, "ends", times_column("ends", self.ends, has_gaps=True))
        if self.computed is not None:
            object.__setattr__(self, "computed", times_column("computed", self.computed))
        offsets, outcomes = self.offsets, self.outcomes
        if offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise InvalidAnswer("offsets must start at 0 and never fall")
        jobs = {outcomes.shape, self.ends.shape, (len(offsets) - 1,)}
        jobs |= set() if self.computed is None else {self.computed.shape}
        holds = {self.nodes.shape, self.hold_starts.shape, self.hold_ends.shape, (int(offsets[-1]),)}
        for what, shapes in (("jobs", jobs), ("holds", holds)):
            if len(shapes) > 1:
                raise InvalidAnswer(f"columns of {what} of the shapes {sorted(shapes)}")
        if ((outcomes < REJECTED) | (outcomes > CANCELLED)).any():
            msg = f"outcome {outcomes[(outcomes < REJECTED) | (outcomes > CANCELLED)][0]} is not in 0..3"
            raise InvalidAnswer(msg)

    @classmethod
    def of(
        cls, problem: ReservationProblem, bookings: Mapping[int, tuple[int, Iterable[int]]]
    ) -> ReservationSchedule:
        """Build a schedule of jobs that book their nodes from a start for their run time.

        `bookings` are the start (seconds) and the nodes of each accepted job, by its index.
        """
        count = len(problem.jobs)
        starts = np.zeros(count)
        sets: list[Sequence[int]] = [()] * count
        for idx, (start, nodes) in bookings.items():
            starts[idx], sets[idx] = start, sorted(nodes)
        outcomes = np.zeros(count, dtype=np.int64)
        outcomes[list(bookings)] = BOOKED
        sizes = [len(nodes_of_job) for nodes_of_job in sets]
        flat = [node for nodes_of_job in sets for node in nodes_of_job]
        return cls.of_sets(problem, outcomes, starts, np.cumsum([0, *sizes]), np.array(flat, dtype=np.int64))

    @classmethod
    def of_sets(
        cls,
        problem: ReservationProblem,
        outcomes: IntArray,
        starts: FloatArray | IntArray,
        offsets: IntArray,
        nodes: IntArray,
    ) -> ReservationSchedule:
        """Build a schedule of booked and rejected jobs from columns.

        Outcomes are `REJECTED` or `BOOKED`, shape (jobs,); starts are in seconds and not read of rejected
        jobs. The nodes of job ``j`` are ``nodes[offsets[j]:offsets[j + 1]]``.
        """
        begins = np.asarray(starts, dtype=np.float64)
        finish = begins + problem.packed.runtime
        of = np.repeat(np.arange(len(outcomes)), np.diff(offsets))
        ends = np.where(outcomes == REJECTED, np.nan, finish)
        return cls(outcomes, ends, offsets, nodes, begins[of], finish[of])

    def holds(self, job_idx: int) -> tuple[Hold, ...]:
        """Return which nodes a job held, and when."""
        at = slice(self.offsets[job_idx], self.offsets[job_idx + 1])
        columns = (self.nodes[at].tolist(), self.hold_starts[at].tolist(), self.hold_ends[at].tolist())
        return tuple(Hold(*row) for row in zip(*columns, strict=True))

    @property
    def accepted(self) -> IntArray:
        """The indices of the jobs that are not rejected."""
        return frozen(np.flatnonzero(self.outcomes != REJECTED))

    @property
    def job_of_hold(self) -> IntArray:
        """Shape (holds,): the index of the job that holds the node."""
        return frozen(np.repeat(np.arange(len(self.outcomes)), np.diff(self.offsets)))

    @property
    def first_starts(self) -> FloatArray:
        """Shape (jobs,), seconds: when each job has its first node; NaN for one that never has any."""
        firsts = np.full(len(self.outcomes), np.nan)
        holding = self.offsets[1:] > self.offsets[:-1]
        if holding.any():
            firsts[holding] = np.minimum.reduceat(self.hold_starts, self.offsets[:-1][holding])
        return firsts


#: What can be minimised; see `ReservationProblem`.
ReservationTerm: TypeAlias = Literal["rejected", "rejected-area", "unsuccessful"]
#: All terms of objectives, the default first.
RESERVATION_OBJECTIVES: tuple[ReservationTerm, ...] = get_args(ReservationTerm)

#: What to minimise: one term, or several in lexicographic order.
ReservationObjective: TypeAlias = Annotated[
    tuple[ReservationTerm, ...], objective_option(RESERVATION_OBJECTIVES)
]

#: What sets of nodes a job may book.
ReservationShape: TypeAlias = Literal[
    "any",
    "connected",  # by links between nodes of the set
    "run",  # consecutive on the Hilbert curve
]

RESERVATION_SHAPES: tuple[ReservationShape, ...] = get_args(ReservationShape)

#: The four kinds of programs of Linnert et al. 2024, which only executions of a schedule ask for.
PROGRAM_KINDS: Final = 4


@dataclass(frozen=True, slots=True)
class DeadlineJob:
    """A job that is announced at its arrival and has to end by its deadline.

    Parameters
    ----------
    arrival
        When it is announced, in whole seconds, >= 0; it cannot start before.
    nodes
        How many nodes it books, >= 1.
    runtime
        For how long, in whole seconds, >= 1.
    deadline
        When it has to end, in whole seconds. A job whose deadline is before arrival plus run time can only be
        rejected.
    program
        What it does: a kind from 0 to 3 of Linnert et al. 2024; None if nothing is known. Only executions ask
        for it.
    weight
        How much it counts in the terms, a finite number >= 0.
    name
        For people; ``j`` and its position if empty.
    """

    arrival: int
    nodes: int
    runtime: int
    deadline: int
    program: int | None = None
    weight: float = 1
    name: str = ""

    def __post_init__(self) -> None:
        for what, lowest in (("arrival", 0), ("nodes", 1), ("runtime", 1), ("deadline", 0)):
            value = integer(what, getattr(self, what))
            object.__setattr__(self, what, in_range(what, value, lowest))
        weight = real("weight", self.weight)
        in_range("weight", self.weight, 0)
        object.__setattr__(self, "weight", plain(weight))
        instance("name", self.name, str)
        if self.program is not None:
            program = integer("program", self.program)
            if not 0 <= program < PROGRAM_KINDS:
                msg = f"program {shown(program)} is not a kind in 0..{PROGRAM_KINDS - 1}"
                raise InvalidProblem(msg)
            object.__setattr__(self, "program", program)

    @property
    def area(self) -> int:
        """Nodes times run time, in node-seconds."""
        return self.nodes * self.runtime


class PackedDeadlineJobs(NamedTuple):
    """Jobs as read-only arrays of shape (jobs,), as kernels take them."""

    arrival: IntArray  #: seconds
    nodes: IntArray
    runtime: IntArray  #: seconds
    deadline: IntArray  #: seconds
    weight: FloatArray


@dataclass(frozen=True, slots=True)
class ReservationProblem(Rebuilt):
    """Choose which jobs to accept, and when and on which nodes each of them runs.

    An accepted job books `DeadlineJob.nodes` nodes from its start for its run time, without a break, not
    before its arrival and not beyond its deadline; a node belongs to one job at a time, and one that is left
    at an instant is there for a job that starts at that instant. A job that is executed keeps its nodes for
    its run time at least, also if it ends before.

    What can be minimised, with the weights w of the jobs:

    rejected
        The share of jobs that are not accepted: their sum of w over the sum of w; 0 if no job counts.
    rejected-area
        The share of the area that is not accepted: the same with w times nodes times run time.
    unsuccessful
        The share of jobs that are not accepted, or whose execution was cancelled, as in `rejected`. A job
        that was booked and not executed counts as successful.

    `InvalidProblem` if a value is out of range or arrivals fall; the message names the job.

    Parameters
    ----------
    topology
        The machine; no axis is complete.
    jobs
        Each fits the machine. The order is that of arrival, or of announcement among equal arrivals.
    shape
        What sets of nodes jobs may book: ``any``, ``connected``, or ``run``, consecutive nodes of the node
        order ``hilbert`` with 5 bits to an axis (more, if a side is above 32).
    program_seed
        From which the random parts of programs of the kinds 0 to 3 are drawn.
    leaking
        Whether jobs may also run without a booking, on nodes that they take and give back as they go. Then
        nothing is promised to a job that is accepted: `unsuccessful` is the term to ask for.
    name
        For people; two problems that differ in name only have the same digest.
    meta
        Where the problem comes from: carried along, never read by a solver.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> problem = ReservationProblem(Mesh((2, 2)), [DeadlineJob(0, 3, 10, 10), DeadlineJob(0, 2, 5, 20)])
    >>> problem.jobs[1].area, problem.packed.deadline.tolist(), problem.names
    (10, [10, 20], ('j0', 'j1'))
    """

    topology: Topology
    jobs: tuple[DeadlineJob, ...]
    shape: ReservationShape = "any"
    program_seed: int = 0
    leaking: bool = False
    name: str = ""
    meta: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    packed: PackedDeadlineJobs = field(init=False, compare=False, repr=False)  #: the jobs as arrays
    #: The names of the jobs; ``j`` and the position of one without a name.
    names: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        instance("topology", self.topology, Topology)
        if any(self.topology.complete):
            axis = self.topology.complete.index(True)
            msg = f"topology: axis {axis} is complete, but programs run on lines and rings only"
            raise InvalidProblem(msg)
        jobs = items("jobs", self.jobs)
        object.__setattr__(self, "jobs", jobs)
        choice("shape", self.shape, RESERVATION_SHAPES)
        object.__setattr__(self, "meta", checked_labels(self.name, self.meta))
        object.__setattr__(self, "program_seed", integer("program_seed", self.program_seed))
        object.__setattr__(self, "leaking", flag("leaking", self.leaking, InvalidProblem))
        in_range("program_seed", self.program_seed, 0)
        self._set_names()
        self._check_jobs()
        object.__setattr__(self, "packed", _packed(jobs))

    def _set_names(self) -> None:
        for idx, job in enumerate(self.jobs):
            instance(f"jobs[{idx}]", job, DeadlineJob)
        names = tuple(job.name or f"j{idx}" for idx, job in enumerate(self.jobs))
        if len({*names}) < len(names):
            counts = Counter(names)
            msg = f"job name {next(name for name in names if counts[name] > 1)!r} is used twice"
            raise InvalidProblem(msg)
        object.__setattr__(self, "names", names)

    def _check_jobs(self) -> None:
        last, limit = 0, self.topology.num_nodes
        for idx, job in enumerate(self.jobs):
            place = f"job {self.names[idx]!r}"
            if job.nodes > limit:
                raise InvalidProblem(f"{place}: {job.nodes} nodes on a machine of {limit}")
            if job.arrival < last:
                msg = f"{place}: arrival {job.arrival} is before that of the job in front of it, {last}"
                raise InvalidProblem(msg)
            last = job.arrival
        if self.horizon > MAX_INTEGER or sum(job.weight * job.area for job in self.jobs) > MAX_INTEGER:
            msg = "latest deadline plus run times, or the sum of weighted areas, is beyond 2^53"
            raise InvalidProblem(msg)

    def __hash__(self) -> int:
        return hash((self.topology, self.jobs, self.shape, self.program_seed, self.leaking, self.name))

    @property
    def answer_type(self) -> type[ReservationSchedule]:
        """The type of its answers."""
        return ReservationSchedule

    @property
    def horizon(self) -> int:
        """When the last job that is in time can end: the latest deadline; 0 without jobs."""
        return max((job.deadline for job in self.jobs), default=0)

    @property
    def area(self) -> int:
        """Sum of nodes times run time of all jobs, in node-seconds."""
        return sum(job.area for job in self.jobs)


def _packed(jobs: tuple[DeadlineJob, ...]) -> PackedDeadlineJobs:
    weight = np.array([job.weight for job in jobs], dtype=np.float64)
    weight.setflags(write=False)

    def column(name: str) -> IntArray:
        return frozen(np.array([getattr(job, name) for job in jobs], dtype=np.int64))

    return PackedDeadlineJobs(
        column("arrival"), column("nodes"), column("runtime"), column("deadline"), weight
    )
