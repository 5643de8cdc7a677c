"""The command `generate`: its generators, their options, and how each writes a problem."""

from __future__ import annotations

from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from allocsolve.cli import options as opt
from allocsolve.cli.files import check_absent, check_outputs, make_folder, problem_from, source_name
from allocsolve.cli.output import count_bar, say, time_bar, write_json
from allocsolve.cli.parser import add_command, commands_of
from allocsolve.cli.signatures import add_parameters, named_by_option
from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.families import family_named, family_of
from allocsolve.instances import (
    MACHINES,
    SWITCH_TREES,
    amr_stream,
    churned_occupancy,
    downey1997,
    elastic_workload,
    evotree_batch,
    evotree_stream,
    klein2011,
    lina_workload,
    linnert2024,
    log_problem,
    lublin1999,
    median_worst_case,
    read_swf_log,
    shrunk_arrivals,
    uniform_occupancy,
    write_problem,
)
from allocsolve.model import JOB_KINDS, PROGRAM_KINDS, Topology, WorkloadProblem
from allocsolve.pictures.chart import counted
from allocsolve.registry import make_allocator
from allocsolve.registry.table import registered_names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from allocsolve.model import JobKind, Problem


def _draw(generator: Callable[..., Problem], args: argparse.Namespace) -> int:
    """Write problems of a generator whose parameters are the options of the command."""

    def draw(idx: int) -> Problem:
        seed = [args.seed, idx] if _takes_words(generator) else args.seed + idx
        try:
            return generator(seed, **_given(generator, args))
        except (InvalidOption, InvalidProblem) as error:
            raise InvalidOption(named_by_option(str(error), generator)) from None

    return _generate(args, draw)


def _takes_words(generator: Callable[..., object]) -> bool:
    """Return whether the seed of a generator may have several words; else it is an integer."""
    return bool(signature(generator).parameters["seed"].annotation == "Seed")


