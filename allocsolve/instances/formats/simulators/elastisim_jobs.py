"""Workloads of ElastiSim as they are read: jobs, the models of their applications, the size of the machine.

A job runs as long as its tasks compute and idle. Where its run times on all its sizes follow one of the laws
of `allocsolve.model`, it gets that law, else a table of its run times.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import FormatError, InvalidOption, InvalidProblem
from allocsolve.instances.formats.files import Checker, load, read_input, show
from allocsolve.instances.formats.schema import (
    amounts,
    listing,
    maybe,
    open_record,
    read_fields,
    read_value,
    real,
    text,
    whole,
)
from allocsolve.instances.formats.simulators.elastisim import (
    NODE_FLOPS,
    Application,
    as_texts,
    read_application,
)
from allocsolve.instances.formats.simulators.foreign import ReadWorkload, Unheld
from allocsolve.model import (
    MAX_INTEGER,
    Amdahl,
    Job,
    Overhead,
    PowerLaw,
    Requests,
    SpeedupTable,
    Stall,
    WorkloadProblem,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from allocsolve.instances.formats.files import Document, PathLike
    from allocsolve.model import Speedup

_TYPES: Final = ("rigid", "moldable", "malleable", "evolving", "adaptive")
_TEXTS: Final = maybe(amounts({"type": ["string", "number"]}, ""), {})
_REQUIRED: Final[Mapping[str, Document]] = {
    "type": text(f"one of {', '.join(_TYPES)}", pattern=f"^(?i:{'|'.join(_TYPES)})$"),
    "submit_time": real(0),
    "application_model": text(),
}
_OPTIONAL: Final[Mapping[str, Document]] = {
    "walltime": {"type": ["integer", "null"], "minimum": 0, "maximum": MAX_INTEGER},  # 0: there is none
    "arguments": _TEXTS,
    "attributes": _TEXTS,
}
#: A law may differ from the run times by this part of them.
_CLOSE: Final = 1e-9
#: Sizes at which a law is compared, and rows that a table has at most.
_MOST_SAMPLES, _MOST_ROWS = 64, 1024
_LAWS: Final[tuple[tuple[str, type[Any]], ...]] = (
    ("parallel_percentage", Amdahl),
    ("overhead", Overhead),
    ("alpha", PowerLaw),
)
_UNITS: Final = {"": 1e0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SPEED: Final = re.compile(r"(\d+\.?\d*(?:[eE][-+]?\d+)?)\s*([kMGTP]?)f", re.ASCII)
_ADAPTIVE: Final = "adaptive jobs, read as malleable ones that ask for nothing"


def read_elastisim(path: PathLike, *, num_nodes: int | None = None) -> ReadWorkload:
    """Read the jobs of ElastiSim, with the application models and the platform beside them.

    Parameters
    ----------
    path
        ``jobs.json``, or the folder that it is in. Models are looked for by the path that a job names, from
        the folder and from the present one, and by their last names in the folder.
    num_nodes
        Nodes of the machine; None for those of ``platform.xml`` in the folder.

    Returns
    -------
    ReadWorkload
        The problem: run times are those on ``num_nodes_pref`` nodes (an argument), else on the most.

    Raises
    ------
    FormatError
        If a file cannot be read or is faulty, or nothing tells the number of nodes: every faulty job is
        named.
    """
    file = Path(path) / "jobs.json" if Path(path).is_dir() else Path(path)
    document = load(file)
    document = read_fields(document, open_record({"jobs": listing({})}, ("jobs",)), str(file))
    unheld, check = Unheld(), Checker()
    nodes, flops = _platform(file.parent / "platform.xml", str(file), num_nodes, unheld)
    models = _Models(file.parent)
    jobs = [
        _job(check, item, f"jobs[{idx}]", (idx, nodes, flops), models, unheld)
        for idx, item in enumerate(document["jobs"])
    ]
    name = document.get("name", "")
    check.finish(str(file))
    try:
        problem = WorkloadProblem(nodes, [job for job in jobs if job], name if isinstance(name, str) else "")
    except InvalidProblem as error:
        raise FormatError(str(file), [str(error)]) from error
    return ReadWorkload(problem, unheld)


class _Models:
    """The application models by the paths that jobs name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._models: dict[str, Document | str] = {}

    def of(self, path: str) -> Document:
        if path not in self._models:
            self._models[path] = self._read(path)
        model = self._models[path]
        if isinstance(model, str):
            raise InvalidOption(model)
        return model

    def _read(self, path: str) -> Document | str:
        choices = (self._folder / path, Path(path), self._folder / Path(path).name)
        model_file = next((file for file in choices if file.is_file()), None)
        if model_file is None:
            return f"there is no file {show(path)} in {self._folder} or here"
        try:
            return load(model_file)
        except FormatError as error:
            return f"{model_file.name}: {error.faults[0]}"


