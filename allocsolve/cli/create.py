"""The command `generate`: its generators, their options, and how each writes a problem."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allocsolve.cli import options as opt
from allocsolve.cli.files import check_absent, check_outputs, make_folder, problem_from, source_name
from allocsolve.cli.output import count_bar, say, time_bar, write_json
from allocsolve.cli.parser import add_command, commands_of
from allocsolve.errors import InvalidOption
from allocsolve.families import family_named, family_of
from allocsolve.instances import (
    EVOTREE_KINDS,
    LINA_FLEXIBILITIES,
    LINA_MOMENTS,
    LINNERT_STREAMS,
    LUBLIN_MODELS,
    STALL_HOLDS,
)
from allocsolve.model import MAX_INTEGER, PROGRAM_KINDS
from allocsolve.pictures.chart import counted
from allocsolve.registry.table import registered_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.model import JobKind, Problem, WorkloadProblem


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
    """Write partition or placement problems with busy nodes drawn uniformly."""
    from allocsolve.instances import uniform_occupancy  # noqa: PLC0415 - when the command runs

    topology = _machine(args)

    def draw(idx: int) -> Any:  # noqa: ANN401 - a problem of either family
        asked = {"contiguous": args.contiguous, "box": args.box}
        return uniform_occupancy(topology, args.busy, args.size, [args.seed, idx], **asked)

    return _generate(args, draw)


def generate_churn(args: argparse.Namespace) -> int:
    """Write problems whose busy nodes are held by jobs that came and went under an allocator."""
    from allocsolve.instances import churned_occupancy  # noqa: PLC0415 - when the command runs
    from allocsolve.registry import make_allocator  # noqa: PLC0415 - when the command runs

    topology = _machine(args)

    def draw(idx: int) -> Any:  # noqa: ANN401 - a problem of either family
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
            box=args.box,
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
        listed = ", ".join(f"{kind}: {count}" for kind, count in counts.items())
        say(f"{args.out}: {family.view.describe(problem)}; {listed} of {len(problem.jobs)}")
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


def _machine(args: argparse.Namespace) -> Any:  # noqa: ANN401 - a topology or a switch tree, as the draws take them
    """Return the machine that was asked for, by name or by its sides."""
    from allocsolve.instances import MACHINES, SWITCH_TREES  # noqa: PLC0415 - when the command runs
    from allocsolve.model import Topology  # noqa: PLC0415 - when the command runs

    if args.machine is not None:
        if args.wrap is not None or args.torus or args.complete is not None:
            msg = f"--machine {args.machine} has its own rings: no --torus, no --wrap and no --complete"
            raise InvalidOption(msg)
        return MACHINES.get(args.machine) or SWITCH_TREES[args.machine]
    if args.torus:
        return Topology(args.shape, (True,) * len(args.shape), args.complete or ())
    return Topology(args.shape, args.wrap or (), args.complete or ())


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


#: Problems, applications, steps, jobs: more are no problem that anybody keeps in files.
MANY = 10**6


def add_generators(parser: argparse.ArgumentParser) -> None:
    """Add one command per generator below `generate`."""
    generators = commands_of(parser, "generator")
    for add_options, name, run, summary in (
        (_add_klein2011, "klein2011", generate_klein2011, "evolution problems of Klein & Perez 2011"),
        (_add_lublin1999, "lublin1999", generate_lublin1999, "workloads of the model of Lublin & Feitelson"),
        (_add_evotree, "evotree", generate_evotree, "evolving tree-search jobs of Posner 2024"),
        (_add_amr, "amr", generate_amr, "jobs with adaptive mesh refinement, of known profiles"),
        (
            _add_downey1997,
            "downey1997",
            generate_downey1997,
            "workloads of Downey's model, after Lina et al. 2022",
        ),
        (_add_elastic, "elastic", generate_elastic, "malleable jobs made of those of a rigid workload"),
        (
            _add_lina,
            "lina",
            generate_lina,
            "malleable and evolving jobs made of those of a rigid workload, after Lina et al. 2022",
        ),
        (
            _add_linnert2024,
            "linnert2024",
            generate_linnert2024,
            "jobs with deadlines on a mesh, after Linnert et al. 2024",
        ),
        (
            _add_occupancy,
            "occupancy",
            generate_occupancy,
            "partition and placement problems with busy nodes drawn uniformly",
        ),
        (_add_churn, "churn", generate_churn, "the same among jobs that came and went"),
        (
            _add_median_worst_case,
            "median-worst-case",
            generate_median_worst_case,
            "the partition problem on which the median method is nearly 7/4 times the optimum",
        ),
    ):
        add_options(add_command(generators, name, run, summary))


def _add_drawn(parser: argparse.ArgumentParser, seed_help: str = "problem i has seed [S, i]") -> None:
    parser.add_argument(
        "--count", type=opt.integer(1, MANY), required=True, metavar="N", help="how many problems"
    )
    parser.add_argument("--seed", type=opt.integer(0), required=True, metavar="S", help=seed_help)
    _add_out(parser)


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the directory to write into")
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)


def _add_num_nodes(parser: argparse.ArgumentParser, default: int, remark: str = "") -> None:
    help_text = f"nodes of the cluster (default: %(default)s{remark})"
    parser.add_argument("--num-nodes", type=opt.integer(1), default=default, metavar="M", help=help_text)


def _add_range(
    parser: argparse.ArgumentParser,
    name: str,
    read: Callable[[str], object],
    default: tuple[int, int],
    summary: str,
) -> None:
    text = f"{default[0]}-{default[1]}"
    help_text = f"{summary}, a number or a range (default: {text})"
    parser.add_argument(name, type=read, default=default, metavar=text, help=help_text)


def _add_expand_limit(parser: argparse.ArgumentParser, where: str) -> None:
    help_text = f"write this expand limit into the {where} (default: inf): 1, 2, 1.5, inf"
    parser.add_argument("--expand-limit", type=_expand_limit, metavar="L", help=help_text)


def _add_klein2011(parser: argparse.ArgumentParser) -> None:
    _add_drawn(parser)
    for name, limits, default, summary in (
        ("--apps", (1, MANY), (15, 20), "applications of a problem"),
        ("--steps", (1, MANY), (1, 10), "steps of an application"),
        ("--duration", (1, MAX_INTEGER), (500, 3600), "seconds of a step"),
        ("--nodes", (0, MAX_INTEGER), (1, 75), "nodes of a step"),
    ):
        _add_range(parser, name, opt.integers(*limits), default, summary)
    _add_num_nodes(parser, 100)
    _add_expand_limit(parser, "problems")


def _add_lublin1999(parser: argparse.ArgumentParser) -> None:
    _add_drawn(parser)
    help_text = "jobs of a problem"
    parser.add_argument("--jobs", type=opt.integer(0, MANY), required=True, metavar="J", help=help_text)
    _add_num_nodes(parser, 128, ", for which the model was fitted")
    help_text = "batch and interactive jobs, one kind for both, or one of the two (default: %(default)s)"
    parser.add_argument("--model", choices=LUBLIN_MODELS, default=LUBLIN_MODELS[0], help=help_text)


def _add_evotree(parser: argparse.ArgumentParser) -> None:
    _add_drawn(parser, "batch i has seed S + i (those of the paper: 42 to 46), stream i has seed [S, i]")
    help_text = "share of the jobs that are not rigid, 0..1 (default: %(default)s)"
    parser.add_argument("--share", type=opt.share, default=1, metavar="P", help=help_text)
    help_text = "what they are (default: %(default)s)"
    parser.add_argument("--kind", choices=EVOTREE_KINDS, default=EVOTREE_KINDS[0], help=help_text)
    help_text = "seconds after which an evolving job gives back an idle node (default: %(default)g)"
    parser.add_argument("--release-delay", type=opt.number, default=10.0, metavar="D", help=help_text)
    help_text = "draw a stream of this number of jobs, not a batch of the paper"
    parser.add_argument("--jobs", type=opt.integer(0, MANY), metavar="J", help=help_text)
    help_text = "nodes of the cluster of a stream (default: 10)"
    parser.add_argument("--num-nodes", type=opt.integer(1), metavar="M", help=help_text)
    help_text = "node-seconds of a stream per node and second if all jobs were rigid (default: 0.8)"
    parser.add_argument("--load", type=opt.number, metavar="L", help=help_text)


def _add_amr(parser: argparse.ArgumentParser) -> None:
    _add_drawn(parser)
    help_text = "jobs of a problem"
    parser.add_argument("--jobs", type=opt.integer(0, MANY), required=True, metavar="J", help=help_text)
    _add_num_nodes(parser, 100)
    help_text = "node-seconds per node and second (default: %(default)s)"
    parser.add_argument("--load", type=opt.number, default=0.8, metavar="L", help=help_text)
    _add_range(parser, "--peak", opt.integers(2), (25, 75), "largest demand of a job in nodes")
    _add_expand_limit(parser, "jobs")


def _add_downey1997(parser: argparse.ArgumentParser) -> None:
    _add_drawn(parser)
    help_text = "jobs of a problem (default: %(default)s)"
    parser.add_argument("--jobs", type=opt.integer(0, MANY), default=10_000, metavar="J", help=help_text)
    _add_num_nodes(parser, 10_000)
    help_text = "share of the cluster that the jobs need (default: %(default)g)"
    parser.add_argument("--load", type=opt.number, default=0.75, metavar="R", help=help_text)
    _add_range(parser, "--nodes", opt.integers(1), (2, 5000), "nodes of a job")
    _add_range(parser, "--runtime", opt.integers(1), (296, 20_131), "seconds of a job")


def _add_elastic(parser: argparse.ArgumentParser) -> None:
    _add_converted(parser, "malleable")
    help_text = "seconds between the points where a size may change (default: %(default)g; 0: any time)"
    parser.add_argument("--tick", type=opt.number, default=10.0, metavar="T", help=help_text)


def _add_lina(parser: argparse.ArgumentParser) -> None:
    _add_converted(parser, "malleable or evolving, one in two each")
    help_text = "times between submissions are multiplied by this first (default: %(default)g): .65"
    parser.add_argument("--arrivals", type=opt.number, default=1.0, metavar="F", help=help_text)
    for name, choices, summary in (
        ("--flexibility", LINA_FLEXIBILITIES, "P/2 to 8 P nodes, 1 to the fastest number, or 1 to all nodes"),
        ("--moments", LINA_MOMENTS, "requests at shares of all work, or of what is left at the one before"),
        ("--holds", STALL_HOLDS, "nodes that a job holds while it stalls"),
    ):
        help_text = f"{summary} (default: %(default)s)"
        parser.add_argument(name, choices=choices, default=choices[0], help=help_text)


def _add_converted(parser: argparse.ArgumentParser, kinds: str) -> None:
    help_text = "a workload, or a log ending in .swf or .swf.gz; - for stdin"
    parser.add_argument("--from", required=True, dest="source", metavar="FILE", help=help_text)
    help_text = f"share of the jobs that become {kinds}, 0..1"
    parser.add_argument("--share", type=opt.share, required=True, metavar="P", help=help_text)
    help_text = "seed of the choice of jobs; those of a smaller share are among those of a larger one"
    parser.add_argument("--seed", type=opt.integer(0), required=True, metavar="S", help=help_text)
    parser.add_argument("--out", type=Path, required=True, metavar="PROBLEM", help="the problem to write")
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)


def _add_linnert2024(parser: argparse.ArgumentParser) -> None:
    _add_drawn(parser, "problem i has seed S + i")
    help_text = "seconds between arrivals in the mean (default: %(default)g; the paper has 1500, 150 and 1)"
    parser.add_argument("--gap", type=opt.number, default=1500.0, metavar="G", help=help_text)
    help_text = "jobs of a problem (default: %(default)s)"
    parser.add_argument("--jobs", type=opt.integer(0, MANY), default=1000, metavar="J", help=help_text)
    help_text = "what the jobs are (default: %(default)s)"
    parser.add_argument("--stream", choices=LINNERT_STREAMS, default=LINNERT_STREAMS[0], help=help_text)
    help_text = "what the programs of the jobs are: one kind, or one drawn for each (default: %(default)s)"
    kinds = ("mixed", *map(str, range(PROGRAM_KINDS)))
    parser.add_argument("--program", choices=kinds, default=kinds[0], help=help_text)
    parser.add_argument("--leaking", action="store_true", help="jobs may run without a booking")


def _add_occupancy(parser: argparse.ArgumentParser) -> None:
    _add_drawn(parser)
    machine = parser.add_mutually_exclusive_group(required=True)
    machine.add_argument(
        "--machine", type=opt.machine, metavar="NAME", help=f"one of {', '.join(opt.MACHINE_NAMES)}"
    )
    machine.add_argument("--shape", type=opt.shape, metavar="16x8", help="nodes along each axis")
    rings = parser.add_mutually_exclusive_group()
    rings.add_argument("--torus", action="store_true", help="every axis is a ring")
    rings.add_argument("--wrap", type=opt.axes, metavar="1,0", help="which axes are rings (default: none)")
    help_text = "which axes are complete, as those of a HyperX (default: none)"
    parser.add_argument("--complete", type=opt.axes, metavar="1,0", help=help_text)
    help_text = "share of the nodes that are busy, 0..1"
    parser.add_argument("--busy", type=opt.share, required=True, metavar="B", help=help_text)
    parser.add_argument("--size", type=opt.integer(1), required=True, metavar="K", help="nodes to choose")
    parser.add_argument("--contiguous", action="store_true", help="the chosen nodes must be connected")
    help_text = "the chosen nodes must be a box, of these sides if they are given"
    parser.add_argument(
        "--box", type=opt.shape, nargs="?", const=True, default=False, metavar="4x4", help=help_text
    )


def _add_churn(parser: argparse.ArgumentParser) -> None:
    _add_occupancy(parser)
    help_text = "the heuristic that places the jobs"
    parser.add_argument("--allocator", type=_allocator, required=True, metavar="NAME", help=help_text)
    _add_range(parser, "--jobs", opt.integers(1), (1, 16), "nodes of a job")
    help_text = "how many jobs arrive (default: %(default)s)"
    parser.add_argument("--steps", type=opt.integer(0, MANY), default=200, metavar="N", help=help_text)


def _add_median_worst_case(parser: argparse.ArgumentParser) -> None:
    help_text = "nodes to choose, a multiple of 8 (default: %(default)s)"
    parser.add_argument("--size", type=opt.integer(8), default=8, metavar="K", help=help_text)
    help_text = "hops between the two blobs"
    parser.add_argument("--distance", type=opt.integer(1), required=True, metavar="D", help=help_text)
    help_text = "hops that the decoys are nearer (default: %(default)s)"
    parser.add_argument("--step", type=opt.integer(1), default=2, metavar="S", help=help_text)
    _add_out(parser)


def _expand_limit(text: str) -> float:
    """Read an expand limit: a number in 1..2^53, or inf."""
    value = opt.number(text)
    if not value >= 1:
        msg = f"the limit {text} is below 1"
        raise argparse.ArgumentTypeError(msg)
    return value


def _allocator(text: str) -> str:
    """Read the name of a heuristic that chooses nodes, or of a plug-in, with options or without."""
    names = {**registered_names(family_named("placement")), **registered_names(family_named("partition"))}
    heuristics = [name for name, (row, _) in names.items() if row.method == "heuristic"]
    return opt.solver_of("heuristic that chooses nodes", text, heuristics)
