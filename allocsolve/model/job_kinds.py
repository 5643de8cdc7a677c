"""Who may choose and change the number of nodes of a job, and which numbers are allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER, IntArray, frozen
from allocsolve.model.checks import items, shown, whole
from allocsolve.model.columns import counts_column
from allocsolve.model.speedup import NO_SPEEDUP, SPEEDUP_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from allocsolve.model.packed_jobs import PackedJobs

#: A rigid job runs on a fixed number of nodes. That of a moldable job is chosen at its start; that of a
#: malleable job may change while it runs, by a decision of the scheduler; an evolving job asks for changes by
#: itself.
JobKind: TypeAlias = Literal["rigid", "moldable", "malleable", "evolving"]
JOB_KINDS: tuple[JobKind, ...] = get_args(JobKind)

#: Codes of the kinds in the arrays of `allocsolve.model.PackedJobs`.
RIGID: Final = 0
MOLDABLE: Final = 1
MALLEABLE: Final = 2
EVOLVING: Final = 3

#: On which numbers of nodes a job may run: multiples of an integer (1: all), or powers of two.
SizeSet: TypeAlias = int | Literal["powers-of-two"]

#: Codes of size sets; others are the integer itself.
ALL_SIZES: Final = 1
POWERS_OF_TWO: Final = 0


def job_kind(code: int) -> JobKind:
    """Return the kind of a code."""
    return JOB_KINDS[code]


def size_set(code: int) -> SizeSet:
    """Return the size set of a code."""
    return "powers-of-two" if code == POWERS_OF_TWO else int(code)


def kind_columns(
    kinds: Iterable[JobKind | None] | None,
    points: object,
    size_sets: Iterable[SizeSet] | None,
    speedup: IntArray,
) -> dict[str, Any]:
    """Return the columns of `allocsolve.model.PackedJobs` with the kinds, points and size sets of jobs.

    `speedup` has the codes of their laws: a job with a law and without a kind is moldable.
    """
    by_law = np.where(speedup == NO_SPEEDUP, RIGID, MOLDABLE)
    if kinds is not None:
        listed: tuple[object, ...] = items("kinds", kinds)
        codes: dict[object, int] = {None: -1, **{kind: code for code, kind in enumerate(JOB_KINDS)}}
        for idx, kind in enumerate(listed):
            if not isinstance(kind, str | None) or kind not in codes:
                msg = f"job {idx}: kind {shown(kind)} is none of {', '.join(JOB_KINDS)}"
                raise InvalidProblem(msg)
        given = np.array([codes[kind] for kind in listed], dtype=np.int64)
        if len(given) != len(by_law):
            msg = f"{len(given)} kinds for {len(by_law)} jobs"
            raise InvalidProblem(msg)
        by_law = np.where(given < 0, by_law, given)
    count = len(speedup)
    steps: IntArray = np.ones(count, dtype=np.int64)
    if size_sets is not None:
        steps = np.array([_step(idx, given) for idx, given in enumerate(items("size_sets", size_sets))])
        steps = steps.astype(np.int64)
    return {
        "kind": frozen(by_law.astype(np.int64)),
        "points": counts_column("points", np.zeros(count) if points is None else points),
        "size_step": frozen(steps),
    }


def _step(idx: int, given: object) -> int:
    if given == "powers-of-two":
        return POWERS_OF_TWO
    try:
        step = whole(given)
    except TypeError:
        step = 0
    if not 1 <= step <= MAX_INTEGER:
        msg = f"job {idx}: size_set {shown(given)} is neither an integer >= 1 nor 'powers-of-two'"
        raise InvalidProblem(msg)
    return step


def kind_faults(packed: PackedJobs) -> list[tuple[NDArray[np.bool_], str]]:
    """Return pairs of the jobs at fault and a description of the fault."""
    kind, law = packed.kind, packed.speedup
    has_law, tabled = law != NO_SPEEDUP, law == SPEEDUP_TABLE
    fixed, evolves = kind != MALLEABLE, kind == EVOLVING
    stepped = packed.size_step != ALL_SIZES
    faults = [
        ((kind == RIGID) & has_law, "is rigid, but has a speedup"),
        ((kind != RIGID) & ~evolves & ~has_law, "has no speedup, so it can only be rigid or evolving"),
        (fixed & (packed.points != 0), "has points, but is not malleable"),
        (packed.points < 0, "has less than 0 points"),
        (tabled & stepped, "has a size set, but the sizes of its speedup table"),
        (~has_law & ~evolves & stepped, "has a size set, but is rigid"),
    ]
    for name in ("nodes", "min_nodes", "max_nodes"):  # the others are `nodes` where they are left out
        outside = stepped & ~are_allowed_sizes(packed.size_step, getattr(packed, name))
        faults.append((outside, f"has {name} outside its size set"))
    return faults


def are_allowed_sizes(size_step: IntArray, sizes: IntArray) -> NDArray[np.bool_]:
    """Return which numbers of nodes are in the size sets of these codes; speedup tables do not count."""
    powers = (sizes >= 1) & (sizes & (sizes - 1) == 0)
    multiples = sizes % np.maximum(size_step, 1) == 0
    return np.asarray(np.where(size_step == POWERS_OF_TWO, powers, multiples), dtype=bool)


def allowed_sizes(low: int, high: int, size_step: int) -> Any:  # noqa: ANN401 - a sequence of integers
    """Return the increasing numbers of nodes of a size set from `low`, which is one of them, to `high`."""
    if size_step == POWERS_OF_TWO:
        return [low << doublings for doublings in range(max(high // low, 1).bit_length())]
    return range(low, high + 1, size_step)