def _platform(file: Path, source: str, num_nodes: int | None, unheld: Unheld) -> tuple[int, float]:
    """Return nodes and operations a second of each."""
    count, flops = 0, NODE_FLOPS
    if file.is_file():
        text = read_input(file).decode("utf-8", errors="replace")
        for tag in re.findall(r"<cluster\b[^>]*>", text):
            count += _radical(_attribute(tag, "radical"), str(file))
            if speed := _SPEED.fullmatch(_attribute(tag, "speed")):
                flops = float(speed[1]) * _UNITS[speed[2]]
        for tag, inside in re.findall(r"(<host\b[^>]*?)(?:/>|>(.*?)</host>)", text, re.DOTALL):
            if not re.search(r'"(batch_system|pfs_host)"\s+value="true"', inside):
                count += 1
                if speed := _SPEED.fullmatch(_attribute(tag, "speed")):
                    flops = float(speed[1]) * _UNITS[speed[2]]
    else:
        unheld.add(f"no platform.xml: hosts are taken to do {NODE_FLOPS:g} operations a second")
    nodes = num_nodes or count
    if not 1 <= nodes <= MAX_INTEGER or not 0 < flops < math.inf:
        raise FormatError(source, ["nothing tells the number of nodes (no platform.xml with hosts): give it"])
    return nodes, flops


def _attribute(tag: str, name: str) -> str:
    match = re.search(rf"""\b{name}\s*=\s*["']([^"']*)["']""", tag)
    return match[1].strip() if match else ""


def _radical(text: str, source: str) -> int:
    """Return how many hosts a set of numbers such as 0-99,200 has."""
    count = 0
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,15})(?:-(\d{1,15}))?\s*", part)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise FormatError(source, [f"radical {show(text)} is no set of numbers such as 0-99"])
        count += int(match[2] or match[1]) - int(match[1]) + 1
    return count


def _job(
    check: Checker, item: object, place: str, context: tuple[int, int, float], models: _Models, unheld: Unheld
) -> Job | None:
    """Return a job; None if it has a fault, which is noted."""
    idx, machine, flops = context
    before = len(check.faults)
    kind = str(item.get("type")).lower() if isinstance(item, dict) else ""
    sizes = ("num_nodes",) if kind == "rigid" else ("num_nodes_min", "num_nodes_max")
    required = {**_REQUIRED, **dict.fromkeys(sizes, whole(1))}
    fields = read_value(check, item, open_record({**required, **_OPTIONAL}, required), place, {})
    if len(check.faults) > before:
        return None
    for size in sizes:
        if fields[size] > machine:
            check.add(f"{place}.{size}", f"{fields[size]} is above num_nodes {machine}")
    submit, low, high = fields["submit_time"], fields[sizes[0]], fields[sizes[-1]]
    arguments, attributes = (as_texts(fields[name] or {}) for name in ("arguments", "attributes"))
    name, walltime = fields["application_model"], fields.get("walltime") or None
    preferred = _number(
        check, arguments.get("num_nodes_pref", str(high)), f"{place}.arguments.num_nodes_pref"
    )
    weight = _number(check, attributes.get("weight", "1"), f"{place}.attributes.weight")
    exact = _number(check, attributes.get("limit", "0"), f"{place}.attributes.limit")
    if low > high:
        check.add(place, f"num_nodes_min {low} is above num_nodes_max {high}")
    elif not (float(preferred).is_integer() and low <= preferred <= high):
        check.add(f"{place}.arguments.num_nodes_pref", f"{preferred:g} is not in {low}..{high}")
    if len(check.faults) > before:
        return None
    nodes = low if kind == "rigid" else int(preferred)
    plain: dict[str, Any] = {"name": attributes.get("name") or f"j{idx}", "user": attributes.get("user")}
    plain["limit"] = exact if walltime is not None and math.ceil(exact) == walltime else walltime
    try:
        limits = {"num_nodes_min": low, "num_nodes_max": high}
        application = read_application(models.of(name), arguments, limits, flops)
        runtime = float(application.seconds(nodes))
        if not 0 < runtime <= MAX_INTEGER:
            _no_run_time(application, runtime)
        elastic = _elastic(kind, application, (low, nodes, high), arguments, attributes, unheld)
        job = Job(submit, nodes, runtime, weight=weight, **plain, **elastic)
        WorkloadProblem(machine, [job])
    except (InvalidOption, InvalidProblem, OverflowError) as error:
        reason = str(error)
        check.add(place, reason if isinstance(error, InvalidProblem) else f"{show(name)}: {reason}")
        return None
    for what in sorted(application.passed_over):
        unheld.add(f"jobs of which {what} is passed over: it takes time in ElastiSim only")
    for extra in sorted({*attributes} - {"name", "user", "weight", "limit", "size_set", "sizes"}):
        unheld.add(f"jobs with the attribute {show(extra)}")
    return job


def _no_run_time(application: Application, runtime: float) -> None:
    passed = f" without {', '.join(sorted(application.passed_over))}" if application.passed_over else ""
    raise InvalidOption(f"a job of {runtime:g} s{passed} has no run time of its own")


