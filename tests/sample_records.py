"""Records as they come: finished, failed, with two terms, with limits."""

from __future__ import annotations

import math
from dataclasses import replace

from allocsolve.bench import Record
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import digest, klein2011
from allocsolve.model import Budget, Limit, Status

PROBLEM = klein2011(7, num_apps=(2, 2))
ANSWER = ListScheduling()(PROBLEM, Budget()).answer

RECORD = Record(
    suite="",
    instance="tiny-00",
    digest=digest(PROBLEM),
    kind="evolution",
    features={"num_nodes": 100, "expand_limit": None},
    solver="noX",
    solver_repr="ListScheduling()",
    objective="makespan",
    seconds=math.inf,
    iterations=None,
    workers=1,
    seed=0,
    version="0.1.0",
    status=Status.FEASIBLE,
    limit=Limit.TIME,
    value=120,
    bound=-math.inf,
    certified_bound=-math.inf,
    combinatorial_bound=100,
    runtime_s=0.25,
    incumbents=((0.1, 130), (0.25, 120)),
    error="",
    metrics={"makespan": 120, "waste": 0.1},
    when="2024-01-01T00:00:00+00:00",
    machine={"platform": "Linux", "cpus": 2},
)

VARIANTS = (
    RECORD,
    replace(RECORD, seed=1, status=Status.UNKNOWN, limit=None, value=None, metrics={}, error="Boom: no"),
    replace(
        RECORD,
        seed=2,
        objective="makespan,waste",
        value=(120, 2**60 + 1),
        bound=(100, -math.inf),
        combinatorial_bound=(100,),
        incumbents=((1.5, (130, 2)),),
    ),
    replace(
        RECORD,
        seed=3,
        value=1 / 3,
        bound=0.1,
        features={"expand_limit": 1.5, "shape": "4x2"},
        seconds=2,
        instance="ä\u2028",
    ),
)
