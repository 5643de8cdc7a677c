"""How long jobs wait where nodes are shared: the whole machine counted, and each node by itself.

The same jobs run under EASY on a machine of which cores, memory and GPUs are counted as a whole, and on one
whose nodes are places, by each rule of choice. Jobs that need all of a node are shown apart.

    python places.py                                   # jobs that are drawn, on 100 nodes of 8 GPUs
    python places.py --cirrus cirrus_2024Q1_sacct.csv.gz
    python places.py --alibaba FOLDER                  # with the tables of its trace of 2023
"""

from __future__ import annotations

import argparse
import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np

from allocsolve.heuristics import Easy
from allocsolve.model import Jobs, NodeType, WorkloadProblem, packed_places
from allocsolve.simulation.node_choice import NODE_CHOICES


def counted(problem: WorkloadProblem) -> WorkloadProblem:
    """Return the same jobs on a machine that is counted as a whole: its first resource is its nodes."""
    places = packed_places(problem)
    totals = np.diff(places.first_node) @ places.has
    held = places.chunks[:, None] * places.each
    whole = np.where(places.exclusive, places.chunks, 0)[:, None] * places.has.min(axis=0)
    held = np.maximum(np.maximum(held, whole), np.eye(1, len(totals), dtype=np.int64))[places.shape]
    names = places.names[1:]
    needs = [dict(zip(names, row, strict=True)) for row in held[:, 1:].tolist()] if names else None
    packed = problem.jobs.packed
    jobs = Jobs(packed.submit, held[:, 0], packed.runtime, packed.estimate, needs=needs)
    return WorkloadProblem(int(totals[0]), jobs, resources=dict(zip(names, totals[1:].tolist(), strict=True)))


