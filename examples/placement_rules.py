"""How far from the best the placement rules of schedulers come, and what they leave to the next jobs.

Snapshots of machines are drawn: busy nodes at random (u), or what jobs left that came and went (c). On each,
every rule chooses nodes for a job, and the nearest nodes are proven. Then each rule runs a machine by itself:
jobs come and go, and after each turnover the snapshot is measured for the next jobs.

    python placement_rules.py                          # all tables of the page, some minutes
    python placement_rules.py --machines nvl72 --snapshots 20
"""

from __future__ import annotations

import argparse
import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allocsolve import Budget
from allocsolve.exact import TreeKnapsack
from allocsolve.heuristics import (
    first_free,
    fluxion,
    kai,
    kueue,
    lowest_switch,
    pbs_placement,
    random_free,
    slurm_block,
    slurm_tree,
    spur,
    volcano,
)
from allocsolve.instances import SWITCH_TREES
from allocsolve.judge import placement_metrics
from allocsolve.model import Placement, PlacementProblem, SwitchTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allocsolve.model import BoolArray, IntArray

    #: From a tree, its free nodes, a number of nodes and a seed to the chosen nodes, None where a job waits.
    Rule = Callable[[SwitchTree, BoolArray, int, int], IntArray | None]


def unseeded(rule: Callable[..., Any]) -> Rule:
    """Return a rule without random choices as one that takes a seed."""
    return lambda tree, free, k, _: rule(tree, free, k)


def best(tree: SwitchTree, free: BoolArray, k: int, seed: int, objective: str = "pairwise") -> IntArray:
    """Return the best nodes, proven."""
    result = TreeKnapsack(tuple(objective.split(",")))(PlacementProblem(tree, free, k), Budget(seed=seed))
    assert result.answer is not None
    nodes: IntArray = result.answer.nodes
    return nodes


RULES: dict[str, Rule] = {
    "random": lambda tree, free, k, seed: random_free(tree, free, k, seed=seed),
    "first free (fluxion low)": unseeded(first_free),
    "fluxion locality": unseeded(partial(fluxion, policy="locality")),
    "lowest switch, best fit": unseeded(lowest_switch),
    "slurm tree": unseeded(slurm_tree),
    "slurm block": unseeded(slurm_block),
    "kueue best fit": unseeded(kueue),
    "kueue balanced": unseeded(partial(kueue, mode="balanced")),
    "kai": unseeded(kai),
    "volcano": lambda tree, free, k, seed: volcano(tree, free, k, seed=seed),
    "spur": unseeded(spur),
    "pbs": unseeded(pbs_placement),
    "fewest racks, least left": partial(best, objective="domains,leftover"),
    "nearest": best,
}
OCCUPANCIES = ("u.5", "u.9", "c.5", "c.9")
#: Nodes that are asked for in a snapshot, and those of jobs that come and go: log-uniform.
ASKED, JOBS = (8, 256), (1, 128)
#: The next jobs: how many nodes each asks for.
NEXT = (8, 32, 128)


def log_uniform(random: np.random.Generator, low: int, high: int) -> int:
    """Draw a number whose logarithm is uniform."""
    return round(float(np.exp(random.uniform(np.log(low), np.log(high)))))


def churned(tree: SwitchTree, rule: Rule, share: float, seed: int) -> Iterator[BoolArray]:
    """Yield the free nodes after each turnover of a machine that a rule fills.

    Jobs come first in, first out of the queue; where one finds no nodes, a random job departs. After three
    turnovers, each begins with as many departures as there are jobs; then random jobs depart until only the
    share is busy, in a copy.
    """
    random = np.random.default_rng([seed, 1])
    busy = round(share * tree.num_nodes)
    free = np.ones(tree.num_nodes, dtype=np.bool_)
    jobs: list[IntArray] = []
    waiting, departed, turnovers = log_uniform(random, *JOBS), 0, 0
    while True:
        while waiting <= free.sum():
            mask = free.copy()
            mask.setflags(write=False)
            nodes = rule(tree, mask, waiting, int(random.integers(2**31)))
            if nodes is None:
                break
            free[nodes] = False
            jobs.append(nodes)
            waiting = log_uniform(random, *JOBS)
        if departed >= len(jobs):
            departed, turnovers = 0, turnovers + 1
            if turnovers > 3:
                yield _thinned(free, jobs, busy, random)
        if jobs:
            free[jobs.pop(int(random.integers(len(jobs))))] = True
        else:  # no job finds nodes even on the empty machine
            waiting = log_uniform(random, *JOBS)
        departed += 1


