"""How long the work and the messages of a program take, so that it runs as long as its job says."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.heuristics.partition.growth import growth
from allocsolve.heuristics.reservation._executed import Scales, executed
from allocsolve.heuristics.reservation._kernels_execution import run_jobs
from allocsolve.heuristics.reservation._kernels_machine import FINISHED, OVER, PHASE
from allocsolve.heuristics.reservation.program_set import forking
from allocsolve.heuristics.reservation.rules import LeakRules, machine_of
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.heuristics.reservation._kernels_machine import Programs
    from allocsolve.heuristics.reservation.rules import ExecutionRules
    from allocsolve.model import FloatArray, IntArray, ReservationProblem, Topology

__all__ = ["calibrate", "reference_partition"]


@lru_cache(maxsize=4096)
def reference_partition(topology: Topology, nodes: int) -> IntArray:
    """Return the most compact set that growth finds on an empty machine."""
    grown = growth(topology, np.ones(topology.num_nodes, dtype=np.bool_), nodes, seeds="all")
    assert grown is not None  # an empty machine is connected
    return frozen(grown)


def calibrate(
    problem: ReservationProblem,
    job_idxs: Sequence[int],
    programs: Programs,
    program: IntArray,
    rules: ExecutionRules,
) -> Scales:
    """Return the scales of jobs that make each end at its run time on its reference, alone.

    All lengths are proportional to the scales: that of the work alone and that of the messages alone say how
    long each takes by itself, and the length with both what the unit of the clock is. A job on its reference
    does the same by its clock, down to the last bit, and so ends at its run time.

    Raises
    ------
    InvalidProblem
        If a program does not end, or takes no time.
    """
    packed = problem.packed
    nodes = packed.nodes[list(job_idxs)]
    pairs, which = np.unique(np.stack([program, nodes]), axis=1, return_inverse=True)
    of, sizes, which = np.ascontiguousarray(pairs[0]), np.ascontiguousarray(pairs[1]), which.ravel()
    machine = machine_of(problem.topology, rules, LeakRules())
    leaks = forking(programs)[of] if rules.reference == "demand" else np.zeros(len(of), dtype=bool)
    middle = problem.topology.node_at([side // 2 for side in problem.topology.shape])
    sets = [
        reference_partition(problem.topology, size)[: 0 if leak else None]
        for size, leak in zip(sizes.tolist(), leaks.tolist(), strict=True)
    ]
    first = np.where(leaks, middle, -1)

    ones, zeros = np.ones(len(sets)), np.zeros(len(sets))

    def lengths(compute: FloatArray, message: FloatArray) -> FloatArray:
        """Return how long each takes alone, by its clock; NaN of those that do not end."""
        jobs, state = executed(
            machine,
            programs,
            program=of,
            nodes=sizes,
            start=zeros,
            limit=np.full_like(zeros, np.inf),
            scales=Scales(compute, message, ones),
            sets=sets,
            alone=True,
            first=first,
        )
        run_jobs(machine, programs, jobs, state, alone=True)
        return np.where(state.job[:, PHASE] == OVER, state.job_time[:, FINISHED], np.nan)

    work, messages = lengths(ones, zeros), lengths(zeros, ones)
    part = rules.communication
    compute, message = zeros.copy(), zeros.copy()
    np.divide(np.where(messages == 0, 1.0, 1.0 - part), work, out=compute, where=work > 0)
    np.divide(np.where(work == 0, 1.0, part), messages, out=message, where=messages > 0)
    length = lengths(compute, message) + 0 * (work + messages)  # who does not end once does not end
    wrong = ~(length > 0)
    if wrong.any():
        k = int(np.argmax(wrong[which]))
        why = "does not end" if np.isnan(length[which[k]]) else "takes no time"
        name = problem.names[job_idxs[k]]
        msg = f"job {name!r}: its program {why} on its reference partition of {nodes[k]} nodes"
        raise InvalidProblem(msg)
    return Scales(compute[which], message[which], packed.runtime[list(job_idxs)] / length[which])
