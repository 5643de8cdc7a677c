"""Evolve a policy: a local search over the exponents of a formula, each candidate sealed and judged.

    python evolve_policy.py [--logs DIR] [--trials 60] [--windows 6] [--jobs 400] [--out best_policy.py]

Without logs it draws two. The search sees the first three quarters of each log only; at the end, the best
policy and those that are known are evaluated on windows of the last quarter, drawn by another seed.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from allocsolve.bench import PolicyEvaluator
from allocsolve.instances import lublin1999, write_problem
from allocsolve.model import WorkloadProblem

TEMPLATE = Path(__file__).with_name("evolved_policy.py").read_text(encoding="utf-8")
#: EASY itself: who has waited for longest is the next one.
FIRST_COME = (0.0, 0.0, -1.0)
KNOWN = ("easy", *(f"easy(order=f{number})" for number in range(1, 5)), "easy(order=shortest-estimate)")


def text(exponents: tuple[float, ...]) -> str:
    """Return the text of the policy with these exponents of limit, nodes and wait."""
    stated = ", ".join(f"{value:.3g}" for value in exponents)
    return re.sub(r"(?m)^LIMIT, NODES, WAIT = .*$", f"LIMIT, NODES, WAIT = {stated}", TEMPLATE)


def drawn_logs(folder: Path) -> None:
    """Write two logs of machines of 128 nodes; users ask for one to ten times the run time."""
    for seed in (1, 2):
        log = lublin1999(seed, num_jobs=6000, num_nodes=128)
        rng = np.random.default_rng(seed)
        factors = rng.uniform(1, 10, len(log.jobs))
        # 1.1 times as fast as drawn: more of them wait.
        jobs = [
            replace(job, submit=job.submit // 1.1, limit=math.ceil(job.runtime * factor))
            for job, factor in zip(log.jobs, factors, strict=True)
        ]
        write_problem(WorkloadProblem(128, jobs, name=f"drawn-{seed}"), folder / f"drawn-{seed}.json")


def search(evaluator: PolicyEvaluator, path: Path, trials: int) -> tuple[float, ...]:
    """Return the best exponents that were found; steps get shorter while nothing is."""
    rng = np.random.default_rng(0)
    best: tuple[float, ...] = FIRST_COME
    step, best_score = 1.0, 0.0
    for trial in range(trials):
        tried = best if trial == 0 else tuple(value + step * rng.normal() for value in best)
        path.write_text(text(tried), encoding="utf-8")
        score = evaluator.evaluate(str(path))["combined_score"]
        if score > best_score:
            best, best_score, step = tried, score, min(2.0, 1.5 * step)
            print(
                f"trial {trial}: {score:.4f}  limit^{tried[0]:.2f} nodes^{tried[1]:.2f} wait^{tried[2]:.2f}"
            )
        else:
            step = max(0.05, 0.9 * step)
    return best


def main() -> None:
    """Search, and compare on held-out windows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=Path)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--windows", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path("best_policy.py"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logs = args.logs
        if logs is None:
            logs = Path(folder) / "logs"
            logs.mkdir()
            drawn_logs(logs)
        evaluator = PolicyEvaluator([logs], windows=args.windows, jobs=args.jobs, seed=1)
        best = search(evaluator, Path(folder) / "candidate.py", args.trials)
        args.out.write_text(text(best), encoding="utf-8")
        held_out = PolicyEvaluator([logs], windows=args.windows, jobs=args.jobs, seed=2, split="test")
        print(f"{'held-out windows':30}{'score':>8}{'regret':>10}")
        for name in (*KNOWN, str(args.out)):
            metrics = held_out.evaluate(name)["metrics"]
            scores = [metrics[f"window_{idx}"] for idx in range(1, args.windows + 1)]
            regret = sum(1 / score - 1 for score in scores) / len(scores) if min(scores) > 0 else math.inf
            print(f"{name:30}{metrics['combined_score']:8.4f}{regret:10.1%}")


if __name__ == "__main__":
    main()
