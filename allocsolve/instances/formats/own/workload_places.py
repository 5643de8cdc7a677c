"""What workloads say of nodes that are places, what jobs hold there, and where answers put them.

All of it is left out where nodes are counted. In tables of jobs there are columns ``each_gpus`` instead of
``each``, types are separated by ``|``, and ``node_types`` is the field of the JSON file in each row. A piece
of an answer has the text ``3-6,9*2`` instead of a number of nodes: a chunk on each of the nodes 3 to 6, two
on node 9.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import FormatError, InvalidProblem
from allocsolve.instances.formats.files import show
from allocsolve.instances.formats.networks.hostlist import compress_hostlist, host_names
from allocsolve.model import NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.instances.formats.files import Checker, Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import IntArray, WorkloadProblem, WorkloadSchedule

#: The fields of a job that are read here.
PLACE_FIELDS: Final = ("chunks", "each", "per_node", "exclusive", "types")

#: The beginning of columns of tables: how much a chunk takes.
EACH: Final = "each_"

#: A node or a run of nodes, and how many chunks each has.
_RUN: Final = re.compile(r"(\d{1,16})(?:-(\d{1,16}))?(?:\*(\d{1,16}))?", re.ASCII)

#: The most pairs of a piece and a node that are read.
_MOST_PAIRS: Final = 2**26


def types_of(check: Checker, listed: list[Document]) -> list[NodeType]:
    """Return the types of nodes; those that contradict themselves are noted."""
    types = []
    for idx, fields in enumerate(listed):
        try:
            names = [name for text in fields["names"] for name in host_names(text)]
            types.append(NodeType(**{**fields, "names": tuple(names)}))
        except (InvalidProblem, ValueError) as error:
            check.add(f"node_types[{idx}]", str(error))
    return types


def type_values(problem: WorkloadProblem) -> Document:
    """Return the field of the types of nodes; none if nodes are counted."""
    rows: list[Document] = []
    for each in problem.node_types:
        row: Document = {"name": each.name, "count": each.count, "has": dict(each.has)}
        if each.weight:
            row["weight"] = each.weight
        if each.names:
            row["names"] = [_hostlist(each)]
        rows.append(row)
    return {"node_types": rows} if rows else {}


def _hostlist(each: NodeType) -> str:
    try:
        return compress_hostlist(each.names)
    except FormatError as error:
        raise InvalidProblem(f"node type {each.name!r}: {'; '.join(error.faults)}") from None


def add_chunks(problem: WorkloadProblem, rows: list[Document]) -> None:
    """Add to the rows of jobs what they hold on places."""
    if problem.jobs.chunks:
        for idx, row in enumerate(rows):
            row.update(problem.jobs.chunks.of_job(idx))


def chunk_columns(listed: Sequence[Document]) -> dict[str, Any] | None:
    """Return columns of what jobs hold on places, as `Jobs` takes them; None if there may be a fault."""
    if set(PLACE_FIELDS).isdisjoint(set().union(*listed)):
        return {}
    chunks, each, per_node, exclusive, types = ([job.get(name) for job in listed] for name in PLACE_FIELDS)
    amounts = {type(amount) for mine in each if isinstance(mine, dict) for amount in mine.values()}
    kinds = [kind for mine in types if isinstance(mine, list) for kind in mine]
    sound = (
        not {*map(type, chunks), *map(type, per_node)} - {int, type(None)}
        and not {*map(type, each)} - {dict, type(None)}
        and not amounts - {int}
        and not {*map(type, exclusive)} - {bool, type(None)}
        and not {*map(type, types)} - {list, type(None)}
        and not {*map(type, kinds)} - {str}
    )
    if not sound:
        return None
    flags = [bool(alone) for alone in exclusive]
    return {"chunks": chunks, "each": each, "per_node": per_node, "exclusive": flags, "types": types}


def fewest_nodes(check: Checker, fields: Document, place: str) -> int | None:
    """Return the fewest nodes that a job of chunks says, in `nodes` or `min_nodes`; None of another job."""
    if fields.get("chunks") is None:
        return None
    said = {name: fields[name] for name in ("nodes", "min_nodes", "max_nodes") if name in fields}
    if "max_nodes" in said:
        check.add(f"{place}.max_nodes", "a job of chunks says how many there may be on a node: per_node")
    elif len({*said.values()}) > 1:
        low, nodes = said["min_nodes"], said["nodes"]
        check.add(
            f"{place}.min_nodes", f"is {low}, but nodes {nodes}: of a job of chunks both are the fewest"
        )
    return int(next(iter(said.values()), 1))


class Places:
    """Reads where the pieces of an answer lie; what is faulty is noted."""

    def __init__(self, check: Checker, problem: WorkloadProblem) -> None:
        self._check, self._problem = check, problem
        self._ends = [0]
        self._nodes: list[IntArray] = []
        self._chunks: list[IntArray] = []
        self._pairs = 0

    def add(self, place: str, said: int | str) -> int:
        """Take up the next piece, which is on these nodes or on so many; return how many they are."""
        self._ends.append(self._ends[-1])
        if not isinstance(said, str):
            return int(said)
        if not self._problem.node_types:
            self._check.add(place, f"nodes {show(said)} are places, but the problem has no node_types")
            return 0
        try:
            nodes, chunks = self._parsed(said)
        except ValueError as fault:
            self._check.add(place, str(fault))
            return 0
        self._nodes.append(nodes)
        self._chunks.append(chunks)
        self._ends[-1] += len(nodes)
        return len(nodes)

    def columns(self) -> dict[str, IntArray]:
        """Return what `WorkloadSchedule` takes; nothing if no piece says where it lies."""
        if not self._nodes:
            return {}
        return {
            "place_offsets": np.array(self._ends, dtype=np.int64),
            "place_nodes": np.concatenate(self._nodes),
            "place_chunks": np.concatenate(self._chunks),
        }

    def _parsed(self, text: str) -> tuple[IntArray, IntArray]:
        """Return the nodes and the chunks of a text; a ValueError tells what is wrong."""
        nodes: list[IntArray] = []
        chunks: list[IntArray] = []
        for run in text.split(","):
            found = _RUN.fullmatch(run)
            if found is None:
                raise ValueError(f"nodes {show(text)}: {show(run)} is neither nodes nor nodes*chunks")
            first, last, each = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
            if last < first:
                raise ValueError(f"nodes {show(text)}: the run {run} goes downwards")
            if last >= self._problem.num_nodes:
                highest = self._problem.num_nodes - 1
                raise ValueError(f"nodes {show(text)}: node {last} is above the last node {highest}")
            self._pairs += last - first + 1
            if self._pairs > _MOST_PAIRS:
                raise ValueError("pieces lie on more than 2^26 nodes in all")
            nodes.append(np.arange(first, last + 1, dtype=np.int64))
            chunks.append(np.full(last - first + 1, each, dtype=np.int64))
        return np.concatenate(nodes), np.concatenate(chunks)


def places_texts(schedule: WorkloadSchedule) -> list[str]:
    """Return where each piece of a schedule lies; an empty text of one that does not say it."""
    pieces = len(schedule.nodes)
    if schedule.place_offsets is None or schedule.place_nodes is None or schedule.place_chunks is None:
        return [""] * pieces
    nodes, chunks = schedule.place_nodes, schedule.place_chunks
    piece = np.repeat(np.arange(pieces), np.diff(schedule.place_offsets))
    order = np.lexsort((nodes, piece))
    piece, nodes, chunks = piece[order], nodes[order], chunks[order]
    begins = np.ones(len(nodes), dtype=np.bool_)
    begins[1:] = (np.diff(nodes) != 1) | (np.diff(chunks) != 0) | (np.diff(piece) != 0)
    first = np.flatnonzero(begins)
    last = np.append(first, len(nodes))[1:] - 1
    texts: list[list[str]] = [[] for _ in range(pieces)]
    runs = (piece[first], nodes[first], nodes[last], chunks[first])
    for at, low, high, each in zip(*(column.tolist() for column in runs), strict=True):
        run = str(low) if low == high else f"{low}-{high}"
        texts[at].append(run if each == 1 else f"{run}*{each}")
    return [",".join(mine) for mine in texts]


def places_of_rows(rows: Rows, jobs: list[Document]) -> Document:
    """Return the types of nodes that a table of jobs names, and add to the jobs what they hold there."""
    for column in rows.starting(EACH):
        for job, amount in zip(jobs, rows.column(column), strict=True):
            if amount not in {None, 0}:
                job.setdefault("each", {})[column.removeprefix(EACH)] = amount
    for row, job in enumerate(jobs):
        if "types" in job:
            job["types"] = str(job["types"]).split("|")
        if "exclusive" in job:
            job["exclusive"] = rows.flag("exclusive", row, job["exclusive"])
    told = rows.constant("node_types", None)
    if told is None:
        return {}
    try:
        return {"node_types": json.loads(told)}
    except ValueError:
        rows.add(0, f"node_types {show(told)} is not what JSON files have there")
        return {}


def place_columns(problem: WorkloadProblem) -> dict[str, Any]:
    """Return the columns of a table of jobs that say what they hold on places, and what places there are."""
    if not problem.node_types:
        return {}
    chunks, count = problem.jobs.chunks, len(problem.jobs)
    columns: dict[str, Any] = {}
    if len(chunks.count):
        columns["chunks"] = np.where(chunks.count > 0, chunks.count, np.nan)
        columns["per_node"] = np.where(chunks.count > chunks.per_node, chunks.per_node, np.nan)
        columns["exclusive"] = chunks.exclusive.astype(np.int64)
        for name in dict.fromkeys(name for each in chunks.each for name, _ in each):
            columns[EACH + name] = np.array([dict(each).get(name, 0) for each in chunks.each], dtype=np.int64)
    if chunks.types:
        columns["types"] = np.array(["|".join(mine) or None for mine in chunks.types], dtype=object)
    text = json.dumps(type_values(problem)["node_types"], ensure_ascii=False)
    columns["node_types"] = np.full(count, text, dtype=object)
    return columns
