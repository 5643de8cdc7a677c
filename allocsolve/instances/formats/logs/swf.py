"""The job lines of a log in the Standard Workload Format (version 2.2).

The format and the archive: Feitelson, Tsafrir & Krakov, "Experience with using the Parallel Workloads
Archive", JPDC 74, 2014.
"""

from __future__ import annotations

import math
import re
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances.formats.logs.fields import PLAIN, FieldColumns, FieldTexts, LogFields
from allocsolve.instances.formats.logs.held import place_columns
from allocsolve.instances.formats.logs.lines import MAX_JOBS, MAX_LINE, Faults, read_text
from allocsolve.instances.formats.logs.log import (
    SWF_UNITS,
    LogColumns,
    LogOptions,
    MachineSize,
    cleaned,
)
from allocsolve.instances.formats.logs.tables import refusal
from allocsolve.model import MAX_INTEGER
from allocsolve.model.checks import choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.instances.formats.files import PathLike
    from allocsolve.instances.formats.logs.lines import LogText
    from allocsolve.instances.formats.logs.log import JobLog
    from allocsolve.instances.formats.logs.site_nodes import SiteNodes
    from allocsolve.model import FloatArray

#: The fields that are read, by their number in the format.
FIELDS: Final = {
    1: "job number",
    2: "submit",
    3: "wait",
    4: "run",
    5: "allocated",
    8: "requested",
    9: "requested time",
    11: "status",
    12: "user",
}
#: Fields that hold a job back and that no option names: those above 0 are counted.
LEFT_OUT: Final = {10: "requested memory", 17: "dependency", 18: "think time"}
#: The field that is read if it is asked for.
_PARTITION: Final = 16
_NUM_FIELDS: Final = 18
_WHOLE: Final = (1, 5, 8, 11, 12)
_NOT_NEGATIVE: Final = (1, 2)  # elsewhere a negative value means "unknown"
#: Nodes and processors of each, at the end of the description that logs of Frontier have as field 21.
_SHAPE: Final = re.compile(r"(\d{1,9})x(\d{1,9})$", re.ASCII)
_COLUMNS: Final = len(FIELDS) + 3
#: Comments below this line tell nothing of the log.
_HEADER_LINES: Final = 1000
#: Integers of more digits are beyond 2^53, or have leading zeros that a double forgets as well.
_DIGITS: Final = 20
_KEY: Final = re.compile(r";+\s*([A-Za-z]\w*)\s*:(?!//)\s*(.*)")
_CANCELLED: Final = 5
_PARTIAL: Final = (2, 3, 4)


class SwfLines(NamedTuple):
    """What the lines of a log say."""

    header: Mapping[str, str]  #: comments by key; a key on several lines has a value of several lines
    fields: Mapping[int, FloatArray]  #: of each of `FIELDS` a column, one row a job line that can be read
    #: Nodes, and processors of each, as field 21 tells them; 0 where it does not.
    shape_nodes: FloatArray
    shape_procs: FloatArray
    left_out: FloatArray  #: a bit for each of `LEFT_OUT` that a line tells, the first one is 1
    more_fields: int  #: how many lines have more than 18
    faults: Faults
    partitions: array[float]  #: field 16 of each job line, if it was asked for


def read_swf_lines(path: PathLike, *, partitions: bool = False) -> tuple[SwfLines, str]:
    """Read a log line by line; a file named ``.gz`` is unpacked on the way.

    A line of 10,000 characters or more is faulty, so is one without 18 numbers or with an impossible one;
    fields after the eighteenth are allowed, as some logs have them. Of comments, those in the first 1000
    lines are kept. O(characters). Raises `FormatError` if the file cannot be read or unpacked, or has more
    than 2^29 characters or 4,000,000 jobs. Field 16 is read if `partitions` are asked for. Returns the lines,
    and the SHA-256 of the file.
    """
    return read_text(path, lambda text: _parsed(text, partitions=partitions))


def _parsed(text: LogText, *, partitions: bool) -> SwfLines:
    if (fault := refusal(text.head, "swf")) is not None:
        raise FormatError(text.source, [fault])
    header: dict[str, list[str]] = {}
    jobs = array("d")
    sixteenth = array("d")
    faults = Faults()
    more_fields = 0
    for number, line in text.lines():
        job = line.strip() if len(line) < MAX_LINE else line
        if job.startswith(";"):
            if (match := _KEY.match(job)) and number <= _HEADER_LINES:
                header.setdefault(match[1], []).append(match[2])
        elif job:
            words = job.split()
            try:
                values = _values(job, words)
            except ValueError as fault:
                faults.add(number, fault)
                continue
            jobs.extend([values[idx - 1] for idx in FIELDS])
            if partitions:
                sixteenth.append(values[_PARTITION - 1])
            more_fields += len(words) > _NUM_FIELDS
            shape = _SHAPE.search(words[20]) if len(words) > 20 else None
            jobs.extend((int(shape[1]), int(shape[2])) if shape else (0, 0))
            jobs.append(sum(1 << bit for bit, idx in enumerate(LEFT_OUT) if values[idx - 1] > 0))
            if len(jobs) > MAX_JOBS * _COLUMNS:
                raise FormatError(text.source, [f"has more than {MAX_JOBS} jobs: cut it before"])
    table = np.frombuffer(jobs, dtype=np.float64).reshape(-1, _COLUMNS).T
    texts = {key: "\n".join(values) for key, values in header.items()}
    fields = dict(zip(FIELDS, table, strict=False))
    return SwfLines(texts, fields, table[-3], table[-2], table[-1], more_fields, faults, sixteenth)


