"""Small problems, each of which refutes a belief that comes easily."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.model import (
    DeadlineJob,
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Mesh,
    PartitionProblem,
    PlacementProblem,
    ReservationProblem,
    SwitchTree,
    WorkloadProblem,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.model import Problem

#: The version of the cases: raised whenever a case changes.
_VERSION = 1


def counterexamples() -> tuple[Problem, ...]:
    """Return all cases; ``meta`` of each has its ``reason``, and its name is that of the case.

    Examples
    --------
    >>> counterexamples()[0].name
    'list-scheduling-incomplete'
    """
    return (*_evolution(), *_partition())


def _meta(case: str, reason: str) -> dict[str, object]:
    return {"generator": "counterexamples", "version": _VERSION, "case": case, "reason": reason}


def _evolution() -> Iterator[EvolutionProblem]:
    def case(
        name: str, limit: float, num_nodes: int, *apps: Sequence[tuple[int, int]], reason: str
    ) -> EvolutionProblem:
        profiles = tuple(EvolutionProfile(tuple(steps)) for steps in apps)
        return EvolutionProblem(num_nodes, profiles, expand_limit=limit, name=name, meta=_meta(name, reason))

    yield case(
        "list-scheduling-incomplete",
        1,
        3,
        [(1, 2), (2, 2), (2, 3)],
        [(2, 1)],
        [(2, 1)],
        reason="No list order is optimal: each gives 7 s, the optimum is 6 s."
        " Lists in mirrored time find it.",
    )
    yield case(
        "published-recursion-exponential",
        2,
        2,
        [(1, 0), (9, 1)] * 80,
        [(20, 1)] * 5 + [(1, 2), (1, 1), (1, 2)],
        reason="Placed second, the second application takes the recursion of Klein & Perez 2011 (Algorithm 2)"
        " a number of loops that triples with each step of 20 s put before its last three.",
    )
    yield case(
        "misprint-line-17",
        math.inf,
        2,
        [(6, 1)],
        [(1, 1), (1, 2)],
        reason='Klein & Perez 2011, Algorithm 2, line 17: with "if i > 0" as printed, the first step of the'
        ' second application is held for 5 s too long; with "if i > 1" it is delayed, and nothing is wasted.',
    )
    yield case(
        "compacting-gap-is-left",
        math.inf,
        3,
        [(4, 1), (4, 2)],
        [(2, 2), (2, 1), (2, 3)],
        reason="Compacted, the second application starts at 2 s and holds its second step, on the left of the"
        " gap, until 8 s. The naive mirror image of the fit holds the third step, which does not fit there.",
    )
    yield case(
        "compacting-wastes",
        math.inf,
        3,
        [(2, 0), (1, 1), (3, 1)],
        [(2, 3), (1, 2), (2, 1), (1, 3)],
        reason="In this order, compacting raises the waste from 1 to 2 node-seconds: it makes the second"
        " application as short as can be, not its waste as small.",
    )
    yield case(
        "expansion-pays",
        math.inf,
        2,
        [(1, 2), (2, 1), (1, 2)],
        [(4, 1)],
        reason="Stretching the valley wastes 2 node-seconds and brings the makespan from 8 s to 6 s.",
    )
    yield case(
        "limit-is-floored",
        1.5,
        2,
        [(1, 2), (1, 1), (1, 2)],
        [(2, 1)],
        reason="A step of 1 s may be held for floor(1.5) = 1 s: the optimum is 5 s."
        " Rounded up it would be 4 s.",
    )


def _partition() -> Iterator[PartitionProblem]:
    def case(
        name: str,
        shape: tuple[int, int],
        size: int,
        busy: Sequence[int],
        *,
        linked: bool = False,
        reason: str,
    ) -> PartitionProblem:
        return PartitionProblem.of(
            Mesh(shape), busy=busy, size=size, contiguous=linked, name=name, meta=_meta(name, reason)
        )

    yield case(
        "connected-costs-more",
        (6, 4),
        8,
        [2, 3, 5, 7, 8, 15, 18, 19, 22],
        linked=True,
        reason="Connected sets cost at least 76; without that, 62 is the optimum.",
    )
    yield case(
        "median-is-not-optimal",
        (4, 4),
        5,
        [0, 1, 2, 5, 8, 9, 10, 11, 13],
        reason="The nodes nearest to the best median cost 26, the optimum is 22.",
    )
    yield case(
        "growth-is-not-median",
        (5, 5),
        6,
        [2, 5, 7, 8, 10, 12, 15, 19, 20, 24],
        reason="Growth from the first seed (Linnert et al. 2024, there called Manhattan median) costs 35, the"
        " optimum is 25. The bound of 7/4 is that of Bender et al. 2008 and not of growth, which has none.",
    )
    yield case(
        "shells-are-not-hops",
        (5, 5),
        4,
        [1, 5, 11, 14, 15, 17, 22, 24],
        reason="The least sum of square shells (MC1x1) costs 14, the optimum is 8.",
    )
    yield case(
        "runs-scatter",
        (6, 4),
        4,
        [0, 1, 2, 4, 8, 9, 13, 14, 17, 21, 22],
        reason="No run on the Hilbert order has 4 free nodes: first fit fails although 13 are free, and the"
        " largest runs (Slurm) cost 28, the optimum is 10.",
    )


#: Begin, end and nodes of the jobs, by the length of a line in nodes.
_LINES: Final = {
    4: ((5, 10, 2), (8, 11, 2), (10, 12, 1), (10, 13, 1), (11, 13, 1), (12, 16, 2), (15, 16, 2)),
    6: ((0, 2, 3), (0, 3, 3), (2, 4, 1), (2, 5, 2), (3, 7, 2), (4, 8, 2), (7, 8, 3)),
}


def shape_counterexamples() -> Iterator[ReservationProblem]:
    """Yield two lines of nodes with seven jobs without slack, each for every shape.

    At no time do the jobs ask for more nodes than there are, so that all can be accepted with the shape
    ``any``. No seven runs exist, and on a line connected sets are runs. ``meta["accepted"]`` says how many
    jobs can be accepted. On the line of 4 the jobs of two nodes at the start fill nodes 0, 1 and 2, 3; the
    job from 12 to 16 needs the place of the one that ends at 12 and a free one beside it; so the two other
    jobs of one node sit at both ends of the line, or one of them in the way, and no two neighbours are left
    for the last job.

    Examples
    --------
    >>> for case in shape_counterexamples():
    ...     print(case.name, case.meta["accepted"])
    line-of-4-any 7
    line-of-4-connected 6
    line-of-4-run 6
    line-of-6-any 7
    line-of-6-connected 6
    line-of-6-run 6
    """
    for num_nodes, rows in _LINES.items():
        jobs = tuple(DeadlineJob(begin, nodes, end - begin, end) for begin, end, nodes in rows)
        for shape in ("any", "connected", "run"):
            name = f"line-of-{num_nodes}-{shape}"
            meta = {
                "generator": "shape-counterexamples",
                "version": _VERSION,
                "case": name,
                "accepted": len(jobs) - (shape != "any"),
            }
            yield ReservationProblem(Mesh((num_nodes,)), jobs, shape, name=name, meta=meta)


#: The second from which on whole seconds do not fit into 32-bit floating-point numbers: after 194 days.
_SECONDS_OF_32_BITS: Final = 2**24


def easy_counterexamples() -> Iterator[WorkloadProblem]:
    """Yield all cases.

    ``meta`` of each has its ``reason``, the ``tool`` that it refutes, and as ``starts`` when each job starts
    (seconds) by each rule: ``"easy"`` (shadow time and extra nodes), ``"fcfs"``, ``"first-fit"``,
    ``"conservative"``, and the rule of the tool, under the name of the preset or of the solver with options
    that follows it, or, where none here does, of the cause.

    Examples
    --------
    >>> case = next(easy_counterexamples())
    >>> case.name, case.meta["tool"]
    ('reservation-without-nodes', 'AccaSim 1.1.3')
    >>> case.meta["starts"]["easy"], case.meta["starts"]["accasim"]
    ([0, 100, 110], [0, 1002, 2])
    """
    yield _case(
        "reservation-without-nodes",
        4,
        [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)],
        tool="AccaSim 1.1.3",
        starts={
            "easy": [0, 100, 110],
            "fcfs": [0, 100, 110],
            "first-fit": [0, 1002, 2],
            "conservative": [0, 100, 110],
            "accasim": [0, 1002, 2],
        },
        reason="The reservation of the head lists no nodes, so nothing overlaps it: every job that fits is"
        " admitted, and the head starts 902 s late.",
    )
    yield _case(
        "head-forgotten-after-a-start",
        4,
        [Job(0, 3, 100), Job(0, 4, 10), Job(0, 1, 1000)],
        tool="hpcopt 2.4.0",
        starts={
            "easy": [0, 100, 110],
            "fcfs": [0, 100, 110],
            "first-fit": [0, 1000, 0],
            "conservative": [0, 100, 110],
            "hpcopt": [0, 1000, 0],
        },
        reason="When the head of the queue starts, everything behind it that fits starts too, without a"
        " reservation for the next job that does not fit.",
    )
    yield _case(
        "releases-in-order-of-limits",
        5,
        [Job(0, 2, 100), Job(90, 2, 50), Job(91, 3, 10), Job(92, 1, 45)],
        tool="ExaDigiT/RAPS",
        starts={
            "easy": [0, 90, 100, 110],
            "fcfs": [0, 90, 100, 110],
            "first-fit": [0, 90, 137, 92],
            "conservative": [0, 90, 100, 110],
            "raps": [0, 90, 137, 92],
        },
        reason="The shadow time adds up the nodes of running jobs in the order of their limits, not of their"
        " expected ends: 140 s in place of 100 s, and the head starts 37 s late.",
    )
    yield _case(
        "clock-against-run-time-late",
        4,
        [Job(5000, 3, 100), Job(5001, 4, 10), Job(5002, 1, 1000)],
        tool="MalleableJobScheduling (2023)",
        starts={
            "easy": [5000, 5100, 5110],
            "fcfs": [5000, 5100, 5110],
            "first-fit": [5000, 6002, 5002],
            "conservative": [5000, 5100, 5110],
            "mjs2023": [5000, 6002, 5002],
        },
        reason="The time of day is compared with the run time of the head: once it is past that, every job"
        " that fits is started, and the head starts 902 s late.",
    )
    yield _case(
        "clock-against-run-time-early",
        4,
        [Job(0, 3, 100), Job(1, 4, 100_000), Job(2, 1, 50)],
        tool="MalleableJobScheduling (2023)",
        starts={
            "easy": [0, 100, 2],
            "fcfs": [0, 100, 100_100],
            "first-fit": [0, 100, 2],
            "conservative": [0, 100, 2],
            "mjs2023": [0, 100, 100_100],
        },
        reason="Until the time of day is past the run time of the head, nothing is backfilled: a job that"
        " harms nobody waits for 100,098 s.",
    )
    yield _case(
        "one-start-a-call",
        4,
        [Job(0, 4, 103, 1000), *(Job(1, 1, runtime, 1000) for runtime in (10, 7, 13, 5))],
        tool="MalleableJobScheduling (2023)",
        starts={
            "easy": [0, 103, 103, 103, 103],
            "fcfs": [0, 103, 103, 103, 103],
            "first-fit": [0, 103, 103, 103, 103],
            "conservative": [0, 103, 103, 103, 103],
            "mjs2023": [0, 103, 113, 120, 133],
        },
        reason="A job that starts is removed from the list that is being gone through, which skips the next"
        " one: four jobs that all fit start one at a time, and nodes idle.",
    )
    yield _case(
        "extra-nodes",
        4,
        [Job(0, 2, 100), Job(1, 3, 10), Job(2, 1, 1000)],
        tool="Flux sched-backfill",
        starts={
            "easy": [0, 100, 2],
            "fcfs": [0, 100, 100],
            "first-fit": [0, 100, 2],
            "conservative": [0, 100, 2],
            "flux": [0, 100, 100],
        },
        reason="A backfilled job has to end by the shadow time, even on a node that the head does not need.",
    )
    yield _case(
        "run-time-of-candidates-known",
        4,
        [Job(0, 3, 100, 100), Job(1, 4, 10, 10), Job(2, 1, 50, 500)],
        tool="CQSim",
        starts={
            "easy": [0, 100, 110],
            "fcfs": [0, 100, 110],
            "first-fit": [0, 100, 2],
            "conservative": [0, 100, 110],
            "cqsim": [0, 100, 2],
        },
        reason="Candidates are judged by the run time that they will have, not by what their users asked for:"
        " a scheduler cannot know it.",
    )
    yield _case(
        "true-ends-of-running-jobs",
        4,
        [Job(0, 3, 50, 100), Job(1, 4, 10), Job(2, 1, 80)],
        tool="hpcopt 2.4.0",
        starts={
            "easy": [0, 82, 2],
            "fcfs": [0, 50, 60],
            "first-fit": [0, 82, 2],
            "conservative": [0, 82, 2],
            "hpcopt": [0, 50, 60],
        },
        reason="The shadow time follows from the ends that running jobs will have, not from those that their"
        " users have said: a scheduler cannot know them.",
    )
    yield _case(
        "ends-at-the-shadow-time",
        4,
        [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 98)],
        tool="ElasticJobScheduler (Posner 2024)",
        starts={
            "easy": [0, 100, 2],
            "fcfs": [0, 100, 110],
            "first-fit": [0, 100, 2],
            "conservative": [0, 100, 2],
            "easy(extra_nodes=False,strict=True)": [0, 100, 110],
        },
        reason="A backfilled job has to end before the shadow time: one that ends at it would delay nobody,"
        " but waits.",
    )
    yield _case(
        "one-call-an-event",
        2,
        [Job(0, 1, 100), Job(0, 1, 100, 600), Job(1, 2, 10), Job(2, 1, 50)],
        tool="ElastiSim",
        starts={
            "easy": [0, 0, 100, 110],
            "fcfs": [0, 0, 100, 110],
            "first-fit": [0, 0, 100, 110],
            "conservative": [0, 0, 150, 100],
            "easy(coalesce=False)": [0, 0, 150, 100],
        },
        reason="The policy is called for each event: when the first of two jobs that end at one instant has"
        " ended, the other is still expected to run for 500 s, and the node of the first is given away.",
    )
    late = _SECONDS_OF_32_BITS
    yield _case(
        "times-in-32-bits",
        4,
        [Job(late, 3, 100), Job(late + 1, 4, 10), Job(late + 2, 1, 99)],
        tool="Batsim 5, test EASY",
        starts={
            "easy": [late, late + 100, late + 110],
            "fcfs": [late, late + 100, late + 110],
            "first-fit": [late, late + 101, late + 2],
            "conservative": [late, late + 100, late + 110],
            "float32": [late, late + 101, late + 2],
        },
        reason="Times are compared as 32-bit floating-point numbers: 194 days after the first second, an end"
        " 1 s after the shadow time is rounded to the shadow time.",
    )


def _case(
    name: str,
    num_nodes: int,
    jobs: Sequence[Job],
    *,
    tool: str,
    starts: Mapping[str, Sequence[int]],
    reason: str,
) -> WorkloadProblem:
    """Return a case; a job without a limit asks for its run time."""
    exact = [Job(job.submit, job.nodes, job.runtime, job.limit or job.runtime) for job in jobs]
    meta = {
        "generator": "easy-counterexamples",
        "version": _VERSION,
        "case": name,
        "tool": tool,
        "reason": reason,
        "starts": starts,
    }
    return WorkloadProblem(num_nodes, exact, name=name, meta=meta)


def network_counterexamples() -> Iterator[PlacementProblem]:
    """Yield small trees on which rules of schedulers do not take the nearest nodes, or none.

    But for the last two they are the smallest such trees. ``meta`` of each has its ``reason``; ``takes``, how
    many nodes each rule takes from each switch of level 1 (None if it takes no nodes), by the name of its
    solver; the total distance of these (``cost``) and the least one (``optimum``); and the ``seed`` for which
    a rule with random choices does so.

    Examples
    --------
    >>> case = next(network_counterexamples())
    >>> case.name, case.meta["takes"], case.meta["cost"], case.meta["optimum"]
    ('nodes-by-name', {'kueue': [2, 2], 'kueue(mode=balanced)': [2, 2]}, 20, 18)
    """
    yield _network_case(
        "nodes-by-name",
        [[2, 3]],
        4,
        takes={"kueue": [2, 2], "kueue(mode=balanced)": [2, 2]},
        cost=20,
        optimum=18,
        reason="Kueue chooses racks and forgets how many nodes each was to give: they are taken by name.",
    )
    yield _network_case(
        "best-fit-of-pods",
        [[1, 1], [2]],
        3,
        takes={"lowest-switch": [1, 1, 1], "slurm-tree": [1, 1, 1]},
        cost=16,
        optimum=14,
        reason="By free nodes alone, a pod with two racks is as good as a pod with one.",
    )
    yield _network_case(
        "leaves-the-pod",
        [[2], [1, 1, 1]],
        3,
        takes={"slurm-tree": [2, 1, 0, 0]},
        cost=14,
        optimum=12,
        reason="Slurm begins with the largest leaf switch, where nothing else is near.",
    )
    yield _network_case(
        "largest-pod-first",
        [[1], [1, 1], [2]],
        3,
        takes={"kueue": [1, 1, 1, 0]},
        cost=16,
        optimum=14,
        reason="Of two pods with equally many free nodes Kueue takes the first, which has more racks.",
    )
    yield _network_case(
        "small-racks-first",
        [[2], [1, 1]],
        3,
        takes={"kai": [1, 1, 1]},
        cost=16,
        optimum=14,
        reason="KAI takes racks from the end of its order, where those of the second pod stand.",
    )
    yield _network_case(
        "random-racks",
        [[1, 1, 2]],
        3,
        takes={"volcano": [1, 1, 1]},
        cost=12,
        optimum=10,
        seed=2,
        reason="Volcano begins at a random node, and goes on to a random rack, however many nodes it has.",
    )
    yield _network_case(
        "largest-rack-alone",
        [[1], [1, 1]],
        2,
        takes={"spur": [1, 1, 0]},
        cost=6,
        optimum=4,
        reason="Spur begins with the largest rack, the first of equal ones, whatever is near.",
    )
    yield _network_case(
        "pods-among-racks",
        [[1, 1], [2]],
        2,
        takes={"pbs-placement": [1, 1, 0]},
        cost=4,
        optimum=2,
        reason="In the list of placement sets a pod of two small racks comes before a rack as large.",
    )
    yield _network_case(
        "rest-by-name",
        [[4, 10]],
        11,
        takes={"kueue": [4, 7]},
        cost=166,
        optimum=130,
        reason="Ten nodes of one rack and one of the other suffice; taken by name, they are 4 and 7.",
    )
    pods, racks, nodes = 8, 16, 18
    yield _network_case(
        "stall",
        [[nodes] * racks] * pods,
        300,
        busy=[(pod * racks + 3) * nodes + node for pod in range(pods) for node in range(nodes)],
        takes={"slurm-block": None},
        cost=None,
        optimum=190_572,
        reason="A rack without free nodes in a pod in use is preferred to those of the next pod, nothing is"
        " taken from it, and the job waits, while 2,160 of 2,304 nodes are free.",
    )


def _network_case(
    name: str,
    pods: Sequence[Sequence[int]],
    size: int,
    *,
    busy: Sequence[int] = (),
    reason: str,
    **expected: object,
) -> PlacementProblem:
    """Return a case: the numbers of nodes of racks, pod by pod. A single pod has no switch above it."""
    parent, switch = [-1], []
    tops = [0]
    if len(pods) > 1:
        tops = [*range(1, len(pods) + 1)]
        parent += [0] * len(pods)
    for top, racks in zip(tops, pods, strict=True):
        for count in racks:
            switch += [len(parent)] * count
            parent.append(top)
    meta = {"generator": "network-counterexamples", "version": _VERSION, "case": name, "reason": reason}
    tree = SwitchTree(np.array(parent), np.array(switch))
    return PlacementProblem.of(tree, busy=busy, size=size, name=name, meta=meta | expected)
