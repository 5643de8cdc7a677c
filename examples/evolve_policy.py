"""Evolve a policy: a search for the four numbers of a formula, each candidate sealed and judged.

    python evolve_policy.py [--logs DIR] [--generations 20] [--windows 6] [--jobs 400] [--out best_policy.py]

Without logs it draws two. The search sees the first three quarters of each log only; at the end, the policy
that was found and those that are known are evaluated on windows of the last quarter.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from allocsolve.bench import PolicyEvaluator, holm, signed_rank
from allocsolve.instances import lublin1999, write_problem
from allocsolve.model import WorkloadProblem

TEMPLATE = Path(__file__).with_name("evolved_policy.py").read_text(encoding="utf-8")
#: Known policies that are points of the formula: exponents of limit and nodes, log10 of the factor of the
#: submission, trust. The first two have no such term: what is left of it decides between equal jobs.
POINTS = {
    "easy(order=shortest-estimate)": (1.0, 0.0, -9.0, 1.0),
    "easy(order=smallest-area)": (1.0, 1.0, -9.0, 1.0),
    "easy(order=f2)": (0.5, 1.0, math.log10(25600), 1.0),
    "easy(order=f3)": (1.0, 1.0, math.log10(6860000), 1.0),
    "easy(order=f4)": (1.0, 0.5, math.log10(530000), 1.0),
}
KNOWN = ("easy", "easy(order=f1)", *POINTS)
#: How far the first candidates are from the point where the search begins.
SPREAD = np.array([0.3, 0.3, 0.5, 0.2])
CANDIDATES, KEPT, NARROWER = 8, 3, 0.93


def text(numbers: np.ndarray) -> str:
    """Return the text of the policy with these numbers."""
    stated = ", ".join(f"{value:.3f}" for value in numbers)
    return re.sub(r"(?m)^LIMIT, NODES, AGE, TRUST = .*$", f"LIMIT, NODES, AGE, TRUST = {stated}", TEMPLATE)


def drawn_logs(folder: Path) -> None:
    """Write two logs of machines of 128 nodes; users ask for one to ten times the run time."""
    for seed in (1, 2):
        log = lublin1999(seed, num_jobs=12_000, num_nodes=128)
        rng = np.random.default_rng(seed)
        factors = rng.uniform(1, 10, len(log.jobs))
        # 1.1 times as fast as drawn: more of them wait.
        jobs = [
            replace(job, submit=job.submit // 1.1, limit=math.ceil(job.runtime * factor))
            for job, factor in zip(log.jobs, factors, strict=True)
        ]
        write_problem(WorkloadProblem(128, jobs, name=f"drawn-{seed}"), folder / f"drawn-{seed}.json")


def search(logs: Path, path: Path, args: argparse.Namespace) -> np.ndarray:
    """Return the numbers at which the search ends.

    It begins at the best of the known points. Each generation draws candidates around the present point,
    tries them on windows that it draws anew, and goes to the mean of the best ones: what luck has given to
    one of them is mostly lost in a mean. Candidates are drawn ever closer.
    """
    rng = np.random.default_rng(args.seed)
    first = PolicyEvaluator([logs], windows=2 * args.windows, jobs=args.jobs, seed=1000 * args.seed)
    scores = {name: first.evaluate(name)["combined_score"] for name in POINTS}
    begin = max(scores, key=lambda name: scores[name])
    print(f"begins at {begin}: {scores[begin]:.4f}")
    point, spread = np.array(POINTS[begin]), SPREAD
    point[2] = max(point[2], 0)  # from where steps can reach what matters
    for generation in range(1, args.generations + 1):
        seed = 1000 * args.seed + generation
        evaluator = PolicyEvaluator([logs], windows=args.windows, jobs=args.jobs, seed=seed)
        tried = point + spread * rng.standard_normal((CANDIDATES, len(point)))
        tried[:, 3] = np.clip(tried[:, 3], 0, 1)
        found = []
        for numbers in tried:
            path.write_text(text(numbers), encoding="utf-8")
            found.append(evaluator.evaluate(str(path))["combined_score"])
        point, spread = tried[np.argsort(found)[-KEPT:]].mean(axis=0), NARROWER * spread
        limit, nodes, age, trust = point
        print(
            f"generation {generation}: {np.mean(found):.4f}  "
            f"limit^{limit:.2f} nodes^{nodes:.2f} + 10^{age:.2f} log10(submission), trust {trust:.2f}",
            flush=True,
        )
    return point


def compare(held_out: PolicyEvaluator, found: str) -> None:
    """Show the mean gap on held-out windows, and on how many the found policy has less."""
    count, scores = len(held_out.windows), {}
    for name in (found, *KNOWN):
        metrics = held_out.evaluate(name)["metrics"]
        scores[name] = np.array([metrics[f"window_{idx}"] for idx in range(1, count + 1)])
    with np.errstate(divide="ignore"):
        gaps = {name: 1 / values - 1 for name, values in scores.items()}
    less = {name: gaps[name] - gaps[found] for name in KNOWN}
    adjusted = dict(zip(KNOWN, holm([signed_rank(less[name].tolist()) for name in KNOWN]), strict=True))
    heads = f"{'score':>8}{'gap':>9}{'found has less on':>20}{'p (Holm)':>10}"
    print(f"{f'on {count} held-out windows':30}{heads}")
    for name, values in scores.items():
        line = f"{name:30}{values.mean():8.4f}{gaps[name].mean():9.1%}"
        if name != found:
            line += f"{f'{(less[name] > 0).sum()} of {count}':>20}{adjusted[name]:10.2g}"
        print(line)


def main() -> None:
    """Search, and compare on held-out windows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=Path)
    parser.add_argument("--generations", type=int, default=20)
    parser.add_argument("--windows", type=int, default=6)
    parser.add_argument("--held-out", type=int, default=14)
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("best_policy.py"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logs = args.logs
        if logs is None:
            logs = Path(folder) / "logs"
            logs.mkdir()
            drawn_logs(logs)
        # Of one seed, as windows of several would share jobs; drawn first: a log may be too short.
        count, seed = args.held_out, 1000 * args.seed + 999
        held_out = PolicyEvaluator([logs], windows=count, jobs=args.jobs, seed=seed, split="test")
        point = search(logs, Path(folder) / "candidate.py", args)
        args.out.write_text(text(point), encoding="utf-8")
        compare(held_out, str(args.out))


if __name__ == "__main__":
    main()