def _values(text: str, words: list[str]) -> list[float]:
    """Return the 18 numbers of a line; one that is garbled anywhere, in unused fields too, is not trusted."""
    if len(text) < MAX_LINE and len(words) >= _NUM_FIELDS and "_" not in text:
        try:
            values = list(map(float, words[:_NUM_FIELDS]))
        except ValueError:
            return _checked(text, words)
        if (
            math.isfinite(sum(values))
            and max(values) < MAX_INTEGER
            and min(values) > -MAX_INTEGER
            and values[0] >= 0
            and values[1] >= 0
            and not (values[0] % 1 or values[4] % 1 or values[7] % 1 or values[10] % 1 or values[11] % 1)
        ):
            return values
    return _checked(text, words)


def _checked(text: str, words: list[str]) -> list[float]:
    """Return the numbers of a line, or tell the first thing that is wrong with it."""
    if len(text) >= MAX_LINE:
        raise ValueError(f"{MAX_LINE} characters or more")
    if len(words) < _NUM_FIELDS:
        raise ValueError(f"{len(words)} fields instead of {_NUM_FIELDS}")
    values = [_number(word) for word in words[:_NUM_FIELDS]]
    for idx, value in enumerate(values, 1):
        fault = ""
        if math.isnan(value):
            fault = "is not a number"
        elif abs(value) > MAX_INTEGER:
            fault = "is beyond 2^53"
        elif value < 0 and idx in _NOT_NEGATIVE:
            fault = "is below 0"
        elif idx in _WHOLE and value % 1:
            fault = "is not whole"
        if fault:
            raise ValueError(f"field {idx} ({FIELDS.get(idx, 'not used')}) {words[idx - 1][:20]!r} {fault}")
    return values


def _number(word: str) -> float:
    """Return NaN for what is no number; Python's own ``1_000`` is none."""
    if "_" in word:
        return math.nan
    try:
        return int(word) if len(word) <= _DIGITS else float(word)
    except ValueError:
        try:
            return float(word)
        except ValueError:
            return math.nan


def header_size(header: Mapping[str, str], key: str) -> int | None:
    """Return the number of a line of the header such as ``MaxProcs``, which text may follow."""
    match = re.search(r"-?\d+", header.get(key, ""))
    if match and 1 <= (size := int(match[0][:17])) <= MAX_INTEGER:
        return size
    return None


def read_swf_log(
    path: PathLike,
    *,
    num_nodes: int | None = None,
    unit: str | None = None,
    limits: str = "at-least-run",
    fields: LogFields = PLAIN,
) -> JobLog:
    """Read the jobs of a log in the Standard Workload Format.

    Sizes are the allocated ones (field 5), the requested ones (field 8) where those are unknown. They count
    processors; they are turned into nodes where the header has MaxProcs a multiple of MaxNodes and all
    sizes are multiples of that. Where field 21 tells nodes (``...:2500x112``, logs of Frontier), those are
    taken.

    Parameters
    ----------
    path
        The file; gzipped if its name ends in ``.gz``.
    num_nodes
        Size of the machine, in the unit; by default that of the header.
    unit
        ``nodes`` or ``processors``: of what sizes are numbers. Nodes that are taken in part count as whole
        ones.
    limits
        See `LogOptions`.
    fields
        What is read beside plain jobs: of this format partitions, by their number (field 16). Where nodes are
        places, jobs lie on as few of them as the largest ones allow, with equal parts of their processors.

    Raises
    ------
    FormatError
        If the file cannot be read, is too large, or nothing tells the size of the machine.
    InvalidOption
        If an option is out of range, something is asked for that the format does not tell, or the
        header does not tell the processors of a node where `unit` needs them.
    """
    options = LogOptions(num_nodes, unit, limits, fields)
    if (option := fields.missing({"partition": True})) is not None:
        raise InvalidOption(f"{option}: the Standard Workload Format does not tell it")
    if unit is not None:
        choice("unit", unit, SWF_UNITS)
    lines, sha256 = read_swf_lines(path, partitions=fields.asks("partition"))
    asked = _asked(lines, fields)
    of_line = lines.fields
    allocated, requested = of_line[5], of_line[8]
    processors = np.where(allocated > 0, allocated, requested)
    if fields.site.types:
        sizes, machine = _on_nodes(processors, fields.site)
        nothing = [None] * len(sizes)
        held = place_columns(fields.site, sizes, processors, nothing, nothing, nothing)
        asked = asked._replace(fields=fields, texts=asked.texts or FieldTexts(), places=held)
    else:
        sizes, machine = _sizes(lines, processors, options)
    starts = np.where(of_line[3] >= 0, of_line[2] + of_line[3], np.nan)
    columns = LogColumns(
        names=[str(int(number)) for number in of_line[1].tolist()],
        submits=of_line[2],
        starts=starts,
        ends=starts + of_line[4],
        runs=of_line[4],
        nodes=sizes,
        limits=np.where(of_line[9] > 0, of_line[9], np.nan),
        users=[str(int(user)) if user >= 0 else None for user in of_line[12].tolist()],
        cancelled=of_line[11] == _CANCELLED,
        repeats=_partial(of_line),
        asked=asked,
    )
    changed = {
        "requested_size": (allocated <= 0) & (lines.shape_nodes == 0),
        "part_of_a_node": sizes * machine.per_node > processors
        if machine.per_node > 1
        else np.zeros(len(sizes), dtype=bool),
    }
    per_node = _per_node(lines) if machine.unit == "processors" else 0
    epoch = header_size(lines.header, "UnixStartTime")
    return cleaned(
        columns,
        machine,
        options,
        path=path,
        sha256=sha256,
        header=lines.header,
        epoch=epoch,
        faults=lines.faults,
        changed=changed,
        unusual={"more_fields": lines.more_fields},
        sharing=sizes % per_node > 0 if per_node > 1 else None,
        per_node=_per_node(lines),
    )


