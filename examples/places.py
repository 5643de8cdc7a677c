"""How long jobs wait where nodes are shared: the whole machine counted, and each node by itself.

The same jobs run under EASY on a machine of which cores, memory and GPUs are counted as a whole, and on one
whose nodes are places, by each rule of choice. Jobs that need all of a node are shown apart.

    python places.py                                   # jobs that are drawn, on 100 nodes of 8 GPUs
    python places.py --cirrus cirrus_2024Q1_sacct.csv.gz
    python places.py --alibaba FOLDER                  # with the tables of its trace of 2023
    python places.py --fgd FOLDER                      # how full its GPUs get if pods come and none leaves
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allocsolve.heuristics import Easy, FirstFit
from allocsolve.model import Jobs, NodeType, WorkloadProblem, packed_places
from allocsolve.simulation.node_choice import NODE_CHOICES

if TYPE_CHECKING:
    from allocsolve.simulation.node_choice import NodeChoice

#: Per cent of the GPUs, by the pods that come: Weng et al., USENIX ATC 2023.
PUBLISHED: dict[str, dict[NodeChoice, float]] = {
    "default": {"dot": 90.9, "best-fit": 93.1, "fgd-scores": 95.39},
    "gpushare100": {"dot": 82.4, "best-fit": 85.0, "fgd-scores": 86.90},
    "gpushare40": {"fgd-scores": 94.15},
    "multigpu50": {"fgd-scores": 97.18},
}
ALLOCATING: tuple[NodeChoice, ...] = ("first", "best-fit", "dot", "fgd-scores")


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


def nodes_of_alibaba(folder: Path, step: int) -> list[NodeType]:
    """Return the nodes of a trace, or one of so many, in its order.

    Cores are in thousandths; so are GPUs, each of which is a device.
    """
    names = "model", "cpu_milli", "memory_mib", "gpu"
    rows = table(next(folder.glob("openb_node_list_gpu*")))[::step]
    kinds = itertools.groupby(tuple(row[name] for name in names) for row in rows)
    return [
        NodeType(
            f"{model}-{at}",
            len([*same]),
            {"cpus": int(cpus), "mem": int(mem), "gpus": 1000 * int(gpus)},
            devices={"gpus": int(gpus)},
        )
        for at, ((model, cpus, mem, gpus), same) in enumerate(kinds)
    ]


def pods_of_alibaba(rows: list[dict[str, str]], types: list[NodeType]) -> dict[str, list[Any]]:
    """Return what pods hold, each of them one chunk: less than a GPU, or whole ones, and of which models."""
    names = [kind.name for kind in types]
    wanted = [{*filter(None, (row.get("gpu_spec") or "").split("|"))} for row in rows]
    return {
        "chunks": [1] * len(rows),
        "each": [
            {
                "cpus": int(row["cpu_milli"]),
                "mem": int(row["memory_mib"]),
                "gpus": int(row["num_gpu"]) * int(row["gpu_milli"] or 0),
            }
            for row in rows
        ],
        "types": [
            [name for name in names if name.split("-")[0] in models] if models else None for models in wanted
        ],
    }


def alibaba(folder: Path, load: float, count: int, seed: int) -> WorkloadProblem:
    """Return pods drawn from those of a trace that ran for a day at most, on every tenth of its nodes."""
    rng = np.random.default_rng(seed)
    types = nodes_of_alibaba(folder, 10)
    models = {kind.name.split("-")[0] for kind in types}
    rows, runs = [], []
    for row in table(next(folder.glob("openb_pod_list_default*"))):
        ran = int(row["deletion_time"]) - int(row["scheduled_time"] or row["creation_time"])
        if 0 < ran <= 86_400 and (not row["gpu_spec"] or models & {*row["gpu_spec"].split("|")}):
            rows.append(row)
            runs.append(ran)
    columns = pods_of_alibaba(rows, types)
    chosen = rng.integers(0, len(rows), count).tolist()
    runtime = np.array([runs[at] for at in chosen])
    there = sum(kind.count * dict(kind.has).get("gpus", 0) for kind in types)
    span = sum(runs[at] * columns["each"][at]["gpus"] for at in chosen) / there / load
    submit = np.sort(rng.uniform(0, span, count).round())
    drawn = {name: [column[at] for at in chosen] for name, column in columns.items()}
    jobs = Jobs(submit, np.ones(count, int), runtime, 2 * runtime, **drawn)
    return WorkloadProblem(None, jobs, node_types=types)


def arriving(folder: Path, pods: str, seed: int) -> WorkloadProblem:
    """Return pods of a trace that come one a second until 130 % of its GPUs are asked for, and stay."""
    rng = np.random.default_rng(seed)
    types = nodes_of_alibaba(folder, 1)
    rows = table(next(folder.glob(f"openb_pod_list_{pods}.csv*")))
    columns = pods_of_alibaba(rows, types)
    gpus = np.array([each["gpus"] for each in columns["each"]])
    there = sum(kind.count * dict(kind.has).get("gpus", 0) for kind in types)
    order = np.concatenate([rng.permutation(len(rows)), rng.integers(0, len(rows), 4 * len(rows))])
    order = order[: np.searchsorted(np.cumsum(gpus[order]), 1.3 * there) + 1]
    rng.shuffle(order)
    drawn = {name: [column[at] for at in order.tolist()] for name, column in columns.items()}
    ones = np.ones(len(order), dtype=np.int64)
    return WorkloadProblem(None, Jobs(np.arange(len(order)), ones, 10**7 * ones, **drawn), node_types=types)


def allocated(problem: WorkloadProblem, choice: NodeChoice) -> float:
    """Return the per cent of all GPUs that are allocated if a job that does not fit when it comes is lost."""
    places = packed_places(problem)
    gpus = places.each[places.shape, places.names.index("gpus")]
    starts = FirstFit(choice=choice).simulated(problem).schedule.first_starts
    there = np.diff(places.first_node) @ places.has[:, places.names.index("gpus")]
    return float(100 * gpus[starts == problem.jobs.packed.submit].sum() / there)


def show_allocated(folder: Path, draws: int) -> None:
    """Print what is allocated of the GPUs of each trace that is there, beside what was published."""
    print(f"{'GPUs allocated [%]':22}{'pods':14}{'here':>8}{'published':>12}")
    for pods, published in PUBLISHED.items():
        if not [*folder.glob(f"openb_pod_list_{pods}.csv*")]:
            continue
        problems = [arriving(folder, pods, seed) for seed in range(draws)]
        for choice in ALLOCATING:
            share = np.mean([allocated(problem, choice) for problem in problems])
            there = f"{published[choice]:12.1f}" if choice in published else f"{'-':>12}"
            print(f"{choice:22}{pods:14}{share:8.1f}{there}")


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
    parser.add_argument("--fgd", type=Path, metavar="FOLDER", help="that has its tables")
    parser.add_argument("--draws", type=int, default=2, help="of --fgd")
    parser.add_argument("--load", type=float, help="of the machine; of Cirrus, times that of the trace")
    parser.add_argument("--jobs", type=int, default=10_000, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.fgd:
        show_allocated(args.fgd, args.draws)
    elif args.cirrus:
        show(cirrus(args.cirrus, args.load or 1.0))
    elif args.alibaba:
        show(alibaba(args.alibaba, args.load or 0.9, args.jobs, args.seed))
    else:
        show(drawn(args.jobs, args.load or 0.95, args.seed))


if __name__ == "__main__":
    main()
