"""A program: reads a problem from stdin, has Pumpkin search for a schedule, prints the kind of its answer."""

from __future__ import annotations

import json
import sys


def _answer() -> str:
    from pumpkin_solver import Model, constraints  # noqa: PLC0415 - only where it is installed

    num_nodes, applications, horizon, seconds = json.load(sys.stdin)
    model = Model()
    tag = model.new_constraint_tag()
    starts, durations, nodes = [], [], []
    for release, steps in applications:
        at, latest = 0, horizon - sum(length for length, _ in steps)
        # A variable needs a value: one that begins too late is left to the solver to refuse.
        start = model.new_integer_variable(release, max(release, latest))
        model.add_constraint(constraints.LessThanOrEquals([start], latest, tag))
        for length, used in steps:
            starts.append(start.offset(at))
            durations.append(length)
            nodes.append(used)
            at += length
    model.add_constraint(constraints.Cumulative(starts, durations, nodes, num_nodes, tag))
    return type(model.satisfy(timeout=seconds)).__name__


if __name__ == "__main__":
    sys.stdout.write(_answer())
