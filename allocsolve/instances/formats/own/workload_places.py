"""What workloads say of nodes that are places, what jobs hold there, and where answers put them.

All of it is left out where nodes are counted. In tables of jobs there are columns ``each_gpus`` instead of
``each``, types are separated by ``|``, and ``node_types`` is the field of the JSON file in each row. A piece
of an answer has the text ``3-6,9*2`` instead of a number of nodes: a chunk on each of the nodes 3 to 6, two
on node 9.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.instances.formats.files import show
from allocsolve.model import NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.instances.formats.files import Checker, Document
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import IntArray, WorkloadProblem, WorkloadSchedule

#: The beginning of columns of tables: how much a chunk takes.
EACH: Final = "each_"

#: A node or a run of nodes, and how many chunks each has.
_RUN: Final = re.compile(r"(\d{1,16})(?:-(\d{1,16}))?(?:\*(\d{1,16}))?", re.ASCII)

#: The most pairs of a piece and a node that are read.
_MOST_PAIRS: Final = 2**26

#: The types of the values of fields of jobs.
_SOUND: Final[dict[str, set[type]]] = {
    "chunks": {int, type(None)},
    "each": {dict, type(None)},
    "per_node": {int, type(None)},
    "exclusive": {bool, type(None)},
    "types": {list, type(None)},
}


def types_of(check: Checker, listed: list[Document]) -> list[NodeType]:
    """Return the types of nodes; those that contradict themselves are noted."""
    types = []
    for idx, fields in enumerate(listed):
        try:
            types.append(NodeType(**fields))
        except InvalidProblem as error:
            check.add(f"node_types[{idx}]", str(error))
    return types


def type_values(problem: WorkloadProblem) -> Document:
    """Return the field of the types of nodes; none if nodes are counted."""
    names = ("name", "count", "has", "weight", "names")
    rows = [{name: getattr(each, name) for name in names} for each in problem.node_types]
    for row in rows:
        row |= {"has": dict(row["has"]), "names": list(row["names"])}
    return {"node_types": rows} if rows else {}


def chunk_columns(listed: Sequence[Document]) -> dict[str, Any] | None:
    """Return columns of what jobs hold on places, as `Jobs` takes them; None if there may be a fault."""
    columns = {name: [job.get(name) for job in listed] for name in _SOUND}
    amounts = {type(amount) for each in columns["each"] if type(each) is dict for amount in each.values()}
    if amounts - {int} or any({*map(type, column)} - _SOUND[name] for name, column in columns.items()):
        return None
    return {**columns, "exclusive": [bool(alone) for alone in columns["exclusive"]]}


def placed(
    check: Checker, problem: WorkloadProblem, said: Sequence[tuple[str, Any]]
) -> tuple[list[int], dict[str, IntArray]]:
    """Return on how many nodes each piece is, and on which, as `WorkloadSchedule` takes it.

    Each piece has a place for messages, and a number of nodes or a text; faults are noted.
    """
    offsets, runs, counts = [0], [], []
    for place, nodes in said:
        offsets.append(offsets[-1])
        counts.append(nodes)
        if isinstance(nodes, str):
            try:
                mine = _runs(nodes, problem.num_nodes if problem.node_types else 0)
            except ValueError as fault:
                check.add(place, f"nodes {show(nodes)}: {fault}")
                continue
            runs += mine
            counts[-1] = sum(last - first + 1 for first, last, _ in mine)
            offsets[-1] += counts[-1]
        if offsets[-1] > _MOST_PAIRS:
            check.add("jobs", "lie on more than 2^26 nodes in all")
            return [], {}
    lengths = [last - first + 1 for first, last, _ in runs]
    where = {
        "place_offsets": np.array(offsets, dtype=np.int64),
        "place_nodes": np.concatenate([np.arange(first, last + 1) for first, last, _ in runs])
        if runs
        else np.empty(0, dtype=np.int64),
        "place_chunks": np.repeat(np.array([each for *_, each in runs], dtype=np.int64), lengths),
    }
    return counts, where


def _runs(text: str, num_nodes: int) -> list[tuple[int, int, int]]:
    """Return first and last node of each run, and the chunks on each; a ValueError tells what is wrong."""
    if not num_nodes:
        raise ValueError("are places, but the problem has no node_types")
    runs = []
    for run in text.split(","):
        found = _RUN.fullmatch(run)
        if found is None:
            raise ValueError(f"{show(run)} is neither nodes nor nodes*chunks")
        first, last, each = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        if not first <= last < num_nodes:
            raise ValueError(f"{show(run)} does not rise within 0..{num_nodes - 1}")
        runs.append((first, last, each))
    return runs


def ids_of(text: str, num_nodes: int) -> list[int]:
    """Return the ids of nodes that a text such as ``0-3,9`` says; a ValueError tells what is wrong."""
    runs = _runs(text, num_nodes)
    if "*" in text:
        raise ValueError("says chunks")
    return [node for first, last, _ in runs for node in range(first, last + 1)]


def ids_text(ids: Sequence[int]) -> str:
    """Return rising ids of nodes as such a text."""
    cuts = [0, *(at for at in range(1, len(ids)) if ids[at] != ids[at - 1] + 1), len(ids)]
    runs = [(ids[first], ids[last - 1]) for first, last in itertools.pairwise(cuts)]
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


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
    rows = [shape.fields() for shape in problem.jobs.shapes]
    columns: dict[str, Any] = {
        name: np.array([row.get(name, np.nan) for row in rows])
        for name in ("chunks", "per_node", "exclusive")
        if any(name in row for row in rows)
    }
    for name in sorted({name for row in rows for name in row.get("each", ())}):
        columns[EACH + name] = np.array([row.get("each", {}).get(name, 0) for row in rows], dtype=np.int64)
    if any("types" in row for row in rows):
        columns["types"] = np.array(["|".join(row.get("types", ())) or None for row in rows], dtype=object)
    text = json.dumps(type_values(problem)["node_types"], ensure_ascii=False)
    return {**columns, "node_types": np.full(len(problem.jobs), text, dtype=object)}
