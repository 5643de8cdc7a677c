"""The jobs of a log on the switches of its machine: the nodes that rules of schedulers take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics import LowestSwitch, SlurmBlock, SlurmTree
from allocsolve.heuristics.placement.rule import Request
from allocsolve.instances import read_network
from allocsolve.model import SwitchTree
from allocsolve.report.logs.words import schedule_name
from allocsolve.report.tables import Table, TableCell, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.heuristics.placement.rule import Rule
    from allocsolve.instances import JobLog
    from allocsolve.instances.formats.files import PathLike
    from allocsolve.model import BoolArray, FloatArray, IntArray, WorkloadProblem, WorkloadSchedule


class Network(NamedTuple):
    """The switches of a machine, and the rules that are tried on them."""

    tree: SwitchTree
    rules: tuple[Rule, ...]


class Replay(NamedTuple):
    """A schedule on the network, the nodes taken by a rule."""

    schedule: str  #: name of the solver, or ``recorded``
    rule: str
    #: Mean over the jobs with several nodes of the mean distance of two of them; NaN if there is no such job.
    hops: float
    switches: float  #: those of level 1 with nodes of a job, mean over the jobs
    fewest: float  #: the same if each job had the machine for itself
    held_back: int  #: jobs that the rule lets wait although enough nodes are free


def network_of(path: PathLike, log: JobLog, problem: WorkloadProblem) -> Network:
    """Return the network of a machine: of a file that `allocsolve.instances.read_network` takes.

    Raises `FormatError` if it is none, `InvalidOption` if it is not that of this machine.
    """
    found = read_network(path)
    tree, option = found.topology, f"--topology {path}"
    if not isinstance(tree, SwitchTree):
        raise InvalidOption(f"{option}: a ring or a torus, where jobs are replayed on switches")
    if log.machine.unit != "nodes":
        raise InvalidOption(f"{option}: whole nodes are placed, and sizes count {log.machine.unit}")
    if tree.num_nodes != problem.num_nodes:
        raise InvalidOption(f"{option}: has {tree.num_nodes:,} nodes, the machine {problem.num_nodes:,}")
    blocks = SlurmBlock(",".join(map(str, found.block_sizes)))
    return Network(tree, (SlurmTree(), blocks, LowestSwitch()))


def replays(
    network: Network, problem: WorkloadProblem, schedules: Mapping[str, WorkloadSchedule]
) -> tuple[Replay, ...]:
    """Return each schedule, by name, under each rule; jobs without run time are left out.

    The starts are those of the schedule. A job that a rule would let wait gets the free nodes with the lowest
    ids. *Complexity*: a choice of nodes for each job, schedule and rule.
    """
    tree, jobs = network.tree, problem.jobs.packed
    ran = np.flatnonzero(jobs.runtime > 0)
    sizes = jobs.nodes[ran]
    leaves = np.sort(np.bincount(tree.switch, minlength=tree.num_switches))[::-1]
    fewest = float((np.searchsorted(np.cumsum(leaves), sizes) + 1).mean()) if len(ran) else np.nan
    made = []
    for name, schedule in schedules.items():
        starts, ends = schedule.first_starts[ran], schedule.last_ends[ran]
        for rule in network.rules:
            hops, switches, held_back = _replay(rule, tree, starts, ends, sizes)
            made.append(Replay(name, rule.name, hops, switches, fewest, held_back))
    return tuple(made)


def _replay(
    rule: Rule, tree: SwitchTree, starts: FloatArray, ends: FloatArray, sizes: IntArray
) -> tuple[float, float, int]:
    """Return the mean hops of a pair and switches of a job, and how many jobs are held back."""
    free: BoolArray = np.ones(tree.num_nodes, dtype=np.bool_)
    held: dict[int, IntArray] = {}
    roots = _roots(tree)
    hops, switches, held_back = [], [], 0
    # Of one instant all ends come first.
    times, is_start = np.concatenate([ends, starts]), np.repeat([False, True], len(starts))
    for event in np.lexsort([is_start, times]).tolist():
        job = event % len(starts)
        if not is_start[event]:
            free[held.pop(job)] = True
            continue
        size = int(sizes[job])
        nodes = rule.take(Request(tree, free, size))
        if nodes is None:
            held_back += 1
            nodes = np.flatnonzero(free)[:size]
        held[job] = nodes
        free[nodes] = False
        chosen = tree.sums_below(np.bincount(tree.switch[nodes], minlength=tree.num_switches))
        switches.append(np.count_nonzero(chosen[tree.level == 1]))
        if size > 1:
            hops.append(mean_hops(tree, chosen, roots))
    return float(np.mean(hops or np.nan)), float(np.mean(switches or np.nan)), held_back


def _roots(tree: SwitchTree) -> IntArray:
    """Return the root above each switch, shape (switches,)."""
    roots = np.arange(tree.num_switches)
    for switch in tree.top_down:
        if tree.parent[switch] >= 0:
            roots[switch] = roots[tree.parent[switch]]
    return roots


def mean_hops(tree: SwitchTree, chosen: IntArray, roots: IntArray) -> float:
    """Return the mean distance of two nodes of a set, of those pairs that have a common switch; else NaN.

    `chosen` is how many of the nodes are below each switch, `roots` the root above each, shape (switches,).
    A link lies between so many pairs as there are nodes below it times others below its root.
    """
    together = chosen[roots]
    tops = chosen[tree.parent < 0]
    pairs = int((tops * (tops - 1)).sum()) // 2
    halves = 2 * tree.node_weight * pairs + int((tree.weight * chosen * (together - chosen)).sum())
    return halves / 2 / pairs if pairs else np.nan


#: What is said below the table.
_NOTE: Final = (
    "Starts stay as they are, and nodes are taken by a rule. Hops a pair: the mean distance of two nodes of "
    "a job that has several. Switches a job: the leaf switches with nodes of it. Held back: jobs that "
    "the rule lets wait for nodes near each other although enough are free; how much later they would start "
    "is not modelled, and they get the first free nodes here."
)


def network_table(replayed: Sequence[Replay]) -> Table:
    """Return what each rule makes of each schedule."""
    heads = "schedule", "rule", "hops a pair", "switches a job", "at least", "held back"
    rows = tuple(
        (
            text(schedule_name(one.schedule)),
            text(one.rule),
            *(TableCell(f"{mean:.2f}", mean) for mean in (one.hops, one.switches, one.fewest)),
            TableCell(f"{one.held_back:,}", float(one.held_back)),
        )
        for one in replayed
    )
    return Table("On the network", heads, rows, _NOTE)
