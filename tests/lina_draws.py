"""Random workloads of jobs as Lina et al. have them, random options, and runs of the slow twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from naive_lina import Candidates, LinaRules, Victims, naive_lina

from allocsolve.model import Job, Overhead, Requests, Stall, WorkloadProblem

if TYPE_CHECKING:
    import random

    from naive_evolving import ElasticCluster


def simulated(problem: WorkloadProblem, **rules: Any) -> ElasticCluster:
    return naive_lina(problem, LinaRules(**rules))


def draw_workload(rng: random.Random, stalls: bool, most: int = 14) -> WorkloadProblem:
    """Return a workload of up to so many jobs, of few distinct times."""
    num_nodes, span = rng.choice([4, 9, 24]), 3 * most

    def job() -> Job:
        low, own, high = sorted(rng.randint(1, num_nodes) for _ in range(3))
        kind = rng.choice(["rigid", "malleable", "malleable", "evolving"])
        row: dict[str, Any] = {"limit": rng.choice([None, float(rng.randint(1, 40))])}
        if kind == "rigid":
            return Job(rng.randint(0, span), own, rng.randint(1, 30), **row)
        if kind == "evolving":
            moments = sorted({rng.randint(1, 9) / 10 for _ in range(rng.randint(1, 4))}, reverse=True)
            row["evolution"] = Requests([(share, rng.choice([-3, -1, 1, 2, 5])) for share in moments])
        if stalls and rng.random() < 0.7:
            costs = (rng.randint(0, 3), rng.choice([0, 0.5]), rng.randint(0, 9))
            row["reconfiguration"] = Stall(*costs, "larger" if rng.random() < 0.3 else "new")
        return Job(
            *(rng.randint(0, span), own, rng.randint(1, 30)),
            **row | {"kind": kind, "min_nodes": low, "max_nodes": high},
            speedup=Overhead(rng.choice([0, 0.01, 0.1])),
        )

    return WorkloadProblem(num_nodes, [job() for _ in range(rng.randint(1, most))])


def draw_rules(rng: random.Random) -> dict[str, Any]:
    return {
        "candidates": rng.choice(get_args(Candidates)),
        "victims": rng.choice(get_args(Victims)),
        "seed": rng.randrange(9),
        "soon": rng.choice([0.0, 1.0, 5.0, 9.0]),
        "utilisation": rng.choice([0.3, 0.6, 0.8]),
        "done": rng.choice([0.1, 0.5, 2.0]),
    }
