"""The commands on networks of real machines: a problem of one, and the best nodes for a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve import instances, registry
from allocsolve.cli import options as opt
from allocsolve.cli.files import check_outputs, source_name
from allocsolve.cli.output import compile_bar, remark, say, show_table, time_bar, write_json, write_whole
from allocsolve.cli.parser import make_command
from allocsolve.errors import InvalidOption
from allocsolve.families import family_named, family_of
from allocsolve.instances.formats.files import unpacked_path
from allocsolve.model import Budget, Status, terms
from allocsolve.pictures.chart import percent, short_number, visible

if TYPE_CHECKING:
    import argparse

    from allocsolve.families import AnyFamily
    from allocsolve.instances import NetworkFile, StatedNodes
    from allocsolve.model import IntArray, PartitionProblem, PlacementProblem, Value
    from allocsolve.registry import RuleChoice


def import_topology(args: argparse.Namespace) -> int:
    """Write the problem to choose free nodes of a network."""
    check_outputs(args.out, inputs=_inputs(args), force=args.force)
    network, problem = _problem(args)
    instances.write_problem(problem, args.out)
    family = family_of(problem)
    if args.json:
        write_json({"problem": args.out, **family.features(problem), "notes": network.notes})
        return 0
    say(f"{args.out}: {family.view.describe(problem)}")
    return 0


def place(args: argparse.Namespace) -> int:
    """Show the best set of free nodes of a network, and what rules of schedulers take instead."""
    check_outputs(args.plot, inputs=_inputs(args), force=args.force)
    network, problem = _problem(args)
    family = family_of(problem)
    if args.plot is not None and (reason := family.view.undrawable(problem)):
        raise InvalidOption(f"--plot: {reason}")
    objective = ",".join(family.parse_objective(args.objective))
    rules = _rules(args, family, network)
    with compile_bar():
        placed = registry.place_problem(
            problem, objective=objective, rules=rules, budget=Budget(args.seconds, seed=args.seed)
        )
    best = placed.best
    if args.plot is not None and best.answer is not None:
        args.plot.write_text(str(family.view.plot(problem, best.answer)), encoding="utf-8")

    def hosts(nodes: IntArray | None) -> str | None:
        return None if nodes is None else instances.compress_hostlist(network.nodes[node] for node in nodes)

    best_hosts = None if best.answer is None else hosts(best.answer.nodes)
    if args.json:
        write_json(
            {
                "objective_name": objective,
                "status": str(best.status),
                "objective": best.objective,
                "bound": best.bound,
                "hosts": best_hosts,
                "rules": [
                    {
                        "rule": choice.rule,
                        "objective": choice.value,
                        "gap": choice.gap,
                        "worse_term": choice.worse_term,
                        "hosts": hosts(choice.nodes),
                        "refusal": choice.refusal,
                    }
                    for choice in placed.choices
                ],
                "notes": network.notes,
                **family.features(problem),
            }
        )
        return 0 if best.answer is not None else 1
    say(f"{args.files[0]}: {family.view.describe(problem)}", "")
    terms_of = map(family.term, objective.split(","))
    units = ", ".join(f"{term.name} in {term.unit}" if term.unit else term.name for term in terms_of)
    proven = {Status.OPTIMAL: "proven to be the best", Status.INFEASIBLE: "there is none: proven"}
    rows = [("best", _number(best.objective), "", proven.get(best.status, "not proven"))]
    rows += [
        (choice.rule, _number(choice.value), _gap(choice, objective), choice.refusal)
        for choice in placed.choices
    ]
    show_table(("rule", units, "above the best", ""), rows, texts=(0, 3))
    if best_hosts is not None:
        say("", "The best nodes:")
        write_whole(visible(best_hosts))
    for choice in placed.choices if args.verbose else ():
        if choice.nodes is not None:
            say(f"Those of {choice.rule}:")
            write_whole(visible(hosts(choice.nodes) or ""))
    return 0 if best.answer is not None else 1


def _rules(args: argparse.Namespace, family: AnyFamily, network: NetworkFile) -> list[str]:
    """Return the names of the rules, those of Slurm's blocks with the sizes of the file.

    All heuristics of the family that do not search and do not draw nodes at random are the default on switch
    trees.
    """
    names: list[str] = args.rules or []
    if args.rules is None and family.kind == "placement":
        names = [row.name for row in family.solvers if row.method == "heuristic" and row.name != "random"]
    if network.block_sizes:
        sizes = ",".join(map(str, network.block_sizes))
        names = [f"slurm-block(block_sizes='{sizes}')" if name == "slurm-block" else name for name in names]
    return names


def _number(value: Value | None) -> str:
    return "" if value is None else ", ".join(map(short_number, terms(value)))


def _gap(choice: RuleChoice, objective: str) -> str:
    """Return how far a choice is above the best, of several terms with the one that it is worse in."""
    if choice.gap is None:
        return ""
    return f"{percent(choice.gap)} {choice.worse_term}".strip() if "," in objective else percent(choice.gap)


def _inputs(args: argparse.Namespace) -> list[str]:
    return [path for path in (*args.files, args.free) if path and path != "-"]


def _problem(args: argparse.Namespace) -> tuple[NetworkFile, PlacementProblem | PartitionProblem]:
    """Return the network of the files, and the problem on it; what an operator should know is told."""
    with time_bar(f"reading {args.files[0]}"):
        network, free = _read(args)
        mask = network.mask(free, source_name(args.free or args.files[0]))
        problem = instances.network_problem(
            network,
            mask,
            args.size,
            within=args.within,
            segment=args.segment[0] if args.segment else 0,
            segment_level=args.segment[1] if args.segment[1:] else 1,
            balanced=args.balanced,
            name=unpacked_path(args.files[0]).stem,
        )
    for note in network.notes:
        remark(f"{args.files[0]}: {note}")
    return network, problem


def _read(args: argparse.Namespace) -> tuple[NetworkFile, tuple[str, ...]]:
    """Return the network, and the names of its free nodes."""
    stated: StatedNodes | None = None if args.free is None else instances.read_free_nodes(args.free)
    named = () if stated is None else stated.named
    network = instances.read_network(*args.files, topology=args.topology, nodes=named)
    free = network.free if stated is None else stated.free
    if free is None:
        msg = f"{args.files[0]} does not tell which nodes are free: --free names the file that does"
        raise InvalidOption(msg)
    return network, free


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the options of `place`."""
    make_command(parser, place)
    parser.add_argument("files", nargs="+", metavar="FILE", help=NETWORK_FILES)
    add_request(parser, required=True)
    search = parser.add_argument_group("what is compared")
    terms = ", ".join(family_named("placement").term_names)
    help_text = f"objective of {terms}; several are minimised lexicographically (default: the first)"
    search.add_argument("--objective", metavar="TERM,...", help=help_text)
    help_text = "rules whose choices are shown beside the best (default: those of all schedulers)"
    search.add_argument("--rules", type=opt.solvers, metavar="NAME,...", help=help_text)
    help_text = "time limit of the exact solver in seconds (default: %(default)s)"
    search.add_argument("--seconds", type=opt.number, default=60.0, metavar="T", help=help_text)
    search.add_argument("--seed", type=opt.integer(0), default=0, metavar="S", help="seed of random ties")
    output = parser.add_argument_group("output")
    help_text = "draw the best nodes into this file"
    output.add_argument("--plot", type=opt.picture, metavar="FILE.svg", help=help_text)
    opt.add_force(output)


