"""Where the columns of a format of logs are in a file."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.errors import FormatError
from allocsolve.instances.formats.logs.fields import ASKED_FIELDS, LogFields
from allocsolve.instances.formats.logs.log import PARTS, UNITS, WHOLES
from allocsolve.instances.formats.logs.tables import plain_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.instances.formats.logs.tables import Derived, LogTable


class Columns(NamedTuple):
    """Where the columns of a format are in a file."""

    at: dict[str, int]  #: places by field, of those that are there
    sizes: tuple[int, ...]  #: columns that tell the size, the first known one is taken
    requested: frozenset[int]  #: those of them that tell the requested one
    parts: tuple[int, ...]  #: those that tell the size in `PARTS` or `WHOLES` of the unit
    unit: str

    @property
    def used(self) -> set[int]:
        """All that are read."""
        return {*self.at.values(), *self.sizes, *self.parts}


def columns_of(
    table: LogTable, names: Sequence[str], unit: str | None, source: str, fields: LogFields
) -> Columns:
    """Find the columns of a format among those of a file.

    Raises `FormatError` if a column is missing without which there are no jobs, or stands twice. The names
    are those of the columns of the file, and of those that are computed of them. Sizes count the unit, by
    default the first of the format for which there is a column.
    """
    if unit is not None and unit not in table.units:
        raise FormatError(
            source, [f"logs of {table.name} tell no {unit}; --unit: {' or '.join(table.units)}"]
        )
    place: dict[str, list[int]] = {}
    for idx, name in enumerate(names):
        place.setdefault(plain_name(name), []).append(idx)
    places_of = {
        field: [place[key] for key in map(plain_name, choices) if key in place]
        for field, choices in table.columns.items()
        if field not in ASKED_FIELDS or fields.asks(field)
    }
    at = {field: places[0][0] for field, places in places_of.items() if places}
    sizes = {
        counted: [
            places[0] for field in (counted, f"requested_{counted}") for places in places_of.get(field, ())
        ]
        for counted in UNITS
    }
    if fields.site.types and "nodes" in table.units:
        unit = "nodes"
    unit = unit or next((name for name in table.units if sizes[name]), table.units[0])
    missing = [f"no column {table.columns[field][0]}" for field in ("id", "submit") if field not in at]
    if "run" not in at and not {"start", "end"} <= at.keys():
        span = " and ".join(table.columns[field][0] for field in ("start", "end"))
        run = f"neither a column {table.columns['run'][0]} nor" if "run" in table.columns else "not"
        missing.append(f"{run} both {span}")
    if not sizes[unit]:
        others = [name for name in table.units if sizes[name]]
        what = f"of {unit} (it tells {' and '.join(others)})" if others else "of a size"
        missing.append(f"no column {what}: {_size_names(table, (unit,) if others else table.units)}")
    if fields.site.types and unit != "nodes" and "held" not in at:
        missing.append(f"no column of nodes, which --node-types needs: logs of {table.name} tell {unit}")
    if (option := fields.missing(at)) is not None:
        wanted = [name for name, asks in ASKED_FIELDS.items() if asks == option]
        columns = dict.fromkeys(chain.from_iterable(table.sources(*wanted)))
        missing.append(f"no column for {option}: {', '.join(columns) or f'logs of {table.name} have none'}")
    if missing:
        given = [name for name in names if name not in table.derived]
        shown = ", ".join(name.strip()[:20] for name in given[:30])
        raise FormatError(source, [f"{', '.join(missing)}; its columns are {shown}"])
    used = {idx for places in places_of.values() for first in places[:1] for idx in first}
    twice = [
        names[places[0]].strip()[:20] for places in place.values() if len(places) > 1 and {*places} <= used
    ]
    if twice:
        raise FormatError(source, [f"the column {name} stands twice" for name in twice])
    requested = {places[0] for places in places_of.get(f"requested_{unit}", ())}
    parts = sizes[{**PARTS, **WHOLES}[unit]]
    return Columns(at, tuple(sizes[unit]), frozenset(requested), tuple(parts), unit)


def _size_names(table: LogTable, units: Sequence[str]) -> str:
    """Return all names that columns of sizes may have."""
    sources = map(" and ".join, table.sources_of_sizes(*units))
    # Those with a dot are places in a document.
    return ", ".join(
        source for source in dict.fromkeys(sources) if "." not in source or table.name != "sacct"
    )


def derivable(table: LogTable, names: Sequence[str]) -> dict[str, tuple[Derived, tuple[int, ...]]]:
    """Return the columns that can be computed, with the places of what they are computed of."""
    place = {plain_name(name): idx for idx, name in enumerate(names)}
    found = {}
    for name, one in table.derived.items():
        sources = [plain_name(source) for source in one.sources]
        if all(source in place for source in sources):
            found[name] = one, tuple(place[source] for source in sources)
    return found
