"""What a JSON Schema says of workloads and of their schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.families import Fields
from allocsolve.instances.formats.schema import (
    amounts,
    cells,
    choice,
    flag,
    listing,
    maybe,
    real,
    record,
    reference,
    text,
    whole,
)
from allocsolve.model import JOB_KINDS, MAX_INTEGER

if TYPE_CHECKING:
    from allocsolve.instances.formats.files import Document

#: The words that `Stall` takes for what is held while a job changes its size.
_HOLDS: Final = ("new", "larger")


def problem_fields() -> Fields:
    """Return what a schema says of a problem."""
    window = {
        "type": "object",
        "properties": {"start": real(0, "in seconds"), "end": real(0, "in seconds, not included")},
        "required": ["start", "end"],
        "additionalProperties": whole(1, "how much is closed: of nodes, or of a resource by its name"),
    }
    job = reference("job")
    return Fields(
        "A workload: jobs that are submitted over time to a cluster",
        {
            "num_nodes": whole(1, "nodes of the cluster; if left out, those of `node_types`"),
            "node_types": listing(
                reference("node_type"),
                "if there are any, nodes are places, each with its own amounts, and all jobs are rigid; "
                "node ids are 0.. in the order of the types",
                default=[],
            ),
            "resources": amounts(
                whole(1), "counted resources beside the nodes: how much there is of each", default={}
            ),
            "closed": listing(
                window,
                'windows in which a part of the machine is closed, such as `{"start": 86400, "end": 115200, '
                '"nodes": 50, "gpus": 16}`; without amounts all of it is',
                default=[],
            ),
            "jobs": listing(job, "each with these fields"),
        },
        ("jobs",),
        (
            "num_nodes is there unless node_types say it, and names of types and of nodes are distinct",
            "no job has more nodes than num_nodes, nor needs more of a resource than there is",
            "names of jobs are distinct",
            "a job with chunks, each, per_node, exclusive or types is rigid and has node_types to lie on",
            "no job has parts of chunks without chunks, or needs more than empty nodes have room for",
            "nodes and runtime are there unless speedup, phases or profile say them",
            "nodes and runtime agree with what speedup, phases or profile say",
            "min_nodes <= nodes <= max_nodes, all of them sizes of size_set",
            "a job has what belongs to its kind: a speedup if it is moldable or malleable",
            "an evolving job has one of requests, phases and profile, and no other has",
            "a job has stall or join if it can change its size, and needs only if it is rigid",
            "release_delay belongs to phases, expand_limit to profile",
            "tables of speedup and lists of requests are in order, and speedup laws in their ranges",
            "a closed window ends after its start and closes what there is",
            "sums of times, and of nodes times run times, are small enough to be counted",
        ),
        {"job": record(_job(), ("submit",)), "speedup": _speedup(), "node_type": _node_type()},
    )


def _node_type() -> Document:
    return record(
        {
            "name": text("of the type", minLength=1),
            "count": whole(1, "how many nodes there are of it"),
            "has": amounts(
                whole(0), "what there is on each node, by name; rules that look at processors look at `cpus`"
            ),
            "weight": whole(0, "nodes of the least weight are taken first", default=0),
            "names": listing(text(), "of its nodes, such as `n[001-360]`, for people", default=[]),
        },
        ("name", "count", "has"),
    )


def _chunks() -> dict[str, Document]:
    return {
        "chunks": maybe(
            whole(
                1,
                "of how many equal chunks it is made, each on one node; null: whole nodes, `nodes` of them",
                title="the number of chunks, of one kind only,",
            )
        ),
        "each": maybe(
            amounts(
                whole(0, title="an amount, of whole devices,"),
                "how much a chunk takes of what its node has, by name",
            )
        ),
        "per_node": maybe(whole(1, "the most chunks on a node; null: any number")),
        "exclusive": flag("whether it has its nodes for itself, all of each of them"),
        "types": maybe(listing(text(), "the types of nodes that it may use; null: any", minItems=1)),
    }


def _job() -> dict[str, Document]:
    return {
        "name": text("of the job, each another one; `j0`, `j1`, ... if left out"),
        "submit": real(0, "when the job enters the queue, in seconds"),
        "nodes": whole(
            1,
            "how many nodes it holds, or those to which "
            "`runtime` refers; those of the first step of `profile`; of a job of chunks, the fewest",
        ),
        "runtime": real(
            0,
            "seconds on `nodes` nodes; if left out, what `profile`, `phases` or the table of `speedup` say",
            above=True,
        ),
        "limit": maybe(
            real(0, "the run time that the user asked for, in seconds; null: not given", above=True)
        ),
        "user": maybe(text("who submitted it; null: not known")),
        "weight": real(0, "how much it counts in objectives", default=1),
        "min_nodes": whole(
            1,
            "the fewest nodes of a job that is not rigid; if "
            "left out, those of its profile or table, or `nodes`; of a job of chunks, the same as `nodes`",
        ),
        "max_nodes": whole(1, "the most nodes of a job that is not rigid, likewise"),
        "speedup": reference("speedup"),
        "kind": maybe(choice(JOB_KINDS, "follows from the other fields where it is left out")),
        "points": whole(
            0,
            "equal parts of its work between which a malleable job may change its nodes; 0: at any time",
            default=0,
        ),
        "size_set": {
            "anyOf": [whole(1), {"const": "powers-of-two"}],
            "default": 1,
            "description": "numbers of nodes that are allowed: multiples of an integer, or `powers-of-two`",
        },
        "requests": maybe(
            listing(
                cells(real(0, above=True, maximum=1, title="remaining"), whole(-MAX_INTEGER, title="change")),
                "an evolving job with a speedup asks for other "
                "numbers of nodes: `[remaining share of its work, change]`",
            )
        ),
        "phases": maybe(
            listing(
                cells(real(0, above=True, title="work"), {"anyOf": [whole(1), {"type": "null"}]}),
                "an evolving job asks for nodes as its phases can "
                "use them: `[node-seconds, most useful nodes or null]`",
            )
        ),
        "profile": maybe(
            listing(
                cells(whole(1, title="seconds"), whole(0, title="nodes")),
                "an evolving job has known steps: `[seconds, nodes]`",
            )
        ),
        "needs": maybe(
            amounts(whole(0), "of a rigid job: how much of each resource it holds while it runs, by name")
        ),
        "partition": maybe(text("of a rigid job: a resource of which it needs as much as it has nodes")),
        "eligible": maybe(
            real(0, "the job does not start before this instant, in seconds; waits count from `submit`")
        ),
        "boost": maybe(
            real(-MAX_INTEGER, "its head start: in the queue it counts as submitted so many seconds earlier")
        ),
        **_chunks(),
        "release_delay": maybe(real(0, "of `phases`: seconds after which an idle node is given back")),
        "expand_limit": maybe(
            real(1, "of a `profile`: how many times its seconds a step may hold its nodes; null: no limit")
        ),
        "stall": maybe(
            record(
                {
                    "fixed": real(0, "seconds of each change"),
                    "per_node": real(0, "seconds for each node that comes or goes"),
                    "shared": real(0, "seconds times nodes, divided by the sum of both numbers of nodes"),
                    "holds": choice(_HOLDS, "which number of nodes is held meanwhile", default="new"),
                },
                description="what a change costs a malleable job, or one with `requests`",
            )
        ),
        "join": maybe(
            record(
                {
                    "start": real(0, "seconds without progress at the start of the job"),
                    "grow": real(0, "seconds from the arrival of a node until it is useful"),
                    "shrink": real(0, "seconds for which a node is held when it is no longer useful"),
                },
                description="what changes cost a job with `phases`",
            )
        ),
    }


def _speedup() -> Document:
    share = real(0, maximum=1)
    laws = {
        "amdahl": {**share, "description": "the parallel share"},
        "power": {**share, "description": "the exponent"},
        "overhead": {**share, "description": "what each node more costs"},
        "table": listing(
            cells(whole(1, title="nodes"), real(0, above=True, title="seconds")), "nodes and seconds"
        ),
    }
    law = record(
        laws, description="of a job that is not rigid, one of these laws", minProperties=1, maxProperties=1
    )
    return maybe(law)


def _held() -> Document:
    return {"anyOf": [whole(0, title="nodes"), text(title="nodes")]}


def schedule_fields() -> Fields:
    """Return what a schema says of a schedule."""
    time = real(-MAX_INTEGER)
    job = {
        "name": text("of a job of the problem"),
        "pieces": listing(
            cells({**time, "title": "start"}, {**time, "title": "end"}, _held()),
            "`[start, end, nodes]`, in order of time; where nodes are places, `nodes` is a text such as "
            "`3-6,9*2`: a chunk on each of the nodes 3 to 6, two on node 9",
        ),
    }
    return Fields(
        "A solution of a workload",
        {"jobs": listing(record(job, tuple(job)), "in any order")},
        ("jobs",),
        ("problem is the digest of the problem", "each job of the problem stands there once, and no other"),
    )