#: The files of networks.
NETWORK_FILES: Final = (
    "a network: topology.conf or topology.yaml of Slurm, what scontrol show topology prints, a model of "
    "topograph, or the Topology of Kueue or the HyperNodes of Volcano and what kubectl get nodes -o json "
    "prints, in one file or several"
)


def add_request(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add the options that say which nodes of a network are free, and what is asked for."""
    request = parser.add_argument_group("nodes of a network")
    help_text = "how many nodes to choose"
    request.add_argument("--size", type=opt.integer(1), required=required, metavar="K", help=help_text)
    help_text = (
        "the free nodes: what sinfo -h -N -o '%%N %%T', sinfo --json or kubectl get nodes -o json prints, or "
        "a hostlist; - for stdin (default: what the nodes of Kubernetes say)"
    )
    request.add_argument("--free", metavar="FILE", help=help_text)
    help_text = "the highest level that the lowest common switch of the nodes may have (default: any)"
    request.add_argument("--within", type=opt.integer(1), default=0, metavar="L", help=help_text)
    help_text = "groups of G nodes, each below one switch of level 1, or of level L at most"
    segment = opt.pair(opt.integer(1))
    request.add_argument("--segment", type=segment, default=(), metavar="G[,L]", help=help_text)
    help_text = "each switch of level 1 has none of the chosen nodes, or as many as each other"
    request.add_argument("--balanced", action="store_true", help=help_text)
    help_text = "name of a topology, of several in topology.yaml or Kueue (default: that of the cluster)"
    request.add_argument("--topology", default="", metavar="NAME", help=help_text)