def _on_nodes(processors: FloatArray, site: SiteNodes) -> tuple[FloatArray, MachineSize]:
    """Return on how many nodes jobs lie where nodes are places: as few as the largest ones allow."""
    most = max(dict(kind.has).get("cpus", 0) for kind in site.types)
    if not most:
        raise InvalidOption("--node-types: this format tells processors, and no node has any")
    return np.ceil(processors / most), MachineSize.of_site(site)


def _asked(lines: SwfLines, fields: LogFields) -> FieldColumns:
    """Return the partitions of the job lines if they are asked for, and what of them is left out."""
    bits = lines.left_out.astype(np.int64)
    left_out = {name: bits >> bit & 1 > 0 for bit, name in enumerate(LEFT_OUT.values())}
    if not fields.asks("partition"):
        return FieldColumns(left_out=left_out)
    texts = FieldTexts()
    found = [float(texts.partition(f"{number:.15g}")) if number >= 0 else -1.0 for number in lines.partitions]
    return FieldColumns(fields, texts, partition=np.array(found), left_out=left_out)


def _partial(fields: Mapping[int, FloatArray]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell which lines are parts of a job that has a line of its own, which sums them up."""
    partial = np.isin(fields[11], _PARTIAL)
    return partial & np.isin(fields[1], fields[1][~partial])


def _per_node(lines: SwfLines) -> int:
    """Return the processors of a node as the header tells them, 0 if it does not."""
    max_procs, max_nodes = (header_size(lines.header, key) for key in ("MaxProcs", "MaxNodes"))
    return max_procs // max_nodes if max_procs and max_nodes and max_procs % max_nodes == 0 else 0


def _sizes(lines: SwfLines, procs: FloatArray, options: LogOptions) -> tuple[FloatArray, MachineSize]:
    """Return the sizes of jobs in the unit that is taken, and the machine."""
    max_procs, max_nodes = (header_size(lines.header, key) for key in ("MaxProcs", "MaxNodes"))
    unit, given = options.unit, options.num_nodes
    shaped = lines.shape_nodes > 0
    if shaped.any():
        unit = unit or "nodes"
        shape = lines.shape_nodes * (1 if unit == "nodes" else lines.shape_procs)
        size = given or (max_nodes if unit == "nodes" else max_procs)
        source = "given" if given else f"Max{'Nodes' if unit == 'nodes' else 'Procs'} of the header"
        return np.where(shaped, shape, procs), MachineSize(size, unit, f"sizes of field 21, {source}")
    per_node = _per_node(lines)
    if unit is None:
        whole = per_node and not (procs[procs > 0] % per_node).any()
        unit = "nodes" if whole and (given is None or given <= (max_nodes or 0)) else "processors"
    if unit == "nodes" and max_procs and not per_node:
        msg = f"unit nodes: MaxProcs {max_procs} of the header is no multiple of MaxNodes {max_nodes}"
        raise InvalidOption(msg)
    if unit == "nodes" and per_node:
        source = "given" if given else "MaxNodes of the header"
        how = f"{source}; {per_node} processors each" if per_node > 1 else source
        return np.ceil(procs / per_node), MachineSize(given or max_nodes, unit, how, per_node)
    if given or max_procs:
        source = "given" if given else "MaxProcs of the header"
        return procs, MachineSize(given or max_procs, unit, source)
    return procs, MachineSize(max_nodes, "nodes", "MaxNodes of the header")
