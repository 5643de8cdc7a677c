"""Streams of jobs with deadlines, fitted to the figures that Linnert et al. 2024 print of theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.instances.generators._streams import MOST_JOBS, recipe
from allocsolve.model import MAX_INTEGER, PROGRAM_KINDS, DeadlineJob, Mesh, ReservationProblem, Topology
from allocsolve.model.options import Within, checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import FloatArray

#: The models of the jobs: fitted to the figures of the paper, or after Feitelson 1996.
LinnertStream: TypeAlias = Literal["linnert", "feitelson96"]

LINNERT_STREAMS: Final[tuple[LinnertStream, ...]] = get_args(LinnertStream)

#: The second word of each seed, so that the generator has random numbers of its own.
_WORD: Final = 20240

#: 128 nodes, as the machine of the paper; its sides are not printed.
_MACHINE: Final = Mesh((16, 8))

#: How many times more often a number of nodes is drawn if it is a power of two.
_POWER_OF_TWO: Final = 10.0

#: The probability of r runs of one job is proportional to r to the minus this.
_REPEAT_ORDER: Final = 2.5


@dataclass(frozen=True, slots=True)
class _Stream:
    """The parameters of a stream; times in seconds."""

    size_order: float  #: the probability of n nodes is proportional to n to the minus this
    short_share: float  #: the share of short jobs among those that need few nodes
    short_slope: float  #: by how much this share is lower for a job that needs all nodes
    short_mean: float
    long_mean: float
    slack: int  #: run times between the earliest end and the deadline
    has_repeats: bool


_STREAMS: Final[Mapping[LinnertStream, _Stream]] = {
    "linnert": _Stream(0.5, 0.84, 0.05, 360.0, 57_600.0, 17, has_repeats=False),
    "feitelson96": _Stream(1.5, 0.95, 0.20, 50_400.0, 7 * 50_400.0, 4, has_repeats=True),
}


def linnert2024(
    seed: Annotated[int, Within(0, MAX_INTEGER)],
    *,
    gap: Annotated[float, Within(0, above=True)] = 1500,
    num_jobs: Annotated[int, Within(0, MOST_JOBS)] = 1000,
    stream: LinnertStream = "linnert",
    program: Annotated[int, Within(0, PROGRAM_KINDS - 1)] | Literal["mixed"] | None = "mixed",
    topology: Topology = _MACHINE,
    leaking: bool = False,
) -> ReservationProblem:
    """Draw a stream of jobs with deadlines for a machine with a mesh.

    A number n of the N nodes has a probability proportional to a power of n, tenfold for powers of two (1 is
    one of them). Run times are exponential, short or long; the share of short ones falls a little with n/N.
    The times between arrivals are exponential, and the deadline is the arrival plus a multiple of the run
    time. All times are rounded to whole seconds, run times to 1 at least. Streams of one seed that differ
    in `gap` or `program` only have the same jobs.

    Parameters
    ----------
    seed
        An integer >= 0 and at most 2^53, the program seed of the problem, too.
    gap
        Seconds between arrivals in the mean, above 0. The paper has 1500 (normal load), 150 (heavy) and 1
        (very heavy).
    num_jobs
        Jobs of a problem; at most 2^24.
    stream
        What the jobs are. ``linnert``: P(n) like n^-.5, run times with means of 360 s (with probability .84 -
        .05 n/N) and 16 h, slack of 17 run times. ``feitelson96``: P(n) like n^-1.5, means of 14 h (.95 - .20
        n/N) and seven times as much, slack of 4 run times, and each job comes r times at once, P(r) like
        r^-2.5.
    program
        What all jobs do: a kind from 0 to 3, ``mixed`` for a kind drawn for each job, None if nothing is
        known.
    topology
        The machine; by default a mesh of 16 x 8 nodes.
    leaking
        Whether jobs may run without a booking; see `allocsolve.model.ReservationProblem`.

    Returns
    -------
    ReservationProblem
        Named after its parameters, such as ``linnert2024-g1500-s7``, with every one in its ``meta``.

    Notes
    -----
    The paper prints neither the parameters of its workload generator nor how its deadlines are set. The
    stream ``linnert`` is fitted to the six figures that it does print: of 1000 jobs on 128 nodes a count of
    free nodes accepts 497 +- 13, 371 +- 14 and 260 +- 9 at gaps of 1500, 150 and 1 s (paper: 510, 400, 260),
    and the median of the last deadline is 74.7, 65.8 and 64.9 days (paper: 74, 65, 65). So those figures are
    consistent; other streams may meet them as well.

    *Complexity*: O(num_jobs + nodes).

    References
    ----------
    Linnert, De Rose & Heiss, "Toward a dynamic allocation strategy for deadline-oriented resource and job
    management in HPC systems", Concurrency and Computation 2024.
    Feitelson, "Packing schemes for gang scheduling", JSSPP 1996.

    Examples
    --------
    >>> problem = linnert2024(7, gap=150)
    >>> problem.name, len(problem.jobs), problem.jobs[0].deadline
    ('linnert2024-g150-s7', 1000, 5983)
    """
    seed, gap, num_jobs, stream, program, topology, leaking = checked(
        linnert2024,
        seed=seed,
        gap=gap,
        num_jobs=num_jobs,
        stream=stream,
        program=program,
        topology=topology,
        leaking=leaking,
    )
    kind = None if program == "mixed" else program
    drawn = _STREAMS[stream]
    rng = np.random.default_rng((seed, _WORD))
    machine = topology.num_nodes
    nodes = rng.choice(np.arange(1, machine + 1), num_jobs, p=_size_shares(machine, drawn.size_order))
    is_short = rng.random(num_jobs) < drawn.short_share - drawn.short_slope * nodes / machine
    short, long = (rng.exponential(mean, num_jobs) for mean in (drawn.short_mean, drawn.long_mean))
    # Drawn even if they are not used, so that jobs stay the same.
    kinds = rng.integers(0, PROGRAM_KINDS, num_jobs)
    arrival = np.rint(np.cumsum(rng.exponential(gap, num_jobs))).astype(np.int64)
    runtime = np.maximum(1, np.rint(np.where(is_short, short, long))).astype(np.int64)
    if drawn.has_repeats:
        repeats = np.minimum(rng.zipf(_REPEAT_ORDER, num_jobs), num_jobs)
        first = np.repeat(np.arange(num_jobs), repeats)[:num_jobs]
        nodes, runtime, kinds, arrival = (column[first] for column in (nodes, runtime, kinds, arrival))
    deadline = arrival + (1 + drawn.slack) * runtime
    programs = kinds.tolist() if program == "mixed" else [kind] * num_jobs
    columns = (column.tolist() for column in (arrival, nodes, runtime, deadline))
    label = ("" if stream == LINNERT_STREAMS[0] else f"-{stream}") + ("-leaking" if leaking else "")
    return ReservationProblem(
        topology,
        tuple(DeadlineJob(*row) for row in zip(*columns, programs, strict=True)),
        program_seed=seed,
        leaking=leaking,
        name=f"linnert2024{label}-g{gap:.10g}-s{seed}",
        meta=recipe(
            "linnert2024",
            seed=seed,
            gap=gap,
            num_jobs=num_jobs,
            stream=stream,
            program=program,
            leaking=leaking,
            shape=list(topology.shape),
            wrap=list(topology.wrap),
        ),
    )


def _size_shares(num_nodes: int, order: float) -> FloatArray:
    """Return the probabilities of 1 to `num_nodes` nodes."""
    sizes = np.arange(1, num_nodes + 1)
    weights = sizes.astype(np.float64) ** -order
    weights[sizes & (sizes - 1) == 0] *= _POWER_OF_TWO
    shares: FloatArray = weights / weights.sum()
    return shares