def drawn(count: int, load: float, seed: int) -> WorkloadProblem:
    """Return jobs of one to eight GPUs on 100 nodes of 64 cores and 8 GPUs."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([0, 1, 2, 4, 8], count, p=[0.2, 0.4, 0.15, 0.15, 0.1])
    cpus = np.where(gpus > 0, 8 * gpus, 2 ** rng.integers(0, 6, count))
    runtime = np.ceil(rng.lognormal(8, 1.5, count)).clip(10, 172_800)
    span = max((cpus * runtime).sum() / 6400, (gpus * runtime).sum() / 800) / load
    each = [
        {"cpus": cores, "gpus": devices} for cores, devices in zip(cpus.tolist(), gpus.tolist(), strict=True)
    ]
    submit = np.sort(rng.uniform(0, span, count).round())
    jobs = Jobs(submit, np.ones(count, int), runtime, 2 * runtime, chunks=[1] * count, each=each)
    return WorkloadProblem(None, jobs, node_types=[NodeType("gpu", 100, {"cpus": 64, "gpus": 8})])


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return list(csv.DictReader(file))


def cirrus(path: Path, load: float) -> WorkloadProblem:
    """Return the jobs of Cirrus, 360 nodes of 36 cores; with load 1 as they came."""
    rows = sorted(
        (row for row in table(path) if int(row["ElapsedRaw"]) > 0), key=lambda row: int(row["Submit"])
    )
    submit = np.array([int(row["Submit"]) for row in rows])
    nodes = np.array([int(row["NNodes"]) for row in rows])
    cores = np.minimum(-(-np.array([int(row["NCPUS"]) for row in rows]) // nodes), 36)
    runtime = np.array([int(row["ElapsedRaw"]) for row in rows])
    jobs = Jobs(
        ((submit - submit[0]) / load).round(),
        *(nodes, runtime, 2 * runtime),
        chunks=nodes.tolist(),
        per_node=[1] * len(rows),
        each=[{"cpus": count} for count in cores.tolist()],
    )
    return WorkloadProblem(None, jobs, node_types=[NodeType("standard", 360, {"cpus": 36})])


def alibaba(folder: Path, load: float, count: int, seed: int) -> WorkloadProblem:
    """Return pods drawn from those of a trace that ran for a day at most, on every tenth of its nodes.

    Cores and GPUs are in thousandths; how they are shared among the devices of a node is not modelled.
    """
    rng = np.random.default_rng(seed)
    names = "model", "cpu_milli", "memory_mib", "gpu"
    kinds: dict[tuple[str, ...], int] = {}
    for row in table(next(folder.glob("openb_node_list_gpu*")))[::10]:
        kind = tuple(row[name] for name in names)
        kinds[kind] = kinds.get(kind, 0) + 1
    types = [
        NodeType(f"{model}-{at}", number, {"cpus": int(cpus), "mem": int(mem), "gpus": 1000 * int(gpus)})
        for at, ((model, cpus, mem, gpus), number) in enumerate(kinds.items())
    ]
    pods: list[tuple[int, dict[str, int], list[str]]] = []
    for row in table(next(folder.glob("openb_pod_list_default*"))):
        gpus = int(row["num_gpu"]) * int(row["gpu_milli"] or 0)
        each = {"cpus": int(row["cpu_milli"]), "mem": int(row["memory_mib"]), "gpus": gpus}
        may = [kind.name for kind in types if kind.name.split("-")[0] in row["gpu_spec"].split("|")]
        allowed = may if row["gpu_spec"] else [kind.name for kind in types]
        fits = any(
            all(dict(kind.has).get(n, 0) >= a for n, a in each.items())
            for kind in types
            if kind.name in allowed
        )
        ran = int(row["deletion_time"]) - int(row["scheduled_time"] or row["creation_time"])
        if fits and 0 < ran <= 86_400:
            pods.append((ran, each, allowed))
    chosen = [pods[at] for at in rng.integers(0, len(pods), count)]
    runtime = np.array([ran for ran, _, _ in chosen])
    there = sum(kind.count * dict(kind.has).get("gpus", 0) for kind in types)
    span = sum(ran * each["gpus"] for ran, each, _ in chosen) / there / load
    columns: dict[str, Any] = {
        "each": [each for _, each, _ in chosen],
        "types": [may for _, _, may in chosen],
    }
    submit = np.sort(rng.uniform(0, span, count).round())
    jobs = Jobs(submit, np.ones(count, int), runtime, 2 * runtime, chunks=[1] * count, **columns)
    return WorkloadProblem(None, jobs, node_types=types)


def show(problem: WorkloadProblem) -> None:
    """Print mean waits in counts and by each rule."""
    places = packed_places(problem)
    most = places.has.max(axis=0)
    whole = places.exclusive | (places.each[:, -1] >= most[-1])
    big = whole[places.shape]
    submit = problem.jobs.packed.submit
    what = f"{big.sum():,} jobs need all {places.names[-1]} of a node"
    print(f"{len(big):,} jobs, {problem.num_nodes} nodes; {what}")
    print(f"{'mean wait [s]':18}{'all':>12}{'these':>12}{'others':>12}")
    cases = [("counted", counted(problem), NODE_CHOICES[0])]
    cases += [(choice, problem, choice) for choice in NODE_CHOICES]
    for name, machine, choice in cases:
        waits = Easy(choice=choice).simulated(machine).schedule.first_starts - submit
        means = [waits[rows].mean() if rows.any() else 0.0 for rows in (big | ~big, big, ~big)]
        print(f"{name:18}" + "".join(f"{mean:12,.1f}" for mean in means))


def main() -> None:
    """Read the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cirrus", type=Path, metavar="FILE", help="the table of its jobs")
    parser.add_argument("--alibaba", type=Path, metavar="FOLDER", help="that has its tables")
    parser.add_argument("--load", type=float, help="of the machine; of Cirrus, times that of the trace")
    parser.add_argument("--jobs", type=int, default=10_000, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.cirrus:
        show(cirrus(args.cirrus, args.load or 1.0))
    elif args.alibaba:
        show(alibaba(args.alibaba, args.load or 0.9, args.jobs, args.seed))
    else:
        show(drawn(args.jobs, args.load or 0.95, args.seed))


if __name__ == "__main__":
    main()
