"""A format of logs as one value, to be read as an example: a CSV file with sizes in processors."""

from __future__ import annotations

from allocsolve.instances import LogTable

#: The line of the table of formats, in `allocsolve/instances/formats/logs/tables.py`.
TABLE = LogTable(
    name="toy",
    summary="a CSV file of jobs of the toy machine",
    columns={
        "id": ("Number",),
        "submit": ("Queued",),
        "start": ("Begun",),
        "end": ("Done",),
        "limit": ("Asked",),
        "processors": ("Cores",),
    },
    separators=(";",),
    limit="minutes",
)

#: Two jobs of 3 and 4 processors; the second waits for the first.
LOG = """\
Number;Cores;Asked;Queued;Begun;Done;Colour
1;3;10;2024-01-10T08:00:00;2024-01-10T08:00:00;2024-01-10T08:05:00;red
2;4;20;2024-01-10T08:01:00;2024-01-10T08:05:00;2024-01-10T08:06:00;blue
"""
