"""Reservations of seven jobs where all fit by count, and a contiguous shape costs one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.model import DeadlineJob, Mesh, ReservationProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["shape_counterexamples"]

#: Counted up whenever a case changes.
_VERSION = 1

#: Begin, end and nodes of the jobs by the nodes of a line.
_LINES: Final = {
    4: ((5, 10, 2), (8, 11, 2), (10, 12, 1), (10, 13, 1), (11, 13, 1), (12, 16, 2), (15, 16, 2)),
    6: ((0, 2, 3), (0, 3, 3), (2, 4, 1), (2, 5, 2), (3, 7, 2), (4, 8, 2), (7, 8, 3)),
}


def shape_counterexamples() -> Iterator[ReservationProblem]:
    """Yield two lines of nodes with seven jobs without slack, each for every shape.

    At no time do the jobs ask for more nodes than there are, so that all can be accepted with the shape
    ``any``. No seven runs exist, and on a line connected sets are runs. ``meta["accepted"]`` says how many
    jobs can be accepted. On the line of 4 the jobs of two nodes at the start fill nodes 0, 1 and 2, 3; the
    job from 12 to 16 needs the place of the one that ends at 12 and a free one beside it; so the two other
    jobs of one node sit at both ends of the line, or one of them in the way, and no two neighbours are left
    for the last job.

    Examples
    --------
    >>> for case in shape_counterexamples():
    ...     print(case.name, case.meta["accepted"])
    line-of-4-any 7
    line-of-4-connected 6
    line-of-4-run 6
    line-of-6-any 7
    line-of-6-connected 6
    line-of-6-run 6
    """
    for num_nodes, rows in _LINES.items():
        jobs = tuple(DeadlineJob(begin, nodes, end - begin, end) for begin, end, nodes in rows)
        for shape in ("any", "connected", "run"):
            name = f"line-of-{num_nodes}-{shape}"
            meta = {
                "generator": "shape-counterexamples",
                "version": _VERSION,
                "case": name,
                "accepted": len(jobs) - (shape != "any"),
            }
            yield ReservationProblem(Mesh((num_nodes,)), jobs, shape, name=name, meta=meta)