def _given(function: Callable[..., object], args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a command that are parameters of a function, but for those not given."""
    names = signature(function).parameters.keys() - {"seed"}
    return {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}


def generate_evotree(args: argparse.Namespace) -> int:
    """Write batches of Posner 2024, or streams of their jobs."""
    if args.num_jobs is not None:
        return _draw(evotree_stream, args)
    for option, value in (("--nodes", args.num_nodes), ("--load", args.load)):
        if value is not None:
            raise InvalidOption(
                f"{option} is for streams: a batch has 20 jobs on 10 nodes; --num-jobs asks for a stream"
            )
    return _draw(evotree_batch, args)


def generate_occupancy(args: argparse.Namespace) -> int:
    """Write partition or placement problems with busy nodes drawn uniformly."""
    topology = _machine(args)

    def draw(idx: int) -> Any:  # noqa: ANN401 - a problem of either family
        asked = {"contiguous": args.contiguous, "box": args.box}
        return uniform_occupancy(topology, args.busy, args.size, [args.seed, idx], **asked)

    return _generate(args, draw)


def generate_churn(args: argparse.Namespace) -> int:
    """Write problems whose busy nodes are held by jobs that came and went under an allocator."""
    topology = _machine(args)

    def draw(idx: int) -> Any:  # noqa: ANN401 - a problem of either family
        return churned_occupancy(
            topology,
            args.busy,
            args.size,
            [args.seed, idx],
            allocator=make_allocator(args.allocator, seed=args.seed + idx),
            allocator_name=args.allocator,
            job_sizes=args.job_nodes,
            steps=args.num_jobs,
            contiguous=args.contiguous,
            box=args.box,
        )

    return _generate(args, draw)


def generate_median_worst_case(args: argparse.Namespace) -> int:
    """Write the problem on which the median method is nearly 7/4 times the optimum."""
    problem = median_worst_case(args.size, *args.distance)
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
    convert: Callable[..., WorkloadProblem], kinds: Sequence[JobKind], args: argparse.Namespace
) -> int:
    """Write what is made of a rigid workload; tell how many of its jobs are of these kinds."""
    check_outputs(args.out, inputs=[args.source], force=args.force)
    with time_bar(f"reading {source_name(args.source)}"):
        rigid = _rigid(args.source)
        if getattr(args, "arrivals", 1) != 1:
            rigid = shrunk_arrivals(rigid, args.arrivals)
        problem = convert(rigid, seed=args.seed, **_given(convert, args))
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
    if file.endswith((".swf", ".swf.gz")):
        return log_problem(read_swf_log(file))
    problem = problem_from(file)
    if not isinstance(problem, WorkloadProblem):
        msg = f"{source_name(file)} is a problem of the kind {family_of(problem).kind}, not a workload"
        raise InvalidOption(msg)
    return problem


def _machine(args: argparse.Namespace) -> Any:  # noqa: ANN401 - a topology or a switch tree, as the draws take them
    """Return the machine that was asked for, by name or by its sides."""
    if isinstance(args.machine, str):
        if args.wrap is not None or args.complete is not None:
            raise InvalidOption(f"--machine {args.machine} has its own rings: no --wrap and no --complete")
        return MACHINES.get(args.machine) or SWITCH_TREES[args.machine]
    wrap = (True,) * len(args.machine) if args.wrap == "all" else args.wrap or ()
    return Topology(args.machine, wrap, args.complete or ())


def _generate(args: argparse.Namespace, draw: Callable[[int], Problem]) -> int:
    """Write problems, one file each."""
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
        raise KeyboardInterrupt(f"{written} of {args.count} problems are in {args.out}") from None
    if args.json:
        write_json({"folder": args.out, "problems": [args.out / name for name in names]})
    else:
        span = names[0] if args.count == 1 else f"{names[0]} to {names[-1]}"
        say(f"{counted(args.count, 'problem')} in {args.out}: {span}")
    return 0


#: Nobody keeps more problems in files.
MANY = 10**6


def add_generate(parser: argparse.ArgumentParser) -> None:
    """Add one command per generator below `generate`; its options are the parameters of the generator."""
    generators = commands_of(parser, "generator")
    for name, generator, summary in (
        ("klein2011", klein2011, "evolution problems of Klein & Perez 2011"),
        ("lublin1999", lublin1999, "workloads of the model of Lublin & Feitelson"),
        ("downey1997", downey1997, "workloads of Downey's model, after Lina et al. 2022"),
        ("amr", amr_stream, "jobs with adaptive mesh refinement, of known profiles"),
        ("linnert2024", linnert2024, "jobs with deadlines on a mesh, after Linnert et al. 2024"),
    ):
        command = add_command(generators, name, partial(_draw, generator), summary)
        _add_drawn(command, f"problem i has seed {'[S, i]' if _takes_words(generator) else 'S + i'}")
        add_parameters(command, generator, ("seed", "change", "topology"), program=_PROGRAM)
    summary = "evolving tree-search jobs of Posner 2024"
    _add_evotree(add_command(generators, "evotree", generate_evotree, summary))
    to_elastic = partial(_convert, elastic_workload, ("malleable",))
    summary = "malleable jobs made of those of a rigid workload"
    _add_converted(add_command(generators, "elastic", to_elastic, summary), elastic_workload)
    to_lina = partial(_convert, lina_workload, ("malleable", "evolving"))
    summary = "malleable and evolving jobs made of those of a rigid workload, after Lina et al. 2022"
    command = add_command(generators, "lina", to_lina, summary)
    _add_converted(command, lina_workload)
    help_text = "times between submissions are multiplied by this first (default: %(default)g): .65"
    command.add_argument("--arrivals", type=opt.number, default=1.0, metavar="F", help=help_text)
    summary = "partition and placement problems with busy nodes drawn uniformly"
    _add_occupancy(add_command(generators, "occupancy", generate_occupancy, summary))
    _add_churn(add_command(generators, "churn", generate_churn, "the same among jobs that came and went"))
    summary = "the partition problem on which the median method is nearly 7/4 times the optimum"
    command = add_command(generators, "median-worst-case", generate_median_worst_case, summary)
    help_text = "nodes to choose, a multiple of 8 (default: %(default)s)"
    size = {"required": False, "default": 8, "help": help_text}
    help_text = "hops between the two blobs, and by how many hops the decoys are nearer (default: 2)"
    distance = {"type": opt.pair(opt.integer(1)), "metavar": "D[,S]", "required": True, "help": help_text}
    add_parameters(command, median_worst_case, ("seed", "step"), size=size, distance=distance)
    _add_out(command)


#: Kinds of programs are numbers, beside a word.
_PROGRAM: Final[dict[str, Any]] = {
    "type": lambda text: int(text) if text.isdecimal() else text,
    "choices": ("mixed", *range(PROGRAM_KINDS)),
    "default": "mixed",
    "metavar": None,
    "help": "what the programs of the jobs are: one kind, or one drawn for each (default: %(default)s)",
}


def _add_drawn(parser: argparse.ArgumentParser, seed_help: str = "problem i has seed [S, i]") -> None:
    parser.add_argument(
        "--count",
        type=opt.integer(1, MANY),
        default=1,
        metavar="N",
        help="how many problems (default: %(default)s)",
    )
    seed_help += " (default: %(default)s)"
    parser.add_argument("--seed", type=opt.integer(0), default=0, metavar="S", help=seed_help)
    _add_out(parser)


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the directory to write into")
    opt.add_force(parser)


def _add_evotree(parser: argparse.ArgumentParser) -> None:
    _add_drawn(parser, "batch i has seed S + i (those of the paper: 42 to 46), stream i has seed [S, i]")
    add_parameters(parser, evotree_batch)
    number = {"required": False, "help": "draw a stream of this number of jobs, not a batch of the paper"}
    batch = tuple(signature(evotree_batch).parameters)
    no_default = {"default": None}  # so that it is seen whether they are given
    add_parameters(parser, evotree_stream, batch, num_jobs=number, num_nodes=no_default, load=no_default)


def _add_converted(parser: argparse.ArgumentParser, convert: Callable[..., WorkloadProblem]) -> None:
    help_text = "a workload, or a log ending in .swf or .swf.gz; - for stdin"
    parser.add_argument("source", metavar="FILE", help=help_text)
    help_text = (
        "seed of the choice of jobs; those of a smaller share are among those of a larger one (default: "
        "%(default)s)"
    )
    parser.add_argument("--seed", type=opt.integer(0), default=0, metavar="S", help=help_text)
    parser.add_argument("--out", type=Path, required=True, metavar="PROBLEM", help="the problem to write")
    opt.add_force(parser)
    add_parameters(parser, convert, ("problem", "seed"))


def _add_occupancy(parser: argparse.ArgumentParser) -> None:
    _add_drawn(parser)
    machine = parser.add_argument_group("machine")
    help_text = f"nodes along each axis of a mesh, such as 16x8, or one of {', '.join(opt.MACHINE_NAMES)}"
    machine.add_argument(
        "--machine", type=opt.machine_or_shape, required=True, metavar="16x8|NAME", help=help_text
    )
    help_text = "which axes are rings, such as 1,0, or all (default: none)"
    machine.add_argument("--wrap", type=opt.axes_or_all, metavar="1,0|all", help=help_text)
    help_text = "which axes are complete, as those of a HyperX (default: none)"
    machine.add_argument("--complete", type=opt.axes, metavar="1,0", help=help_text)
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
    help_text = "nodes of a job, a number or a range (default: 1-16)"
    parser.add_argument("--job-nodes", type=opt.integers(1), default=(1, 16), metavar="1-16", help=help_text)
    help_text = "how many jobs arrive (default: %(default)s)"
    parser.add_argument("--num-jobs", type=opt.integer(0, MANY), default=200, metavar="N", help=help_text)


def _allocator(text: str) -> str:
    """Read the name of a heuristic that chooses nodes, or of a plug-in, with options or without."""
    names = {**registered_names(family_named("placement")), **registered_names(family_named("partition"))}
    heuristics = [name for name, (row, _) in names.items() if row.method == "heuristic"]
    return opt.solver_of("heuristic that chooses nodes", text, heuristics)
