"""How far the rules of schedulers are from the least distance, on machines, against a table made before.

The table was made by other code, with other draws. Run as a script, this file prints its own.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from allocsolve import heuristics
from allocsolve.exact import TreeKnapsack
from allocsolve.instances import SWITCH_TREES
from allocsolve.model import Budget, PlacementProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import BoolArray, IntArray, SwitchTree

MACHINES = ("nvl72", "meta-24k", "perlmutter-cpu")
#: Random busy nodes (u), and what jobs left that came and went (c), with the share that is busy.
OCCUPANCIES = ("u.5", "u.9", "c.9")
SNAPSHOTS = 200
#: Nodes that are asked for, and those of jobs that came and went: log-uniform.
ASKED, JOBS = (8, 256), (1, 128)

RULES: dict[str, Any] = {
    "random": heuristics.random_free,
    "first-free": heuristics.first_free,
    "lowest-switch": heuristics.lowest_switch,
    "slurm-tree": heuristics.slurm_tree,
    "slurm-block": heuristics.slurm_block,
    "kueue": heuristics.kueue,
    "kueue(mode=balanced)": partial(heuristics.kueue, mode="balanced"),
    "kai": heuristics.kai,
    "volcano": heuristics.volcano,
    "spur": heuristics.spur,
    "pbs-placement": heuristics.pbs_placement,
}
#: Mean gaps in percent, by rule; three occupancies for each machine.
PRINTED: dict[str, tuple[float | None, ...]] = {
    "random": (86, 36, 81, 46, 30, 35, 79, 38, 63),
    "first-free": (10, 5, 31, 1.5, 3, 10, 5, 6, 25),
    "lowest-switch": (2.6, 3.1, 3.6, 0, 0.8, 0.5, 1.5, 1.9, 3.1),
    "slurm-tree": (7.7, 13, 9.7, 0.4, 6.6, 4.8, 10, 14, 15),
    "slurm-block": (1.6, None, 0.4, None, None, None, 1.1, None, 0.3),
    "kueue": (3.9, 4.0, 4.1, 1.0, 1.4, 0.8, 2.8, 2.9, 3.5),
    "kueue(mode=balanced)": (3.8, 1.3, 1.5, 1.0, 0.7, 0.2, 2.1, 1.3, 1.2),
    "kai": (3.4, 3.6, 4.4, 0, 0.9, 0.8, 3.4, 3.2, 4.1),
    "volcano": (5.8, 6.5, 6.9, 1.2, 4.2, 3.0, 4.2, 7.0, 7.5),
    "spur": (0.9, 3.0, 3.0, 0.5, 3.6, 9.5, 1.7, 4.2, 5.2),
    "pbs-placement": (5.6, 5.3, 7.3, 1.3, 2.1, 2.4, 3.1, 4.5, 7.8),
}
#: How many of 200 jobs wait by ``slurm-block``.
PRINTED_WAITING = {"nvl72": (112, 200, 137), "perlmutter-cpu": (113, 200, 154)}


class Gaps(NamedTuple):
    """Of one rule on all snapshots."""

    percent: list[float]  #: above the least distance, of the jobs that got nodes
    waiting: int  #: jobs that got none


def log_uniform(random: np.random.Generator, low: int, high: int) -> int:
    return round(float(np.exp(random.uniform(np.log(low), np.log(high)))))


def snapshots(tree: SwitchTree, occupancy: str, seed: int) -> Iterator[BoolArray]:
    """Yield masks of free nodes."""
    random = np.random.default_rng(seed)
    busy = round(float(occupancy[1:]) * tree.num_nodes)
    if occupancy[0] == "u":
        while True:
            free = np.ones(tree.num_nodes, dtype=np.bool_)
            free[random.choice(tree.num_nodes, busy, replace=False)] = False
            yield free
    free = np.ones(tree.num_nodes, dtype=np.bool_)
    jobs: list[IntArray] = []
    waiting, departed, turnovers = log_uniform(random, *JOBS), 0, 0

    def depart(held: list[IntArray]) -> IntArray:
        return held.pop(int(random.integers(len(held))))

    while True:
        while waiting <= free.sum() and (nodes := heuristics.lowest_switch(tree, free, waiting)) is not None:
            free[nodes] = False
            jobs.append(nodes)
            waiting = log_uniform(random, *JOBS)
        if departed >= len(jobs):  # a turnover; the first three warm up
            departed, turnovers = 0, turnovers + 1
            if turnovers > 3:
                left, mask = [*jobs], free.copy()
                while (surplus := int((~mask).sum()) - busy) > 0:
                    mask[depart(left)[-surplus:]] = True
                yield mask
        free[depart(jobs)] = True
        departed += 1


def distance(tree: SwitchTree, nodes: IntArray) -> int:
    """Sum of hops over all pairs, link by link."""
    chosen = np.zeros(tree.num_nodes, dtype=np.bool_)
    chosen[nodes] = True
    below, k = tree.nodes_below(chosen), len(nodes)
    return int(tree.node_weight * k * (k - 1) + (tree.weight * below * (k - below)).sum()) // 2


def gaps(machine: str, occupancy: str, seed: int = 1) -> dict[str, Gaps]:
    """Return what each rule does on the snapshots of a machine."""
    tree = SWITCH_TREES[machine]
    random = np.random.default_rng([seed, 7])
    found = {name: Gaps([], 0) for name in RULES}
    for turn, free in zip(range(SNAPSHOTS), snapshots(tree, occupancy, seed), strict=False):
        k = min(log_uniform(random, *ASKED), int(free.sum()))
        least = TreeKnapsack()(PlacementProblem(tree, free, k), Budget()).objective
        assert isinstance(least, int)
        for name, rule in RULES.items():
            seeded = {"seed": turn} if name in {"random", "volcano"} else {}
            nodes = rule(tree, free, k, **seeded)
            if nodes is None:
                found[name] = found[name]._replace(waiting=found[name].waiting + 1)
                continue
            gap = distance(tree, nodes) / least - 1
            assert gap >= 0
            found[name].percent.append(100 * gap)
    return found


@pytest.mark.parametrize("occupancy", OCCUPANCIES)
@pytest.mark.parametrize("machine", MACHINES)
def test_mean_gaps_are_those_of_the_table(machine: str, occupancy: str) -> None:
    """They differ by at most four standard errors of the difference, six where snapshots follow each other.

    What jobs leave depends on the rule that placed them, of which the table says nothing; with racks of two
    nodes more than elsewhere. There it is only compared in order of magnitude.
    """
    column = MACHINES.index(machine) * len(OCCUPANCIES) + OCCUPANCIES.index(occupancy)
    errors = 6 if occupancy[0] == "c" else 4
    offenders = []
    found = gaps(machine, occupancy)
    for name, (percent, waiting) in found.items():
        printed = PRINTED[name][column]
        if machine in PRINTED_WAITING and name == "slurm-block":
            expected = PRINTED_WAITING[machine][OCCUPANCIES.index(occupancy)]
            if abs(waiting - expected) > errors * (2 * SNAPSHOTS * 0.25) ** 0.5:
                offenders.append(f"{name}: {waiting} wait, {expected} in the table")
        elif name != "slurm-block":
            assert not waiting
        if printed is None or not percent:
            continue
        spread = float(np.std(percent)) * (2 / len(percent)) ** 0.5
        rounding = 0.05 if printed < 10 and printed % 1 else 0.5
        allowed = errors * spread + rounding
        if (machine, occupancy) == ("meta-24k", "c.9"):
            allowed = max(allowed, 3.0)
        if abs(np.mean(percent) - printed) > allowed:
            offenders.append(f"{name}: {np.mean(percent):.2f} %, {printed} in the table, +-{allowed:.2f}")
    assert not offenders, "\n".join(offenders)
    if machine != "meta-24k":
        means = {name: float(np.mean(percent)) for name, (percent, _) in found.items() if percent}
        assert means["lowest-switch"] < means["kai"] < means["volcano"] < means["slurm-tree"]


def main() -> None:
    for machine in MACHINES:
        for occupancy in OCCUPANCIES:
            sys.stdout.write(f"{machine} {occupancy}\n")
            for name, (percent, waiting) in gaps(machine, occupancy).items():
                mean = f"{np.mean(percent):6.1f} % {np.max(percent):4.0f} %" if percent else " none"
                sys.stdout.write(f"  {name:22}{mean}{f'  {waiting} wait' if waiting else ''}\n")


if __name__ == "__main__":
    main()
