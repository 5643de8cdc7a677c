"""Both price bounds on 2,000 small workloads: at most the optimum, at least the bound of single jobs."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from naive_workload_optimum import workload_optimum
from tiers import draws

from allocsolve.bounds.workload import time_prices, workload_bound
from allocsolve.bounds.workload.job_prices import job_prices
from allocsolve.judge.workload.certificate import workload_certified_bound
from allocsolve.model import (
    Amdahl,
    Clock,
    Job,
    PowerLaw,
    Speedup,
    SpeedupTable,
    WorkloadProblem,
    WorkloadTerm,
)

#: Of what the judge rounds, and of sums of times that are no quarters of a second.
TOLERANCE = Fraction(1, 10**12)


def rigid_workload(rng: random.Random) -> WorkloadProblem:
    """Up to six jobs: whole seconds, quarters or other times, on both sides of the slowdown floor."""
    num_nodes, scale = rng.randint(1, 10), rng.choice([0.25, 1, 5, 1.1])
    jobs = [
        Job(
            rng.choice([0, rng.randint(0, 9)]) * scale,
            rng.randint(1, num_nodes),
            rng.randint(1, 9) * scale,
            weight=rng.choice([1, 1, 1, 0, 2, 0.3]),
        )
        for _ in range(rng.randint(1, 6))
    ]
    return WorkloadProblem(num_nodes, jobs)


def moldable_workload(rng: random.Random) -> WorkloadProblem:
    """Up to three jobs, of which most can run on two or three sizes: by a table or by a law."""
    num_nodes, scale = rng.randint(1, 6), rng.choice([0.25, 1, 5])
    jobs = []
    for _ in range(rng.randint(1, 3)):
        nodes, runtime = rng.randint(1, num_nodes), rng.randint(1, 9) * scale
        submit, weight = rng.choice([0, rng.randint(0, 12)]) * scale, rng.choice([1, 1, 0, 2, 0.3])
        share = rng.choice([0, 0.5, 0.9, 1])
        law: Speedup = Amdahl(share) if rng.random() < 0.5 else PowerLaw(share)
        fewest, most = max(1, nodes - 1), min(num_nodes, nodes + 1)
        if rng.random() < 0.5:
            others = {rng.randint(1, num_nodes): rng.randint(1, 9) * scale for _ in range(2)}
            rows = sorted({**others, nodes: runtime}.items())
            law, fewest, most = SpeedupTable(rows), rows[0][0], rows[-1][0]
        jobs.append(
            Job(
                submit,
                nodes,
                runtime,
                weight=weight,
                min_nodes=fewest,
                max_nodes=most,
                speedup=law,
            )
        )
    return WorkloadProblem(num_nodes, jobs)


def test_both_bounds_of_rigid_jobs() -> None:
    for seed in draws(2000):
        rng = random.Random(seed)
        term: WorkloadTerm = ("turnaround", "slowdown")[seed % 2]
        problem = rigid_workload(rng)
        best = workload_optimum(problem, term)
        by_time = time_prices(problem, term)
        by_job = job_prices(problem, term, by_time, clock=Clock(math.inf))
        single = workload_bound(problem, term)
        assert single <= by_time.value + (1e-9 if problem.is_exact else 1e-3), seed
        assert by_time.value <= by_job.value, seed
        for bound in (by_time, by_job):
            certified = workload_certified_bound(problem, bound.certificate, (term,))
            assert bound.value <= certified <= best * (1 + TOLERANCE), seed


def test_time_prices_of_moldable_jobs() -> None:
    """Prices per job are for rigid jobs: of others they are the prices per node-second."""
    for seed in draws(2000):
        rng = random.Random(seed)
        term: WorkloadTerm = ("turnaround", "slowdown")[seed % 2]
        problem = moldable_workload(rng)
        best = workload_optimum(problem, term)
        bound = time_prices(problem, term)
        assert job_prices(problem, term, bound, clock=Clock(math.inf)) is bound or problem.is_rigid
        certified = workload_certified_bound(problem, bound.certificate, (term,))
        assert bound.value <= certified <= best * (1 + TOLERANCE), seed
        single = workload_bound(problem, term)
        assert single <= bound.value + (1e-9 if problem.is_exact else 1e-3), seed
