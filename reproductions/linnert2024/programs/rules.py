"""The rules by which programs are executed, and the machine with these rules as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.heuristics.partition.allocator import lattice
from allocsolve.model import frozen, node_order
from allocsolve.model.options import Options, Within
from reproductions.linnert2024.programs.state import Machine

if TYPE_CHECKING:
    from allocsolve.model import Topology

#: The reference on which a program takes exactly the run time of its job.
Reference: TypeAlias = Literal[
    "booked",  # the most compact partition of the size that it books, on an empty machine
    "demand",  # if it forks, an empty machine on which it leaks, alone and from the middle; else as booked
]

#: How long a job with booked nodes may run.
Overrun: TypeAlias = Literal[
    "end",  # until its booking ends
    "grace",  # until its deadline, or the next booking of one of its nodes
]

#: All overruns, the default first.
OVERRUNS: tuple[Overrun, ...] = get_args(Overrun)

#: What a job does if it finds no node when it arrives.
Waiting: TypeAlias = Literal["queue", "reject"]

#: Cores of a node, and a part of a time.
Cores: TypeAlias = Annotated[int, Within(1, 2**20)]
Part: TypeAlias = Annotated[float, Within(0, 1)]


@dataclass(frozen=True, slots=True)
class ExecutionRules(Options):
    """How programs run on nodes, and how long they take.

    Parameters
    ----------
    cores
        Cores of a node, >= 1: up to this many processes compute at full speed on it; more share it evenly.
    communication
        The part of a program's time, 0 to 1, that is communication. The scales of work and of messages are
        set so that each alone would take its part of the run time on the reference, and both together take
        the run time.
    hop_part
        The part q, 0 to 1, of the time of a message that grows with its hops: a message of weight w over h
        hops takes a time proportional to w (1 - q + q h).
    synchronous
        Whether a sender waits until its message has arrived.
    contention
        Whether messages share links. A message then takes the time above at full speed, over all links of its
        route, which goes axis by axis; links are shared max-min fairly. This is about ten times slower.
    reference
        The reference on which a program takes exactly the run time of its job: ``booked`` or ``demand``.
    """

    cores: Cores = 4
    communication: Part = 0.1
    hop_part: Part = 1.0
    synchronous: bool = False
    contention: bool = False
    reference: Reference = "booked"


@dataclass(frozen=True, slots=True)
class LeakRules(Options):
    """How jobs without bookings take nodes.

    Parameters
    ----------
    contiguous
        Whether a job takes only nodes that are linked to its own. Otherwise it goes on along the snake if no
        such node is free.
    waiting
        What a job does if it finds no node when it arrives: ``queue`` (in the order of arrival) or
        ``reject``.
    own_first
        Whether a forked process stays on the node of its parent if a core is free there.
    need_all
        Whether a job starts only if there is a node for each of its first processes, up to the number of
        nodes that it asks for. Otherwise one node is enough.
    """

    contiguous: bool = True
    waiting: Waiting = "queue"
    own_first: bool = True
    need_all: bool = False


@lru_cache(maxsize=16)
def machine_of(topology: Topology, rules: ExecutionRules, leak: LeakRules) -> Machine:
    """Return the machine and its rules as arrays."""
    snake = node_order(topology, "snake")
    return Machine(
        lattice(topology),
        snake,
        frozen(np.argsort(snake)),
        node_order(topology, "hilbert"),
        float(rules.hop_part),
        rules.cores,
        rules.synchronous,
        rules.contention,
        leak.contiguous,
        leak.waiting == "reject",
        leak.own_first,
        leak.need_all,
    )
