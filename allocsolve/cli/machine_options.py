"""Options of imports that take the machine as it is: resources, partitions, priorities, closed windows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from allocsolve import instances
from allocsolve.cli import options as opt
from allocsolve.errors import InvalidOption


def add_windows(options: opt.Options) -> None:
    """Add when parts of the machine are closed: windows, and the file of times in which nodes were down."""
    help_text = (
        "maintenance window in which a part of the machine is closed, as 2022-11-08T08:00+8h,nodes=50 or "
        "START/END; may be given several times"
    )
    options.add_argument("--closed", action="append", default=[], metavar="WINDOW", help=help_text)
    add_events(options)


def add_partitions(options: opt.Options) -> None:
    """Add the partitions of the machine."""
    help_text = "partitions and the most nodes that the jobs of each hold at once (default: none)"
    options.add_argument("--partitions", type=opt.amounts, default={}, metavar="NAME=N,...", help=help_text)


def add_field_options(options: opt.Options) -> None:
    """Add what can be asked of jobs of a log beside nodes and times."""
    help_text = "consumable resources and how much there is of each, such as gpus=32 (default: none)"
    options.add_argument("--resources", type=opt.amounts, default={}, metavar="NAME=N,...", help=help_text)
    add_partitions(options)
    add_node_types(options)
    help_text = "jobs start when they are eligible at the earliest (default: when they are submitted)"
    options.add_argument("--eligible", action="store_true", help=help_text)
    help_text = (
        "use priorities as head starts: Slurm's PriorityWeightAge and PriorityMaxAge in days, as 1000,7"
    )
    options.add_argument("--priority-age", type=opt.priority_age, metavar="WEIGHT,DAYS", help=help_text)


def add_node_types(options: opt.Options) -> None:
    """Add the nodes, where these are places."""
    help_text = (
        "the nodes, if jobs share them or they differ: types as cpu=360x128c512g,gpu=40x64c512g4gpu, or a "
        "file, what sinfo -N -h -o '%%N|%%c|%%m|%%G|%%w|%%f|%%P' or scontrol show node printed"
    )
    options.add_argument("--node-types", type=_nodes, default={}, metavar="TYPES|FILE", help=help_text)


def add_events(options: opt.Options) -> None:
    """Add the file of times in which nodes were down."""
    help_text = (
        "close nodes while they are down, drained or reserved, by what sacctmgr -P show event or "
        "scontrol show reservation printed"
    )
    options.add_argument("--events", type=Path, metavar="FILE", help=help_text)


def asked_fields(args: argparse.Namespace, **more: bool) -> instances.LogFields:
    """Return what is to be read of a log beside plain jobs; `more` are further fields of `LogFields`."""
    site = instances.site_nodes(**args.node_types)
    return instances.LogFields(
        args.resources, args.partitions, args.eligible, args.priority_age, site=site, **more
    )


def _nodes(text: str) -> dict[str, Any]:
    """Read types of nodes such as gpu=40x64c512g4gpu, or the name of a file; as `site_nodes` takes them."""
    if "=" not in text or Path(text).is_file():
        return {"node_list": Path(text)}
    try:
        return {"node_types": instances.parse_node_types(text)}
    except InvalidOption as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
