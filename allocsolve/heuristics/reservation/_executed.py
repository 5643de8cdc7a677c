"""Jobs to execute as arrays, and room for their execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.reservation._kernels_machine import Executed, new_state
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.heuristics.reservation._kernels_machine import Machine, Programs, State
    from allocsolve.model import FloatArray, IntArray

__all__ = ["Scales", "executed"]


class Scales(NamedTuple):
    """What times mean to each job, shape (jobs,)."""

    compute: FloatArray  #: units of its clock per work
    message: FloatArray  #: units of its clock per weight and hop
    factor: FloatArray  #: seconds per unit of its clock


def executed(
    machine: Machine,
    programs: Programs,
    *,
    program: IntArray,
    nodes: IntArray,
    start: FloatArray,
    limit: FloatArray,
    scales: Scales,
    sets: Sequence[IntArray],
    alone: bool,
    row: IntArray | None = None,
    first: IntArray | None = None,
) -> tuple[Executed, State]:
    """Return jobs to execute and room for it; jobs that are alone share one room.

    `sets` are the nodes of each job, in any order; none of one that leaks.
    """
    curve_place = np.argsort(machine.curve)
    ordered = [one[np.argsort(curve_place[one])] for one in sets]
    count = len(program)
    processes = np.diff(programs.process_at)[program]
    channels, messages = np.diff(programs.channel_at)[program], programs.num_messages[program]
    set_sizes = np.array([len(one) for one in sets], dtype=np.int64)
    needed = {
        "processes": processes,
        "channels": channels,
        "messages": messages,
        "slots": processes + messages,
        "rows": np.maximum(processes, set_sizes),
    }
    begins = {}
    sizes = {}
    for name, each in needed.items():
        begins[name] = frozen(np.zeros(count, dtype=np.int64) if alone else np.cumsum(each) - each)
        sizes[name] = int(each.max(initial=0) if alone else each.sum())
    jobs = Executed(
        frozen(program),
        frozen(nodes),
        frozen(start),
        frozen(limit),
        frozen(np.ascontiguousarray(scales.factor)),
        frozen(np.ascontiguousarray(scales.compute)),
        frozen(np.ascontiguousarray(scales.message)),
        frozen(np.cumsum([0, *set_sizes], dtype=np.int64)),
        frozen(np.concatenate([np.zeros(0, dtype=np.int64), *ordered])),
        frozen(np.zeros(count, dtype=np.int64) if row is None else row),
        frozen(np.full(count, -1) if first is None else first),
        begins["processes"],
        begins["channels"],
        begins["messages"],
        begins["slots"],
    )
    return jobs, new_state(machine, sizes, count)
