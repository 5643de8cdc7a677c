"""What the terminal shows of partition problems and the chosen nodes: fields, a picture of the mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.cli.output import counted, say, show_text, terminal_width
from allocsolve.pictures.partition import slices

if TYPE_CHECKING:
    from allocsolve.judge import PartitionMetrics
    from allocsolve.model import Partition, PartitionProblem

__all__ = ["metric_fields", "show_picture"]

#: What a node is, in the order of the numbers of `slices`: a letter, its meaning and its style in `rich`.
_STATES: Final = (("x", "busy", "dim"), (".", "free", ""), ("#", "chosen", "bold green"))

#: What is larger is no picture any more.
_MOST_LINES: Final = 64


def metric_fields(problem: PartitionProblem, worth: PartitionMetrics) -> list[tuple[str, str]]:
    """Return the metrics of a partition as names and values."""
    from allocsolve.bounds import partition_bound  # noqa: PLC0415 - when there is something to show

    least = partition_bound(problem)
    box = "x".join(map(str, worth.box))
    return [
        ("pairwise distance", f"{worth.total_distance} hops, mean {worth.average_distance:.3f}"),
        ("simple bound", f"{least} hops" + (f", ratio {worth.total_distance / least:.3f}" if least else "")),
        ("diameter", f"{worth.diameter} hops, radius {worth.radius}"),
        ("bounding box", f"{box}, {100 * worth.box_fill:.0f} % of its {counted(worth.box_volume, 'node')}"),
        ("connected parts", str(worth.components)),
        ("links to free nodes", str(worth.boundary)),
        ("span by node id", f"{worth.span} in {counted(worth.runs, 'run')}"),
        ("largest free part left", counted(worth.largest_free_component, "node")),
    ]


def show_picture(problem: PartitionProblem, partition: Partition) -> None:
    """Print every node as a letter, slices side by side, if that fits the terminal."""
    from rich.text import Text  # noqa: PLC0415 - as above

    layers = slices(problem, partition)
    height, width = layers[0][1].shape
    letters = max(2 * width - 1, *(len(name) for name, _ in layers))
    across = (terminal_width() + 3) // (letters + 3)
    if across < 1:
        return
    bands = [layers[first : first + across] for first in range(0, len(layers), across)]
    if len(bands) * (height + 2) > _MOST_LINES:
        return
    for band in bands:
        say("")
        if band[0][0]:
            say("   ".join(name.ljust(letters) for name, _ in band))
        for row in range(height):
            line = Text()
            for place, (_, layer) in enumerate(band):
                line.append(" " * (place * (letters + 3) - len(line)))
                for column, state in enumerate(layer[row].tolist()):
                    letter, _, style = _STATES[state]
                    line.append(" " if column else "")
                    line.append(letter, style)
            show_text(line)
    say("", ", ".join(f"{letter} {name}" for letter, name, _ in reversed(_STATES)))