def _thinned(free: BoolArray, jobs: list[IntArray], busy: int, random: np.random.Generator) -> BoolArray:
    """Return the free nodes after random departures down to a number of busy nodes."""
    left, mask = [*jobs], free.copy()
    while (surplus := int((~mask).sum()) - busy) > 0:
        mask[left.pop(int(random.integers(len(left))))[-surplus:]] = True
    mask.setflags(write=False)
    return mask


def snapshots(tree: SwitchTree, occupancy: str, seed: int) -> Iterator[BoolArray]:
    """Yield masks of free nodes: of uniform busy nodes, or churned under the best fit below a switch."""
    share = float(occupancy[1:])
    if occupancy[0] == "c":
        yield from churned(tree, RULES["lowest switch, best fit"], share, seed)
    random = np.random.default_rng([seed, 2])
    busy = round(share * tree.num_nodes)
    while True:
        free = np.ones(tree.num_nodes, dtype=np.bool_)
        free[random.choice(tree.num_nodes, busy, replace=False)] = False
        free.setflags(write=False)
        yield free


def hops(tree: SwitchTree, nodes: IntArray) -> int:
    """Return the total distance, as the judge has it."""
    everything = np.ones(tree.num_nodes, dtype=np.bool_)
    problem = PlacementProblem(tree, everything, len(nodes))
    return placement_metrics(problem, Placement(nodes)).total_distance


def gap_table(machine: str, occupancies: tuple[str, ...], count: int, seed: int) -> None:
    """Print mean and largest gap to the nearest nodes in percent, and how many jobs wait."""
    tree = SWITCH_TREES[machine]
    columns: dict[str, list[str]] = {name: [] for name in RULES if name != "nearest"}
    for occupancy in occupancies:
        gaps: dict[str, list[float]] = {name: [] for name in columns}
        random = np.random.default_rng([seed, 3])
        for turn, free in zip(range(count), snapshots(tree, occupancy, seed), strict=False):
            k = min(log_uniform(random, *ASKED), int(free.sum()))
            least = hops(tree, best(tree, free, k, 0))
            for name, found in gaps.items():
                nodes = RULES[name](tree, free, k, turn)
                if nodes is not None:
                    found.append(100 * (hops(tree, nodes) / least - 1))
        for name, found in gaps.items():
            wait = f" ({count - len(found)} wait)" if len(found) < count else ""
            cell = f"{np.mean(found):.1f} / {max(found):.0f}{wait}" if found else "all wait"
            columns[name].append(cell)
    print(f"\n{machine}: gap to the nearest nodes, mean / largest of {count} snapshots, %")
    print(f"{'rule':26}" + "".join(f"{occupancy:>22}" for occupancy in occupancies))
    for name, cells in columns.items():
        print(f"{name:26}" + "".join(f"{cell:>22}" for cell in cells))


def next_jobs_table(machine: str, share: float, count: int, seed: int) -> None:
    """Print what each rule, running the machine, leaves to the next jobs.

    Of each snapshot: the share of the free nodes in racks that are all free, how many racks the job of 128
    nodes touches at least over the fewest that could hold it on the empty machine, and the nearest nodes for
    the next jobs over those on the empty machine.
    """
    tree = SWITCH_TREES[machine]
    everything = np.ones(tree.num_nodes, dtype=np.bool_)
    empty = {k: hops(tree, best(tree, everything, k, 0)) for k in NEXT}
    rack = np.bincount(tree.switch, minlength=tree.num_switches)
    print(f"\n{machine}, {share:.0%} busy: what a rule leaves to the next jobs, means of {count} turnovers")
    print(f"{'rule':26}{'in free racks':>14}" + "".join(f"{f'{k} nodes':>12}" for k in NEXT))
    for name, rule in RULES.items():
        whole: list[float] = []
        costs: dict[int, list[float]] = {k: [] for k in NEXT}
        for _, free in zip(range(count), churned(tree, rule, share, seed), strict=False):
            left = np.bincount(tree.switch[free], minlength=tree.num_switches)
            whole.append(left[left == rack].sum() / free.sum())
            for k, found in costs.items():
                if k <= free.sum():
                    found.append(hops(tree, best(tree, free, k, 0)) / empty[k])
        shares = "".join(f"{np.mean(found):>12.3f}" for found in costs.values())
        print(f"{name:26}{np.mean(whole):>14.1%}{shares}")


