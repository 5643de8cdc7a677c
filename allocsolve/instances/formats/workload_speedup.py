"""The field of a job that tells how much faster it runs on more nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.errors import InvalidProblem
from allocsolve.instances.formats.checker import show
from allocsolve.model import Amdahl, Overhead, PowerLaw, SpeedupTable

if TYPE_CHECKING:
    from allocsolve.instances.formats.checker import Checker, Document
    from allocsolve.model import Speedup

__all__ = ["decode_speedup", "encode_speedup"]

_OF_A_SHARE: Final[dict[str, type[Amdahl | PowerLaw | Overhead]]] = {
    "amdahl": Amdahl,
    "power": PowerLaw,
    "overhead": Overhead,
}


def decode_speedup(check: Checker, value: object, place: str) -> Speedup | None:
    """Return the law of a job, None for none."""
    if value is None:
        return None
    fields = check.fields(value, place, (), ("amdahl", "power", "table", "overhead"))
    if len(fields) != 1:
        check.add(place, "must have one of amdahl, power, table and overhead")
        return None
    ((law, parameter),) = fields.items()
    if law == "table":
        return _decode_table(check, parameter, f"{place}.table")
    share = check.real_number(parameter, f"{place}.{law}", law, 0, high=1)
    try:
        return _OF_A_SHARE[law](share)
    except InvalidProblem as error:
        check.add(f"{place}.{law}", str(error))
        return None


def _decode_table(check: Checker, value: object, place: str) -> SpeedupTable | None:
    rows = []
    for idx, row in enumerate(check.typed(list, value, place)):
        if not isinstance(row, list) or len(row) != 2:
            check.add(f"{place}[{idx}]", f"must be a pair [nodes, seconds], not {show(row)}")
            continue
        nodes = check.integer(row[0], f"{place}[{idx}][0]", "nodes", 1)
        rows.append((nodes, check.real_number(row[1], f"{place}[{idx}][1]", "seconds", 0, above=True)))
    try:
        return SpeedupTable(rows)
    except InvalidProblem as error:
        check.add(place, str(error))
        return None


def encode_speedup(law: Speedup) -> Document:
    """Return the field of a law."""
    if isinstance(law, Amdahl):
        return {"amdahl": _plain(law.parallel)}
    if isinstance(law, PowerLaw):
        return {"power": _plain(law.exponent)}
    if isinstance(law, Overhead):
        return {"overhead": _plain(law.overhead)}
    return {"table": [[nodes, _plain(seconds)] for nodes, seconds in law.rows]}


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else float(value)
