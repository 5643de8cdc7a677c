"""The command that makes a problem of the file of a network and of its free nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.cli import options as opt
from allocsolve.cli.files import check_outputs, source_name
from allocsolve.cli.output import remark, say, time_bar, write_json
from allocsolve.cli.parser import add_command
from allocsolve.errors import InvalidOption
from allocsolve.families import family_of

if TYPE_CHECKING:
    import argparse

    from allocsolve.cli.parser import Commands
    from allocsolve.instances import NetworkFile, StatedNodes


def import_topology(args: argparse.Namespace) -> int:
    """Write the problem to choose free nodes of a network."""
    from allocsolve.instances import network_problem, write_problem  # noqa: PLC0415 - when the command runs

    read = [path for path in (*args.files, args.free) if path and path != "-"]
    check_outputs(args.out, inputs=read, force=args.force)
    with time_bar(f"reading {args.files[0]}"):
        network, free = _read(args)
        mask = network.mask(free, source_name(args.free or args.files[0]))
        problem = network_problem(
            network,
            mask,
            args.size,
            within=args.within,
            segment=args.segment,
            segment_level=args.segment_level,
            balanced=args.balanced,
            name=Path(args.files[0]).stem,
        )
        write_problem(problem, args.out)
    family = family_of(problem)
    for note in network.notes:
        remark(f"{args.files[0]}: {note}")
    if args.json:
        write_json({"problem": args.out, **family.features(problem), "notes": network.notes})
        return 0
    say(f"{args.out}: {family.view.describe(problem)}")
    return 0


def _read(args: argparse.Namespace) -> tuple[NetworkFile, tuple[str, ...]]:
    """Return the network, and the names of its free nodes.

    Raises
    ------
    InvalidOption
        If no file tells which nodes are free.
    """
    from allocsolve.instances import read_free_nodes, read_network  # noqa: PLC0415 - when the command runs

    stated: StatedNodes | None = None if args.free is None else read_free_nodes(args.free)
    named = () if stated is None else stated.named
    network = read_network(*args.files, topology=args.topology, nodes=named)
    free = network.free if stated is None else stated.free
    if free is None:
        msg = f"{args.files[0]} does not tell which nodes are free: --free names the file that does"
        raise InvalidOption(msg)
    return network, free


def add_network_import(formats: Commands) -> None:
    """Add the command below `import`."""
    summary = "a network and its free nodes: files of Slurm, Kueue, topograph"
    parser = add_command(formats, "topology", import_topology, summary)
    help_text = (
        "topology.conf or topology.yaml of Slurm, a model of topograph, or for Kueue the Topology and the "
        "output of kubectl get nodes -o json, in one file or several"
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help=help_text)
    help_text = (
        "the free nodes: what sinfo -h -N -o '%%N %%T', sinfo --json or kubectl get nodes -o json prints, or "
        "a hostlist; - for stdin (default: what the nodes of Kueue say)"
    )
    parser.add_argument("--free", metavar="FILE", help=help_text)
    help_text = "how many nodes to choose"
    parser.add_argument("--size", type=opt.integer(1), required=True, metavar="K", help=help_text)
    help_text = "the highest level that the lowest common switch of them may have (default: any)"
    parser.add_argument("--within", type=opt.integer(1), default=0, metavar="L", help=help_text)
    help_text = "the chosen nodes fall into groups of G, each below one switch"
    parser.add_argument("--segment", type=opt.integer(1), default=0, metavar="G", help=help_text)
    help_text = "the highest level that such a switch may have (default: %(default)s)"
    parser.add_argument("--segment-level", type=opt.integer(1), default=1, metavar="L", help=help_text)
    help_text = "each switch of level 1 has none of the chosen nodes, or as many as each other"
    parser.add_argument("--balanced", action="store_true", help=help_text)
    help_text = "which one, of several in a topology.yaml or of Kueue (default: that of the cluster)"
    parser.add_argument("--topology", default="", metavar="NAME", help=help_text)
    parser.add_argument("--out", type=Path, required=True, metavar="PROBLEM", help="the problem to write")
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)
