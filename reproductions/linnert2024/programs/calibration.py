"""Calibration: scales of work and of messages with which a program takes the run time of its job."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.heuristics import growth
from allocsolve.model.arrays import frozen
from reproductions.linnert2024.programs._kernels_execution import run_jobs
from reproductions.linnert2024.programs.program_set import forking
from reproductions.linnert2024.programs.rules import ExecutionRules, LeakRules, machine_of
from reproductions.linnert2024.programs.state import OVER, Scales, executed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import FloatArray, IntArray, ReservationProblem, Topology
    from reproductions.linnert2024.programs.program_set import ProgramSet
    from reproductions.linnert2024.programs.state import Programs

#: Known scales and lengths of programs, by machine, rules, name and number of nodes.
_KNOWN: Final[dict[tuple[Topology, ExecutionRules, object, int], tuple[float, ...]]] = {}
#: The number of entries above which the table is emptied, so that memory stays bounded (some MB).
_MAX_KNOWN: Final = 20_000


@lru_cache(maxsize=4096)
def reference_partition(topology: Topology, nodes: int) -> IntArray:
    """Return the most compact set that growth finds on an empty machine: `growth` from all seeds."""
    grown = growth(topology, np.ones(topology.num_nodes, dtype=np.bool_), nodes, seeds="all")
    assert grown is not None, "an empty machine has the nodes of any job"
    return frozen(grown)


def calibrate(
    problem: ReservationProblem, job_idxs: Sequence[int], programs: ProgramSet, rules: ExecutionRules
) -> Scales:
    """Return the scales with which each job, alone on its reference, ends at its run time.

    All lengths are proportional to the scales. Two executions, with work only and with messages only, say how
    long each part takes by itself; a third one with both gives the unit of the clock. On its reference, a job
    does the same by its clock, down to the last bit, and so ends at its run time. Results are remembered,
    because strategies that are compared run the same programs.

    `InvalidProblem` if a program does not end, or takes no time.
    """
    nodes = problem.packed.nodes[list(job_idxs)]
    pairs, which = np.unique(np.stack([programs.of_job, nodes]), axis=1, return_inverse=True)
    keys = [(problem.topology, rules, programs.names[p], size) for p, size in pairs.T.tolist()]
    rows = [_KNOWN.get(key, ()) for key in keys]
    new = [k for k, row in enumerate(rows) if not row]
    if new:
        scales = _scales(problem.topology, rules, programs.arrays, *pairs[:, new])
        wrong = ~(scales.factor > 0)
        if wrong.any():
            at = int(np.argmax(wrong))
            why = "does not end" if np.isnan(scales.factor[at]) else "takes no time"
            job = int(np.argmax(which.ravel() == new[at]))
            name = problem.names[job_idxs[job]]
            msg = f"job {name!r}: its program {why} on its reference partition of {nodes[job]} nodes"
            raise InvalidProblem(msg)
        if len(_KNOWN) > _MAX_KNOWN:
            _KNOWN.clear()
        for k, *row in zip(new, *map(np.ndarray.tolist, scales), strict=True):
            _KNOWN[keys[k]] = rows[k] = tuple(row)
    compute, message, length = np.array(rows).reshape(-1, 3)[which.ravel()].T
    return Scales(compute, message, problem.packed.runtime[list(job_idxs)] / length)


def _scales(
    topology: Topology, rules: ExecutionRules, programs: Programs, of: IntArray, nodes: IntArray
) -> Scales:
    """Return the scales of programs, with the lengths by their clocks in place of factors.

    The length of a program that does not end is NaN.
    """
    machine = machine_of(topology, rules, LeakRules())
    of, nodes = np.ascontiguousarray(of), np.ascontiguousarray(nodes)
    leaks = forking(programs)[of] if rules.reference == "demand" else np.zeros(len(of), dtype=bool)
    middle = topology.node_at([side // 2 for side in topology.shape])
    sets = [
        reference_partition(topology, size)[: 0 if leak else None]
        for size, leak in zip(nodes.tolist(), leaks.tolist(), strict=True)
    ]
    ones, zeros = np.ones(len(sets)), np.zeros(len(sets))

    def lengths(compute: FloatArray, message: FloatArray) -> FloatArray:
        """Return how long each program takes by its clock, with these scales."""
        jobs, state = executed(
            machine,
            programs,
            program=of,
            nodes=nodes,
            start=zeros,
            limit=np.full_like(zeros, np.inf),
            scales=Scales(compute, message, ones),
            sets=sets,
            alone=True,
            first=np.where(leaks, middle, -1),
        )
        run_jobs(machine, programs, jobs, state, alone=True)
        return np.where(state.job["phase"] == OVER, state.job["finished"], np.nan)

    work, messages = lengths(ones, zeros), lengths(zeros, ones)
    part = rules.communication
    compute, message = zeros.copy(), zeros.copy()
    np.divide(np.where(messages == 0, 1.0, 1.0 - part), work, out=compute, where=work > 0)
    np.divide(np.where(work == 0, 1.0, part), messages, out=message, where=messages > 0)
    length = lengths(compute, message) + 0 * (work + messages)  # NaN if any of the three does not end
    return Scales(compute, message, length)
