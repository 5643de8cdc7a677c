"""What a JSON Schema says of the certificates of workloads; the judge says what they prove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.instances.formats.schema import (
    amounts,
    cells,
    certificate,
    choice,
    edges,
    listing,
    maybe,
    prices,
    real,
    unit,
    whole,
)
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from allocsolve.instances.formats.files import Document

#: The first edge that prices per job may have, in seconds.
_EARLIEST: Final = -MAX_INTEGER // 1024


def certificate_schema(kind: str) -> Document:
    """Return the schema of a kind of certificate."""
    term = choice(("turnaround", "slowdown", "wait"), "the first term of the objective, which is bounded")
    rules = ("longest", "area", "wide")
    by_job = {
        "term": term,
        "edges": listing(
            whole(_EARLIEST), "the seconds at which slots begin and end, rising: at least two", minItems=2
        ),
        "nodes": whole(1, "the divisor by which sizes and the machine are divided, rounded down"),
        "unit": unit("second"),
    }
    windows = {
        "first_slots": listing(whole(0), "of each job the first slot with a price, counted from 0"),
        "offsets": listing(whole(0), "where the prices of each job begin, and one more: where the last end"),
        "prices": prices("of all jobs, one after the other"),
    }
    tree = _tree()
    schemas = {
        "time-prices": certificate(
            "time-prices",
            {"term": term, "edges": edges(), "prices": prices("of a node in each slot"), "unit": unit()},
            "prices of node-seconds, slot by slot: one more edge than prices",
        ),
        "job-prices": _by_job("job-prices", {**by_job, **windows}, "prices per second, job by job"),
        "date-tree": _by_job(
            "date-tree", {**by_job, **tree}, "a tree of cuts between starts, each leaf with prices job by job"
        ),
        "date-trees": _by_job(
            "date-trees",
            {
                **by_job,
                "shared": _part(windows, "prices of all jobs that are the same in all leaves"),
                "stretches": listing(whole(0), "of each job the number of its tree, counted from 0"),
                "trees": listing(
                    _part(
                        {
                            "slots": cells(
                                whole(0),
                                whole(0),
                                description="the numbers of the first and the last of its edges",
                            ),
                            **tree,
                        },
                        "the tree of the jobs of a stretch, which are counted within it",
                    ),
                    "one for each stretch of jobs",
                ),
            },
            "a tree for each stretch of jobs, and shared prices",
        ),
        "makespan": certificate(
            "makespan",
            {
                "rule": choice(rules, "which bound: by the latest end, areas, or jobs on over N / 2 nodes"),
                "after": real(0, "in seconds: of the jobs that are submitted from then on"),
            },
            "a bound by single jobs or by sums over jobs",
        ),
        "machine-prices": certificate(
            "machine-prices",
            {
                "term": term,
                "edges": edges(),
                "prices": amounts(
                    prices("of one of the resource in each slot"),
                    "by the name of a resource, of which nodes is one; what is left out has no prices",
                ),
                "unit": unit("second of one of the resource"),
            },
            "prices of counted resources, slot by slot: one more edge than prices of each",
        ),
    }
    return schemas[kind]


def _by_job(kind: str, fields: dict[str, Document], title: str) -> Document:
    """Return the schema of a kind with prices per job; only on machines that are not plain it has units."""
    schema = certificate(kind, fields, title)
    units = amounts(
        whole(1, "the divisor by which its amounts are divided, rounded down"),
        "by the name of a resource other than nodes; what is left out does not count",
    )
    return {**schema, "properties": {**schema["properties"], "units": {**units, "default": {}}}}


def _tree() -> dict[str, Document]:
    """Return the fields of a tree of cuts."""
    added = {
        "parent": whole(-1, "the number of the earlier list to which this one adds; -1: none"),
        "jobs": listing(whole(0), "the jobs that pay more, rising, counted from 0"),
        "first_slots": listing(whole(0), "of each of these the first slot in which it does"),
        "offsets": listing(
            whole(0), "where the differences of each of these begin, and one more", minItems=1
        ),
        "differences": listing(
            whole(-MAX_INTEGER), "what they pay more, in 1 / unit units of cost per second"
        ),
    }
    return {
        "jobs": listing(
            whole(-1), "the tree, depth first, earlier starts first: the job of a cut; -1: a leaf"
        ),
        "cuts": listing(whole(0), "of a cut its second; of a leaf the number of its price list"),
        "lists": listing(_part(added, "a price list"), "the price lists, numbered from 0 on", minItems=1),
        "totals": listing(
            maybe({"type": "integer"}),
            "of each leaf the least cost less what the cluster earns, in 1 / (unit * ticks of a second); "
            "null: no schedule starts so",
        ),
    }


def _part(fields: dict[str, Document], description: str) -> Document:
    return {"description": description, "type": "object", "properties": fields, "required": [*fields]}