def fewest_domains_table(count: int, seed: int) -> None:
    """Print how often best fit, the largest racks first, misses the fewest racks with the least left over."""
    print(
        f"\none level of racks, half busy, {count} draws: best fit against fewest racks, then least left over"
    )
    print(f"{'racks':>10}{'missed':>10}{'nodes more left over, mean / largest':>40}")
    for racks, size in (16, 18), (128, 18), (64, 8), (32, 64):
        tree = SwitchTree.regular((racks, size))
        random = np.random.default_rng([seed, racks, size])
        more = []
        for _ in range(count):
            free = random.random(tree.num_nodes) < 0.5
            k = log_uniform(random, 2, int(free.sum()))
            problem = PlacementProblem(tree, free, k)
            fitted = lowest_switch(tree, free, k)
            assert fitted is not None
            chosen, least = (
                placement_metrics(problem, Placement(nodes))
                for nodes in (fitted, best(tree, free, k, 0, "domains,leftover"))
            )
            assert chosen.domains[0] == least.domains[0]
            more.append(chosen.leftover - least.leftover)
        missed = np.mean(np.array(more) > 0)
        print(f"{f'{racks}x{size}':>10}{missed:>10.1%}{f'{np.mean(more):.2f} / {max(more)}':>40}")


def dragonfly_hops(groups: int, routers: int, nodes: int) -> IntArray:
    """Return the links of the shortest minimal routes of a dragonfly between all pairs of nodes.

    In a group each router is linked to each other one, and each has one link to another group: with
    ``groups = routers + 1``, two groups share one link.
    """
    place = np.arange(groups * routers * nodes)
    group, router = place // (routers * nodes), place // nodes % routers
    towards = (group[None, :] - group[:, None] - 1) % groups  # the router that has the link there
    local = (router[:, None] != towards).astype(np.int64)
    between = 3 + local + local.T
    inside = np.where(router[:, None] == router[None, :], 2, 3)
    hops_of = np.where(group[:, None] == group[None, :], inside, between)
    np.fill_diagonal(hops_of, 0)
    return hops_of


def dragonfly_table(count: int, seed: int) -> None:
    """Print how much the best set by the tree's distance loses by minimal routes, on small dragonflies."""
    print(f"\ndragonflies by minimal routes: the best set of the tree above the best of all, {count} draws")
    for groups, routers, nodes in (4, 3, 2), (5, 4, 2), (6, 5, 2):
        tree = SwitchTree.regular((groups, routers, nodes), (2, 3, 5))
        hops_of = dragonfly_hops(groups, routers, nodes)
        random = np.random.default_rng([seed, groups])
        gaps = []
        for _ in range(count):
            free = np.zeros(tree.num_nodes, dtype=np.bool_)
            free[random.choice(tree.num_nodes, 14, replace=False)] = True
            k = int(random.integers(3, 8))
            sets = np.array([*itertools.combinations(np.flatnonzero(free).tolist(), k)])
            least = min(hops_of[sets[:, :, None], sets[:, None, :]].sum(axis=(1, 2)))
            chosen = best(tree, free, k, 0)
            gaps.append(100 * (hops_of[np.ix_(chosen, chosen)].sum() / least - 1))
        print(
            f"  {groups} groups of {routers}x{nodes}: mean {np.mean(gaps):.1f} %, largest {max(gaps):.0f} %"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ("nvl72", "meta-24k", "perlmutter-cpu")
    parser.add_argument("--machines", nargs="+", choices=[*SWITCH_TREES], default=names)
    parser.add_argument("--occupancies", nargs="+", default=OCCUPANCIES, help="u or c and a share: u.5 c.9")
    parser.add_argument("--snapshots", type=int, default=200)
    parser.add_argument("--turnovers", type=int, default=50, help="of each rule that runs a machine")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for machine in args.machines:
        gap_table(machine, tuple(args.occupancies), args.snapshots, args.seed)
        for share in (0.5, 0.9):
            next_jobs_table(machine, share, args.turnovers, args.seed)
    fewest_domains_table(10 * args.snapshots, args.seed)
    dragonfly_table(args.snapshots, args.seed)


if __name__ == "__main__":
    main()
