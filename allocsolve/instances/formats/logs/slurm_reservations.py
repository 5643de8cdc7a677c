"""When nodes are reserved, as Slurm's ``scontrol show reservation`` prints it: then they are closed.

A record begins with ``ReservationName=`` and lasts for one line or several (``-o`` prints one). Who may use a
reservation is not told apart: its nodes are closed to the queue. One without nodes, such as of licences,
closes nothing. Of one that is repeated only the next time is printed.

Source: the page scontrol of Slurm's documentation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from allocsolve.errors import FormatError
from allocsolve.instances.formats.networks.hostlist import host_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FIELD: Final = re.compile(r"(\w+)=(\S*)", re.ASCII)
_BEGIN: Final = "ReservationName="
_NONE: Final = "No reservations in the system"
_NEEDED: Final = ("StartTime", "EndTime", "Nodes")
_AMOUNT: Final = re.compile(r"([^=,\s]+)=(\d{1,15})(?=,|$)", re.ASCII)
#: What stands in place of nodes if there are none.
_NOTHING: Final = frozenset({"", "(null)"})


def is_reservations(text: str) -> bool:
    """Tell whether a text is what ``scontrol show reservation`` prints."""
    return text.lstrip().startswith((_BEGIN, _NONE))


def reservation_rows(text: str, source: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the number of the line and the cells of each event that the reservations are, see `node_events`.

    Raises `FormatError` if a field that says when or where is missing, or what there is is no reservation.
    """
    line = 1
    for record in re.split(rf"^(?=\s*{_BEGIN})", text, flags=re.MULTILINE):
        listed = _FIELD.findall(record)
        fields = dict(listed)
        at = line + record[: len(record) - len(record.lstrip())].count("\n")
        line += record.count("\n")
        if record.strip().startswith(_NONE) or not record.strip():
            continue
        missing = [name for name in _NEEDED if name not in fields]
        if missing:
            raise FormatError(source, [f"line {at}: a reservation without {', '.join(missing)}"])
        names = [name for name, _ in listed]
        twice = [name for name in _NEEDED if names.count(name) > 1]
        if twice:
            raise FormatError(source, [f"line {at}: {twice[0]} stands there twice"])
        try:
            nodes = [] if fields["Nodes"] in _NOTHING else host_names(fields["Nodes"])
        except ValueError as fault:
            raise FormatError(source, [f"line {at}: {fault}"]) from None
        cells = {
            "timestart": fields["StartTime"],
            "timeend": fields["EndTime"],
            "state": "MAINT",
            "reason": fields["ReservationName"],
        }
        first, others = _shares(fields.get("TRES", ""), len(nodes))
        apart = 1 if nodes[1:] and first != others else len(nodes)  # the first node has what is left over
        yield at, {**cells, "nodename": ",".join(nodes[:apart]), "tres": first}
        if nodes[apart:]:
            yield at, {**cells, "nodename": ",".join(nodes[apart:]), "tres": others}


def _shares(tres: str, nodes: int) -> tuple[str, str]:
    """Return what the first node and each other one has of what all have: equal parts, and the rest."""
    first, others = [], []
    for name, number in _AMOUNT.findall(tres):
        each, rest = divmod(int(number), max(nodes, 1))
        first.append(f"{name}={each + rest}")
        others.append(f"{name}={each}")
    return ",".join(first), ",".join(others)
