"""Accounting files of PBS, PBS Pro, OpenPBS and Torque: a line for each thing that happens to a job.

::

    03/04/2024 09:00:05;E;501.server;user=ann queue=batch ctime=1709539201 start=1709539205
    exec_host=n1/0+n1/1 Resource_List.nodes=1:ppn=2 Resource_List.walltime=02:00:00 end=1709542805

(in one line). Only the record E is a run, of a job or a task of an array; Q, S, D, A, R and others tell of
what else happened.

Source: the chapters on accounting of the guides of PBS Professional and Torque.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from allocsolve.instances.formats.logs.fields import listed_needs
from allocsolve.instances.formats.logs.held import CHUNKS, EXCLUSIVE, PER_NODE, mebibytes
from allocsolve.instances.formats.logs.lines import BYTE_ORDER_MARK, Dropped, LogRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.instances.formats.logs.lines import LogText

#: Characters of a line; that of a large job names each of its processors.
MAX_LINE: Final = 2**24
_RECORD: Final = re.compile(
    r"(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d)(?:\.\d+)?;([A-Za-z]{1,2});([^;]*);(.*)", re.ASCII | re.DOTALL
)
_TITLES: Final = (
    *("id", "ctime", "start", "end", "resources_used.walltime"),
    *("Resource_List.walltime", "user", "exec_host", "exec_vnode"),
    *(f"Resource_List.{name}" for name in ("nodect", "nodes", "select", "ncpus", "ngpus", "place")),
    *("queue", "etime"),
)
#: What is taken of a record, as it stands there.
_PLAIN: Final = _TITLES[5:]
_NAMES: Final = (*_TITLES[1:], "qtime")
#: Of these no value has a blank.
_VALUE: Final = re.compile(rf"(?:^|\s)({'|'.join(map(re.escape, _NAMES))})=(\S*)")


def begins(first: str) -> bool:
    """Tell whether a line is one of an accounting file."""
    return _RECORD.match(first) is not None


def rows(text: LogText) -> LogRows:
    """Return the runs of an accounting file."""
    return LogRows(_TITLES, _rows(text))


def _rows(text: LogText) -> Iterator[tuple[int, Sequence[str] | Dropped]]:
    server = ""
    for number, line in text.lines(MAX_LINE):
        record = _RECORD.match(line.removeprefix(BYTE_ORDER_MARK))
        if record is None:
            if line.strip():
                yield number, Dropped("faulty", _fault(line))
            continue
        month, day, year, time, kind, name, values = record.groups()
        job, _, of = name.partition(".")
        if kind != "E" or job.endswith("[]"):  # the whole of an array, whose tasks are the runs
            yield number, Dropped("other_records")
            continue
        server = server or of
        if of != server:  # jobs of another server have the same numbers
            job = name
        found = _values(values)
        start, end = found.get("start", ""), found.get("end", f"{year}-{month}-{day}T{time}")
        submit = found.get("ctime") or found.get("qtime") or found.get("etime") or ""
        # A job holds its nodes from start to end; the time used leaves out when it was suspended.
        used = "" if start and start != "0" else found.get("resources_used.walltime", "")
        yield number, [job, submit, start, end, used, *(found.get(key, "") for key in _PLAIN)]


def _fault(line: str) -> str:
    if len(line) >= MAX_LINE:
        return f"{MAX_LINE} characters or more"
    return f"{line[:30]!r} is no record such as 03/04/2024 09:00:05;E;501.server;user=ann ..."


def _values(text: str) -> dict[str, str]:
    """Return the values of a record that are read, by name.

    The name of a job may look like names and values; it stands before those that are read, but for the user.
    """
    found: dict[str, str] = {}
    for name, value in _VALUE.findall(text):
        if name != "user" or name not in found:
            found[name] = value.strip('"')
    return found


_HOST: Final = re.compile(
    # PBS Pro: node/first*processors; Torque: node/processor, or node/0-3,7
    r"([^/\s+]+?)(?:\[\d+\])?(?:/(?:\d{1,9}\*(\d{1,9})|(\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*)))?",
    re.ASCII,
)


def _hosts(text: str) -> Iterator[tuple[str, int]]:
    """Yield the name of a host and a number of processors there, for each part of exec_host."""
    for part in text.split("+"):
        match = _HOST.fullmatch(part)
        if match is None:
            raise ValueError(f"{part[:30]!r} is no node such as n1/0, n1/0-3 or n1/0*4")
        host, processors, numbers = match.groups()
        yield host, int(processors) if processors else sum(map(_size, (numbers or "0").split(",")))


def _size(numbers: str) -> int:
    first, _, last = numbers.partition("-")
    return max(int(last) - int(first) + 1, 0) if last else 1


def hosts_of_exec_host(text: str) -> str:
    """Return how many hosts ``n1/0+n1/1``, ``n1/0-3``, ``n1/0*4`` or ``n1[0]/0*4`` name; empty if unknown."""
    return str(_counted(text)[0]) if text else ""


def slots_of_exec_host(text: str) -> str:
    """Return how many processors exec_host names; see `hosts_of_exec_host`."""
    return str(_counted(text)[1]) if text else ""


@functools.lru_cache(maxsize=1)  # both are asked for, one after the other
def _counted(text: str) -> tuple[int, int]:
    """Return how many hosts and how many processors there are."""
    processors_of: dict[str, int] = {}
    for host, processors in _hosts(text):
        processors_of[host] = processors_of.get(host, 0) + processors
    return len(processors_of), sum(processors_of.values())


def _vnodes(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield host and resources of each part of ``(n1[0]:ncpus=4:mem=2gb+n2:ncpus=4)+(n3:ncpus=1)``."""
    for part in re.split(r"\)\+\(|\+", text.strip()):
        host, *resources = part.strip("()").split(":")
        if not host or any("=" not in resource for resource in resources):
            raise ValueError(f"{part[:30]!r} is no part of a node such as (n1:ncpus=4)")
        yield re.sub(r"\[\d+\]$", "", host), resources


