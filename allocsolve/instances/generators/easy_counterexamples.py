"""Workloads of three to five jobs on which published versions of EASY backfilling are not EASY."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.model import Job, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["easy_counterexamples"]

#: Counted up whenever a case changes.
_VERSION = 1

#: From here on whole seconds do not fit into 32-bit floating-point numbers: 194 days.
_SECONDS_OF_32_BITS: Final = 2**24


def easy_counterexamples() -> Iterator[WorkloadProblem]:
    """Yield all cases.

    ``meta`` of each has its ``reason``, the ``tool`` that it refutes, and as ``starts`` when each job starts
    (seconds) by the rule: ``"easy"`` (shadow time and extra nodes), ``"fcfs"``, ``"first-fit"``,
    ``"conservative"``, and what the tool does, under the name of the preset that does it, of the solver with
    options, or, where none here does it, of the cause.

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