def _number(check: Checker, text: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MAX_INTEGER:
        check.add(place, f"must be a number in 0..2^53, not {show(text)}")
        return 1
    return int(value) if value.is_integer() else value


def _elastic(
    kind: str,
    application: Application,
    sizes: tuple[int, int, int],
    arguments: Mapping[str, str],
    attributes: Mapping[str, str],
    unheld: Unheld,
) -> dict[str, Any]:
    """Return the fields of a job that is not rigid."""
    low, nodes, high = sizes
    if kind == "rigid":
        return {}
    listed = _listed(attributes, low, high)
    law = _law(application.seconds, sizes, arguments, listed)
    fields: dict[str, Any] = {"kind": kind, "min_nodes": low, "max_nodes": high, "speedup": law}
    size_set = attributes.get("size_set")
    if size_set and not isinstance(law, SpeedupTable):
        fields["size_set"] = int(size_set) if size_set.isdigit() else size_set
    if kind == "evolving":
        requests = _requests(application, nodes, unheld)
        fields["evolution"] = requests
        if requests is None:
            unheld.add("evolving jobs that never ask for other sizes, read as moldable")
            fields["kind"] = "moldable"
    elif kind in ("malleable", "adaptive"):
        fields["kind"] = "malleable"
        fields["points"] = _points(application, nodes, unheld)
        unheld.add(_ADAPTIVE, kind == "adaptive")
    if application.stall and fields["kind"] != "moldable":
        fields["reconfiguration"] = Stall(fixed=float(application.stall))
    return fields


def _listed(attributes: Mapping[str, str], low: int, high: int) -> list[int]:
    """Return the sizes of a table, if the job tells them."""
    words = attributes.get("sizes", "").split()
    if not all(word.isdigit() and len(word) < 16 for word in words):
        raise InvalidOption(f"attributes.sizes {show(attributes['sizes'])} are no numbers")
    return sorted({int(word) for word in words if low <= int(word) <= high})


def _law(
    seconds: Callable[[int], Fraction],
    sizes: tuple[int, int, int],
    arguments: Mapping[str, str],
    listed: list[int],
) -> Speedup:
    """Return the law that run times follow: one of which the parameter is an argument, else one that fits."""
    low, nodes, high = sizes
    if not listed:
        step = max((high - low) // _MOST_SAMPLES, 1)
        samples = sorted({*range(low, high, step), nodes, high})
        times = {size: float(seconds(size)) for size in samples}
        laws: tuple[Amdahl | PowerLaw | Overhead, ...] = (*_of_arguments(arguments), *_fitted(times))
        for law in laws:
            ratios = ((times[size], times[nodes] * law.time_ratio(size, nodes)) for size in samples)
            if all(abs(true - stated) <= _CLOSE * true for true, stated in ratios):
                return law
        listed = [*range(low, high + 1)]
    if len(listed) > _MOST_ROWS:
        msg = f"run times on {len(listed)} sizes follow no law, and a table may have at most {_MOST_ROWS}"
        raise InvalidOption(msg)
    return SpeedupTable([(size, float(seconds(size))) for size in listed])


def _of_arguments(arguments: Mapping[str, str]) -> Iterator[Any]:
    for name, law in _LAWS:
        try:
            yield law(float(arguments[name]))
        except (KeyError, ValueError):  # there is none, or it is not that of a law
            continue


def _fitted(times: Mapping[int, float]) -> Iterator[Any]:
    """Yield the laws of Amdahl and of powers through the first and the last of some run times."""
    low, high = min(times), max(times)
    if low == high or min(times.values()) <= 0:
        return
    divided = (times[low] - times[high]) / (1 / low - 1 / high)
    total = times[low] + divided * (1 - 1 / low)
    exponent = math.log(times[low] / times[high]) / math.log(high / low)
    for law, parameter in ((Amdahl, divided / total if total > 0 else -1), (PowerLaw, exponent)):
        if -_CLOSE <= parameter <= 1 + _CLOSE:
            yield law(min(max(parameter, 0.0), 1.0))


def _points(application: Application, nodes: int, unheld: Unheld) -> int:
    """Return into how many parts scheduling points divide the work."""
    points = sum(phase.iterations for phase in application.phases if phase.has_point)
    first = application.phases[0]
    parts = {phase.seconds(nodes) for phase in application.phases}
    even = len(parts) == 1 and all(phase.has_point for phase in application.phases)
    if not first.has_point and points:
        points += 1
    unheld.add("malleable jobs with scheduling points between uneven parts", not even and points > 0)
    return max(points, 1)


def _requests(application: Application, nodes: int, unheld: Unheld) -> Requests | None:
    """Return what an evolving job asks for: changes by numbers that do not depend on its size."""
    total, done = application.seconds(nodes), Fraction(0)
    events: list[tuple[float, int]] = []
    uneven = 0
    for number, phase in enumerate(application.phases):
        part = phase.seconds(nodes)
        for iteration in range(phase.iterations):
            if (number or iteration) and phase.request is not None:
                changes = {phase.request(size, iteration) - size for size in (1, nodes, nodes + 7)}
                change = phase.request(nodes, iteration) - nodes
                uneven += len(changes) > 1
                if change and total:
                    events.append((float(1 - done / total), change))
            done += part
    unheld.add("evolving jobs that ask for sizes, read as changes from their first one", uneven > 0)
    return Requests(events) if events else None
