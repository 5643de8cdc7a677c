"""The commands that generate problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.files import check_absent, check_outputs, make_folder, problem_from, source_name
from allocsolve.cli.output import say, write_json
from allocsolve.cli.progress import count_bar, time_bar
from allocsolve.errors import InvalidOption
from allocsolve.families import family_of
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from allocsolve.model import JobKind, Problem, Topology, WorkloadProblem

__all__ = [
    "generate_amr",
    "generate_churn",
    "generate_downey1997",
    "generate_elastic",
    "generate_evotree",
    "generate_klein2011",
    "generate_lina",
    "generate_linnert2024",
    "generate_lublin1999",
    "generate_median_worst_case",
    "generate_occupancy",
]


def generate_klein2011(args: argparse.Namespace) -> int:
    """Write instances of Klein & Perez 2011."""
    from allocsolve.instances import klein2011  # noqa: PLC0415 - when the command runs

    if args.nodes[1] > args.num_nodes:
        msg = f"--nodes {args.nodes[0]}-{args.nodes[1]} goes above --num-nodes {args.num_nodes}"
        raise InvalidOption(msg)
    ranges = {
        "num_apps": args.apps,
        "num_steps": args.steps,
        "duration": args.duration,
        "nodes": args.nodes,
        "num_nodes": args.num_nodes,
    }
    if args.expand_limit is not None:
        ranges["expand_limit"] = args.expand_limit
    return _generate(args, lambda idx: klein2011([args.seed, idx], **ranges))


def generate_downey1997(args: argparse.Namespace) -> int:
    """Write workloads of sizes and run times with uniform logarithms, after Downey."""
    from allocsolve.instances import downey1997  # noqa: PLC0415 - when the command runs

    options = {name: getattr(args, name) for name in ("load", "nodes", "runtime")}
    sizes = {"num_jobs": args.jobs, "num_nodes": args.num_nodes, **options}
    return _generate(args, lambda idx: downey1997([args.seed, idx], **sizes))


def generate_lublin1999(args: argparse.Namespace) -> int:
    """Write workloads of the model of Lublin & Feitelson."""
    from allocsolve.instances import lublin1999  # noqa: PLC0415 - when the command runs

    sizes = {"num_jobs": args.jobs, "num_nodes": args.num_nodes, "model": args.model}
    return _generate(args, lambda idx: lublin1999([args.seed, idx], **sizes))


def generate_evotree(args: argparse.Namespace) -> int:
    """Write batches of Posner 2024, or streams of their jobs."""
    from allocsolve.instances import evotree_batch, evotree_stream  # noqa: PLC0415 - when the command runs

    kind = {"share": args.share, "kind": args.kind, "release_delay": args.release_delay}
    stream = {"num_jobs": args.jobs, "num_nodes": args.num_nodes, "load": args.load}
    if args.jobs is not None:
        given = {name: value for name, value in stream.items() if value is not None}
        return _generate(args, lambda idx: evotree_stream([args.seed, idx], **given, **kind))
    for option, value in (("--num-nodes", args.num_nodes), ("--load", args.load)):
        if value is not None:
            msg = (
                f"{option} is of a stream: a batch has 20 jobs on 10 nodes; --jobs says how many a stream has"
            )
            raise InvalidOption(msg)
    return _generate(args, lambda idx: evotree_batch(args.seed + idx, **kind))


def generate_amr(args: argparse.Namespace) -> int:
    """Write workloads of applications with adaptive mesh refinement."""
    from allocsolve.instances import amr_stream  # noqa: PLC0415 - when the command runs

    options = {"num_jobs": args.jobs, "num_nodes": args.num_nodes, "load": args.load, "peak": args.peak}
    if args.expand_limit is not None:
        options["expand_limit"] = args.expand_limit
    return _generate(args, lambda idx: amr_stream([args.seed, idx], **options))


def generate_linnert2024(args: argparse.Namespace) -> int:
    """Write streams of jobs with deadlines, after Linnert et al. 2024."""
    from allocsolve.instances import linnert2024  # noqa: PLC0415 - when the command runs

    program = args.program if args.program == "mixed" else int(args.program)
    options = {"gap": args.gap, "num_jobs": args.jobs, "stream": args.stream, "program": program}
    options["leaking"] = args.leaking
    return _generate(args, lambda idx: linnert2024(args.seed + idx, **options))


def generate_occupancy(args: argparse.Namespace) -> int:
    """Write partition problems with busy nodes drawn uniformly."""
    from allocsolve.instances import uniform_occupancy  # noqa: PLC0415 - when the command runs

    topology = _machine(args)

    def draw(idx: int) -> Problem:
        return uniform_occupancy(topology, args.busy, args.size, [args.seed, idx], contiguous=args.contiguous)

    return _generate(args, draw)


def generate_churn(args: argparse.Namespace) -> int:
    """Write partition problems whose busy nodes are held by jobs that came and went under an allocator."""
    from allocsolve.instances import churned_occupancy  # noqa: PLC0415 - when the command runs
    from allocsolve.registry import make_allocator  # noqa: PLC0415 - when the command runs

    topology = _machine(args)

    def draw(idx: int) -> Problem:
        return churned_occupancy(
            topology,
            args.busy,
            args.size,
            [args.seed, idx],
            allocator=make_allocator(args.allocator, seed=args.seed + idx),
            allocator_name=args.allocator,
            job_sizes=args.jobs,
            steps=args.steps,
            contiguous=args.contiguous,
        )

    return _generate(args, draw)


def generate_elastic(args: argparse.Namespace) -> int:
    """Write a workload of which a share of the jobs is malleable."""
    from allocsolve.instances import elastic_workload  # noqa: PLC0415 - when the command runs

    def convert(rigid: WorkloadProblem) -> WorkloadProblem:
        return elastic_workload(rigid, share=args.share, seed=args.seed, tick=args.tick)

    return _convert(args, convert, ("malleable",))


def generate_lina(args: argparse.Namespace) -> int:
    """Write a workload of which a share of the jobs is malleable or evolves."""
    from allocsolve.instances import lina_workload, shrunk_arrivals  # noqa: PLC0415 - when the command runs

    def convert(rigid: WorkloadProblem) -> WorkloadProblem:
        if args.arrivals != 1:
            rigid = shrunk_arrivals(rigid, args.arrivals)
        options = {name: getattr(args, name) for name in ("flexibility", "moments", "holds")}
        return lina_workload(rigid, share=args.share, seed=args.seed, **options)

    return _convert(args, convert, ("malleable", "evolving"))


def generate_median_worst_case(args: argparse.Namespace) -> int:
    """Write the problem on which the median method is nearly 7/4 times the optimum."""
    from allocsolve.instances import median_worst_case, write_problem  # noqa: PLC0415 - when the command runs

    problem = median_worst_case(args.size, args.distance, args.step)
    make_folder(args.out)
    path = args.out / f"{problem.name}.json"
    check_absent(path, force=args.force)
    write_problem(problem, path)
    if args.json:
        write_json({"folder": args.out, "problems": [path]})
    else:
        say(f"{path}: {family_of(problem).view.describe(problem)}")
    return 0


def _convert(
    args: argparse.Namespace,
    convert: Callable[[WorkloadProblem], WorkloadProblem],
    kinds: Sequence[JobKind],
) -> int:
    """Write what is made of a rigid workload; tell how many of its jobs are of these kinds."""
    from allocsolve.instances import write_problem  # noqa: PLC0415 - when the command runs
    from allocsolve.model import JOB_KINDS  # noqa: PLC0415 - when the command runs

    check_outputs(args.out, inputs=[args.source], force=args.force)
    with time_bar(f"reading {source_name(args.source)}"):
        problem = convert(_rigid(args.source))
        write_problem(problem, args.out)
    family = family_of(problem)
    counts: dict[str, object] = {
        kind: int((problem.packed.kind == JOB_KINDS.index(kind)).sum()) for kind in kinds
    }
    if args.json:
        write_json({"problem": args.out, **counts, **family.features(problem)})
    else:
        told = ", ".join(f"{kind}: {count}" for kind, count in counts.items())
        say(f"{args.out}: {family.view.describe(problem)}; {told} of {len(problem.jobs)}")
    return 0


def _rigid(file: str) -> WorkloadProblem:
    """Return the workload of a problem file, or of a whole log in the Standard Workload Format."""
    from allocsolve.instances import log_problem, read_swf_log  # noqa: PLC0415 - when the command runs
    from allocsolve.model import WorkloadProblem  # noqa: PLC0415 - when the command runs

    if file.endswith((".swf", ".swf.gz")):
        return log_problem(read_swf_log(file))
    problem = problem_from(file)
    if not isinstance(problem, WorkloadProblem):
        msg = f"{source_name(file)} is a problem of the kind {family_of(problem).kind}, not a workload"
        raise InvalidOption(msg)
    return problem


def _machine(args: argparse.Namespace) -> Topology:
    """Return the topology that was asked for, by name or by its sides."""
    from allocsolve.instances import MACHINES  # noqa: PLC0415 - when the command runs
    from allocsolve.model import Topology  # noqa: PLC0415 - when the command runs

    if args.machine is not None:
        if args.wrap is not None or args.torus:
            msg = f"--machine {args.machine} has its own rings: no --torus and no --wrap"
            raise InvalidOption(msg)
        return MACHINES[args.machine]
    if args.torus:
        return Topology(args.shape, (True,) * len(args.shape))
    return Topology(args.shape, args.wrap or ())


def _generate(args: argparse.Namespace, draw: Callable[[int], Problem]) -> int:
    """Write problems, one file each."""
    from allocsolve.instances import write_problem  # noqa: PLC0415 - when the command runs

    digits = max(4, len(str(args.count - 1)))
    names = [f"{args.generator}-s{args.seed}-{idx:0{digits}}.json" for idx in range(args.count)]
    first = draw(0)  # refuses what cannot be drawn before a folder is made
    make_folder(args.out)
    for name in names:
        check_absent(args.out / name, force=args.force)
    written = 0
    try:
        with count_bar("generating") as progress:
            for idx, name in enumerate(names):
                progress(idx, args.count, name)
                write_problem(draw(idx) if idx else first, args.out / name)
                written = idx + 1
    except KeyboardInterrupt:
        msg = f"{written} of {args.count} problems are in {args.out}"
        raise KeyboardInterrupt(msg) from None
    if args.json:
        write_json({"folder": args.out, "problems": [args.out / name for name in names]})
    else:
        span = names[0] if args.count == 1 else f"{names[0]} to {names[-1]}"
        say(f"{counted(args.count, 'problem')} in {args.out}: {span}")
    return 0
