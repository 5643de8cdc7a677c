"""What a log tells of its jobs beside nodes and times: resources, partitions, eligible times, priorities.

A plain import leaves all of it out. `LogFields` asks for it and says how much there is of each resource,
which no log tells.

Source of the head start: the page "Multifactor Priority Plugin" of Slurm's documentation.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.instances.formats.logs.site_nodes import SiteNodes
from allocsolve.model.arrays import MAX_INTEGER
from allocsolve.model.machine import NODES, Amounts, checked_amounts
from allocsolve.model.places import shape_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, Shape

#: Fields of `LogTable.columns` that are read if they are asked for, and the options that ask.
ASKED_FIELDS: Final[Mapping[str, str]] = {
    "needs": "--resources",
    "requested_needs": "--resources",
    "partition": "--partitions",
    "eligible": "--eligible",
    "priority": "--priority-age",
    "held": "--node-types",
    "requested_held": "--node-types",
    "node_names": "--node-types",
}
_NEED: Final = re.compile(r"([^=,]{1,80})=(\d{1,15})", re.ASCII)
_PRIORITY: Final = re.compile(r"\d{1,15}", re.ASCII)
#: What is no partition.
_NO_PARTITION: Final = frozenset({"", "(null)", "n/a", "none", "unknown", "-1"})
#: Distinct lists of needs that are held.
_MOST_LISTS: Final = 2**20


#: No nodes that are places.
_COUNTED: Final = SiteNodes()


@dataclass(frozen=True, slots=True)
class LogFields:
    """What is read of a log beside plain jobs; nothing of it unless asked for.

    Parameters
    ----------
    resources
        Counted resources and how much the machine has of each, such as ``{"gpus": 32}``. What jobs need of
        others is left out, and counted.
    partitions
        Partitions and how many nodes, in the unit of sizes, the jobs of each may hold at once. Jobs of others
        are held back by the machine only.
    eligible
        Whether jobs start not before they were eligible.
    priority_age
        Slurm's PriorityWeightAge, and PriorityMaxAge in days: makes a head start of the priority that a job
        had last. Below PriorityMaxAge the order of the queue by priority is that by submission minus head
        start.
    tells_partitions
        Whether `AskedJobs` has the partition of each job as the log names it, also if its size is not given.
    keeps_large
        Whether jobs are kept that had more than there is of a resource, or more nodes than their partition:
        they hold all of it then. Else they are dropped. Where nodes are places, jobs that fit no nodes hold
        as many whole ones.
    site
        The nodes of the machine, if they are places: jobs have chunks then, and sizes are nodes.

    Raises
    ------
    InvalidOption
        If an amount is not in 1..2^53, a name is taken or stands twice, or a weight or age is not above 0.
    """

    resources: Mapping[str, int] | Amounts = ()
    partitions: Mapping[str, int] | Amounts = ()
    eligible: bool = False
    priority_age: tuple[float, float] | None = None
    tells_partitions: bool = False
    keeps_large: bool = False
    site: SiteNodes = _COUNTED

    def __post_init__(self) -> None:
        for what in ("resources", "partitions"):
            try:
                object.__setattr__(self, what, checked_amounts(what, getattr(self, what)))
            except InvalidProblem as fault:
                raise InvalidOption(str(fault)) from None
        names = [name for name, _ in (*self.resources, *self.partitions)]
        for name in names:
            if name == NODES or names.count(name) > 1:
                raise InvalidOption(f"the name {name!r} of a resource or partition is taken")
        if self.priority_age is not None:
            for what, number in zip(("weight", "days"), self.priority_age, strict=True):
                if not (math.isfinite(number) and number > 0):
                    raise InvalidOption(f"priority_age: {what} {number} is not a number above 0")

    @property
    def capacities(self) -> dict[str, int]:
        """How much there is of each resource and partition."""
        return dict((*self.resources, *self.partitions))

    @property
    def _needs_partition(self) -> bool:
        return bool(self.partitions or self.tells_partitions)

    def asks(self, name: str) -> bool:
        """Tell whether a field of `ASKED_FIELDS` is to be read."""
        if name in {"needs", "requested_needs"}:
            return bool(self.resources)
        if ASKED_FIELDS.get(name) == "--node-types":
            return bool(self.site.types)
        partition = self.partitions or self.tells_partitions or self.site.partitions
        return bool({"partition": partition, "priority": self.priority_age}.get(name, self.eligible))

    def missing(self, there: Mapping[str, object]) -> str | None:
        """Return the option that asks for what a log does not tell; None if it tells all.

        Parameters
        ----------
        there
            By field, for those that it tells.
        """
        for name, option in ASKED_FIELDS.items():
            if option == "--node-types" or (name == "partition" and not self._needs_partition):
                continue  # nodes and processors do
            if self.asks(name) and name not in there:
                if name.endswith("needs") and {"needs", "requested_needs"} & there.keys():
                    continue
                return option
        return None


#: Nothing but plain jobs.
PLAIN: Final = LogFields()


def tres_needs(text: str) -> str:
    """Return what jobs need of counted resources in a list such as ``cpu=8,gres/gpu:a100=4,license/cfd=1``.

    GPUs are called ``gpus``, those of a type ``gpus:a100``; ``gres/`` and ``license/`` are left out of other
    names, and processors, nodes, memory and the rest are no counted resources. GPUs may be counted with and
    without their type, which are the same ones.
    """
    if not text:
        return ""
    if "=" not in text:
        raise ValueError(f"{text[:20]!r} is no list such as cpu=8,gres/gpu=4")
    needs: dict[str, int] = {}
    typed = 0
    for part in text.split(","):
        full, _, number = part.partition("=")
        kind, slash, name = full.partition("/")
        if not slash or kind not in {"gres", "license"}:
            continue
        if not _PRIORITY.fullmatch(number):
            raise ValueError(f"{number[:20]!r} is no number")
        if name == "gpu" or name.startswith("gpu:"):
            typed += int(number) if name != "gpu" else 0
            name = f"gpus{name.removeprefix('gpu')}"
        needs[name] = needs.get(name, 0) + int(number)
    if typed > needs.get("gpus", 0):
        needs["gpus"] = typed
    return listed_needs(needs)


def listed_needs(needs: Mapping[str, object]) -> str:
    """Return needs as a list such as ``gpus=4,cfd=1``; what has no count is left out."""
    listed = ",".join(f"{name}={number}" for name, number in needs.items() if number != "")
    return listed or "none=0"  # it needs nothing, and that is known


@functools.lru_cache(maxsize=2**12)
def read_needs(text: str) -> tuple[tuple[str, int], ...] | None:
    """Return what a list such as ``gpus=4,cfd=1`` says; None if it is empty."""
    if not text:
        return None
    found = []
    for part in text.split(","):
        match = _NEED.fullmatch(part)
        if match is None:
            raise ValueError(f"{text[:30]!r} is no list such as gpus=4")
        found.append((match[1], int(match[2])))
    return tuple(found)


class FieldTexts:
    """Takes up the texts of a job as numbers: places in lists of distinct ones."""

    def __init__(self) -> None:
        self.partitions: dict[str, int] = {}
        self.needs: dict[tuple[tuple[str, int], ...], int] = {}
        self.held: dict[tuple[tuple[str, int], ...], int] = {}
        self.node_names: dict[str, int] = {}

    def partition(self, text: str) -> int:
        """Return the place of a partition, -1 for none."""
        if text.lower() in _NO_PARTITION:
            return -1
        if not text.isprintable() or len(text) > 200:
            raise ValueError(f"{text[:20]!r} is no name")
        return self.partitions.setdefault(text, len(self.partitions))

    def need(self, *texts: str) -> int:
        """Return the place of the first list of needs that is known, -1 if none is."""
        return _place(self.needs, *texts)

    def hold(self, *texts: str) -> int:
        """Return the place of the first list of what is held on places that is known, -1 if none is."""
        return _place(self.held, *texts)

    def on_nodes(self, text: str) -> int:
        """Return the place of a hostlist, -1 for none."""
        if text.lower() in {"", "none assigned", "(null)"} or len(self.node_names) >= _MOST_LISTS:
            return -1
        return self.node_names.setdefault(text, len(self.node_names))


def _place(lists: dict[tuple[tuple[str, int], ...], int], *texts: str) -> int:
    for text in texts:
        needs = read_needs(text)
        if needs is not None:
            if len(lists) >= _MOST_LISTS:
                raise ValueError(f"there are more than {_MOST_LISTS} different needs")
            return lists.setdefault(needs, len(lists))
    return -1


def priority(text: str) -> float:
    """Return a priority as a number; NaN if it is not known."""
    if text.lower() in {"", "unknown", "n/a", "none", "(null)", "nan"}:
        return math.nan
    if not _PRIORITY.fullmatch(text):
        raise ValueError(f"{text[:20]!r} is no whole number")
    return float(text)


class PlaceColumns(NamedTuple):
    """What each row of a log holds on places, and what is to be counted."""

    shapes: Sequence[Shape]
    #: Which do not fit the empty nodes; of those the shape is that of as many whole nodes.
    too_large: NDArray[np.bool_]
    #: Whose amounts are no multiples of their nodes.
    uneven: NDArray[np.bool_]
    #: Of which nothing is known but nodes, which they hold whole.
    unknown: NDArray[np.bool_]
    #: What is left out since no node has it, and of which rows.
    left_out: Mapping[str, NDArray[np.bool_]]
    #: Recorded nodes, by id; None where they are not known.
    node_ids: Sequence[tuple[int, ...] | None]


class FieldColumns(NamedTuple):
    """What was asked for, a row a job of the log; columns that were not asked for are None."""

    fields: LogFields = PLAIN
    texts: FieldTexts | None = None
    needs: FloatArray | None = None  #: places in the lists of `texts`, -1 where unknown
    partition: FloatArray | None = None  #: the same
    eligible: FloatArray | None = None  #: seconds, NaN where unknown
    priority: FloatArray | None = None  #: the same
    places: PlaceColumns | None = None  #: where nodes are places
    #: Which jobs tell something that no option asks for, by what it is.
    left_out: Mapping[str, NDArray[np.bool_]] = MappingProxyType({})

    def too_large(self, nodes: FloatArray) -> NDArray[np.bool_]:
        """Tell which jobs are dropped since they need more of a resource than there is."""
        large = np.zeros(len(nodes), dtype=bool)
        if self.fields.keeps_large:
            return large
        if self.texts is not None and self.needs is not None:
            there = dict(self.fields.resources)
            over = [any(number > there.get(name, number) for name, number in one) for one in self.texts.needs]
            large |= np.array([*over, False])[self.needs.astype(np.int64)]
        if self.texts is not None and self.partition is not None:
            sizes = [dict(self.fields.partitions).get(name, MAX_INTEGER) for name in self.texts.partitions]
            large |= nodes > np.array([*sizes, MAX_INTEGER])[self.partition.astype(np.int64)]
        if self.places is not None:
            large |= self.places.too_large
        return large

    def at(
        self, rows: NDArray[np.int64], nodes: FloatArray, submits: FloatArray, starts: FloatArray
    ) -> tuple[AskedJobs, dict[str, int]]:
        """Return what was asked of the rows that are kept, and counts of what was made of it.

        The rows are those of the jobs that are kept, in their order; the other arrays are of these, times in
        seconds.
        """
        left_out = Counter({name: int(tells[rows].sum()) for name, tells in self.left_out.items()})
        if self.texts is None:
            return AskedJobs(left_out=dict(+left_out)), {}
        needs: list[Mapping[str, int]] = []
        partitions: list[str | None] = []
        named_partitions: list[str | None] = []
        eligible, boost = np.empty(0), np.empty(0)
        counts: dict[str, int] = {}
        listed = dict(self.fields.partitions)
        if self.needs is not None:
            lists = [dict(one) for one in self.texts.needs]
            named = dict(self.fields.resources)
            chosen = [{name: one[name] for name in one if name in named} for one in lists]
            others = [_not_named(one, named) for one in lists]
            places = self.needs[rows].astype(np.int64).tolist()
            needs = [chosen[place] if place >= 0 else {} for place in places]
            for place in places:
                left_out.update(others[place] if place >= 0 else ())
            counts["no_needs"] = sum(place < 0 for place in places)
        if self.partition is not None:
            names = [*self.texts.partitions, None]
            named_partitions = [names[place] for place in self.partition[rows].astype(np.int64).tolist()]
            if listed or self.fields.tells_partitions:
                counts["no_partition"] = named_partitions.count(None)
        if listed:
            partitions = [name if name in listed else None for name in named_partitions]
            left_out.update(f"partition {name}" for name in named_partitions if name and name not in listed)
        if self.eligible is not None:
            told = self.eligible[rows]
            early = told > starts
            eligible = np.where(early, starts, told)
            counts["eligible_after_start"] = int(early.sum())
        if self.priority is not None and self.fields.priority_age is not None:
            boost = head_starts(self.priority[rows], submits, starts, *self.fields.priority_age)
            counts["no_priority"] = int(np.isnan(boost).sum())
            boost = np.nan_to_num(boost)
        had: dict[str, list[int]] = {}
        shapes: list[Shape] = []
        node_ids: list[tuple[int, ...] | None] = []
        if self.places is not None:
            shapes = [self.places.shapes[row] for row in rows.tolist()]
            node_ids = [self.places.node_ids[row] for row in rows.tolist()]
            counts["uneven_chunks"] = int(self.places.uneven[rows].sum())
            counts["no_amounts"] = int(self.places.unknown[rows].sum())
            counts["fits_no_node"] = int(self.places.too_large[rows].sum())
            left_out.update({name: int(tells[rows].sum()) for name, tells in self.places.left_out.items()})
        if self.fields.keeps_large:
            needs, partitions = self._fitted(needs, partitions, nodes, had)
            counts["more_than_there_is"] = sum(map(len, had.values()))
        return AskedJobs(
            *(tuple(needs), tuple(partitions), eligible, boost, dict(+left_out), tuple(named_partitions)),
            had=had,
            shapes=tuple(shapes),
            node_ids=tuple(node_ids),
        ), counts

    def _fitted(
        self,
        needs: Sequence[Mapping[str, int]],
        partitions: Sequence[str | None],
        nodes: FloatArray,
        had: dict[str, list[int]],
    ) -> tuple[list[Mapping[str, int]], list[str | None]]:
        """Return needs and partitions with which each job holds at most what there is.

        A job with more nodes than its partition needs all of it, as it would of a resource. `had` takes up
        what these jobs had, by resource and partition.
        """
        there = self.fields.capacities
        fitted: list[Mapping[str, int]] = []
        kept = [*partitions]
        for idx, size in enumerate(nodes.astype(np.int64).tolist()):
            mine = dict(needs[idx]) if needs else {}
            if kept and (name := kept[idx]) is not None and size > there[name]:
                kept[idx], mine[name] = None, size
            for name, amount in mine.items():
                if amount > there[name]:
                    had.setdefault(name, []).append(amount)
            fitted.append({name: min(amount, there[name]) for name, amount in mine.items()})
        return fitted if any(fitted) else [], kept


def _not_named(needs: Mapping[str, int], named: Mapping[str, int]) -> list[str]:
    """Return the needs that are not named, but for GPUs that are named with or without their type."""
    gpus = {name for name in named if name == "gpus" or name.startswith("gpus:")}
    typed = sum(number for name, number in needs.items() if name.startswith("gpus:") and name in named)
    return [
        name
        for name, number in needs.items()
        if number
        and name not in named
        and not ("gpus" in gpus and name.startswith("gpus:"))
        and not (name == "gpus" and number <= typed)
    ]


def head_starts(
    priorities: FloatArray, submits: FloatArray, starts: FloatArray, weight: float, days: float
) -> FloatArray:
    """Return by how many seconds jobs are ahead in a queue by Slurm's multifactor priority.

    The priority of a job is other terms plus ``weight * min(1, age / max age)``. Of two jobs below the
    maximal age the one with the smaller ``submit - head start`` has the higher priority, whatever time it is,
    if the head start is (other terms) x (max age) / weight. Priorities are the last ones, those at the start;
    between submission and start, in seconds, jobs grow older. The weight is PriorityWeightAge, the days are
    PriorityMaxAge. Returns whole seconds, shape (jobs,) as the arguments; NaN where priority or start is
    unknown.
    """
    oldest = 86_400 * days
    grown = np.clip(starts - submits, 0, oldest)
    rounded: FloatArray = np.round(priorities * (oldest / weight) - grown)
    return rounded


@dataclass(frozen=True, slots=True, eq=False)
class AskedJobs:
    """What was asked of the jobs of a log, in their order; empty what was not asked for."""

    needs: Sequence[Mapping[str, int]] = ()
    partitions: Sequence[str | None] = ()
    eligible: FloatArray = field(default_factory=lambda: np.empty(0))  #: seconds of the log
    boost: FloatArray = field(default_factory=lambda: np.empty(0))  #: seconds
    #: How many jobs need a resource, or are of a partition, that no option names.
    left_out: Mapping[str, int] = field(default_factory=dict)
    told_partitions: Sequence[str | None] = ()  #: as the log names them
    #: What jobs had that had more than there is, by resource or partition; see `LogFields.keeps_large`.
    had: Mapping[str, Sequence[int]] = field(default_factory=dict)
    shapes: Sequence[Shape] = ()  #: on nodes that are places
    node_ids: Sequence[tuple[int, ...] | None] = ()  #: of these nodes, those that the log records

    def columns(self, window: slice, submits: FloatArray, zero: float) -> dict[str, Any]:
        """Return the columns that `allocsolve.model.Jobs` takes.

        They are of the jobs of a window, with their submissions in seconds of the log, from which the
        workload counts at `zero`.
        """
        columns: dict[str, Any] = {}
        if len(self.needs):
            columns["needs"] = self.needs[window]
        if len(self.partitions):
            columns["partitions"] = self.partitions[window]
        if len(self.eligible):
            late = self.eligible[window] > submits
            columns["eligible"] = np.where(late, self.eligible[window] - zero, np.nan)
        if len(self.boost):
            columns["boost"] = self.boost[window]
        if self.shapes:
            columns |= shape_columns(self.shapes[window])
            columns["nodes"] = [shape.least_nodes for shape in self.shapes[window]]
        return columns

    def remark(self) -> str | None:
        """Return what no option names, in one line; None if there is nothing."""
        if not self.left_out:
            return None
        most = sorted(self.left_out.items(), key=lambda pair: (-pair[1], pair[0]))
        shown = ", ".join(f"{name[:40]} ({count:,})" for name, count in most[:8])
        more = f" and {len(most) - 8} more" if len(most) > 8 else ""
        return f"left out, as no option names them (jobs): {shown}{more}"