def hosts_of_exec_vnode(text: str) -> str:
    """Return how many hosts ``(n1[0]:ncpus=4)+(n2:ncpus=4)`` names; empty if unknown."""
    return str(len({host for host, _ in _vnodes(text)})) if text else ""


def node_names(exec_vnode: str, exec_host: str) -> str:
    """Return the hosts of exec_vnode, or of exec_host without it, as a hostlist; empty if unknown."""
    hosts = _vnodes(exec_vnode) if exec_vnode else _hosts(exec_host) if exec_host else ()
    return ",".join(dict.fromkeys(host for host, _ in hosts))


def sum_of_exec_vnode(name: str, text: str) -> str:
    """Return the sum of a resource, such as ncpus, over all parts of exec_vnode; empty if it is not named."""
    if not text:
        return ""
    counts = [
        _number(resource) for _, resources in _vnodes(text) for resource in resources if _is(resource, name)
    ]
    return str(sum(counts)) if counts else ""


#: Of what a part has one unless it says so; the part itself has no name.
_PROCESSORS: Final = frozenset({"", "ppn", "ncpus"})


def chunks(name: str, text: str) -> str:
    """Return what ``2:ncpus=16+1:ncpus=8`` or ``2:ppn=4+n07:ppn=2`` asks for.

    The text is chunks of Resource_List.select, or nodes of Resource_List.nodes, with ``#`` and flags behind.
    The sum of the named resource is returned, empty if it is not named there; without a name the number of
    nodes. Where a part names its processors, one that does not has one.
    """
    if not text:
        return ""
    total, is_named = 0, not name
    unsaid = 1 if name in _PROCESSORS else 0
    for chunk in text.partition("#")[0].split("+"):
        first, *resources = chunk.split(":")
        count = 1
        if first.isascii() and first.isdigit() and len(first) < 10:
            count = int(first)
        else:
            resources.insert(0, first)
        if not chunk or first.startswith("-"):
            raise ValueError(f"{text[:30]!r} is no list such as 2:ncpus=16")
        each = [_number(resource) for resource in resources if name and _is(resource, name)]
        is_named = is_named or bool(each)
        total += count * (each[0] if each else unsaid)
    return str(total) if is_named else ""


#: What nodes have, as their resources are called here.
_AMOUNTS: Final = {"ncpus": "cpus", "ngpus": "gpus", "mem": "mem"}


def held_chunks(select: str, place: str, exec_vnode: str) -> str:
    """Return the chunks of a job, such as ``chunks=8,per_node=1,cpus=36`` for ``8:ncpus=36``, ``scatter``.

    Of several kinds of chunk, or nodes by name, the sums of exec_vnode are returned, which are those of all
    nodes of the job. With ``pack`` all is one chunk.
    """
    said = {EXCLUSIVE: 1} if re.search(r"\bexcl(?:host)?\b", place) else {}
    kinds = select.split("+")
    count, *resources = kinds[0].split(":")
    if len(kinds) == 1 and re.fullmatch(r"[1-9]\d{0,8}", count, re.ASCII):
        each = {"cpus": 1} | _amounts(resources)
        packed = int(count) if re.search(r"\bpack\b", place) else 1
        each = {name: amount * packed for name, amount in each.items()}
        per_node = {PER_NODE: 1} if re.search(r"\bv?scatter\b", place) else {}
        return listed_needs({CHUNKS: int(count) // packed, **per_node, **said, **each})
    if not exec_vnode:
        return ""
    total: dict[str, int] = {}
    for _, held in _vnodes(exec_vnode):
        for name, amount in _amounts(held).items():
            total[name] = total.get(name, 0) + amount
    return listed_needs({**said, **total}) if total else ""


def _amounts(resources: Sequence[str]) -> dict[str, int]:
    """Return what resources such as ``ncpus=4`` and ``mem=2gb`` say of what nodes have."""
    found = {}
    for resource in resources:
        name, _, value = resource.partition("=")
        if name in _AMOUNTS:
            found[_AMOUNTS[name]] = mebibytes(value, plain="b") if name == "mem" else _number(resource)
    return found


def _is(resource: str, name: str) -> bool:
    return resource.partition("=")[0] == name


def _number(resource: str) -> int:
    text = resource.partition("=")[2]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"{resource[:30]!r} is no number")
    return int(text)
