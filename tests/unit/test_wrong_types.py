"""Whatever is given for an argument of anything public: it works, or one line says what is wrong."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from offenders import all_offenders

import allocsolve
from allocsolve import (
    AllocsolveError,
    Budget,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Mesh,
    Partition,
    PartitionProblem,
    Topology,
    Torus,
    heuristics,
)
from allocsolve.heuristics import Fit, PlacedProfile, ResourceProfile

if TYPE_CHECKING:
    from collections.abc import Callable

PROFILE = EvolutionProfile([(3, 2), (2, 1)])
PROBLEM = EvolutionProblem(4, (PROFILE, PROFILE))
MESH = Mesh((4, 2))
FREE = np.ones(8, dtype=np.bool_)
#: Takes part in every call of an allocator.
REQUEST = {"topology": MESH, "free": FREE, "size": 3}


def reserved() -> ResourceProfile:
    profile = ResourceProfile(4)
    profile.reserve(0, PROFILE)
    return profile


def _call(method: str, **arguments: Any) -> Any:
    return getattr(reserved(), method)(**arguments)


METHODS: dict[str, dict[str, Any]] = {
    "earliest_window": {"nodes": 2, "duration": 3, "earliest_start": 1},
    "fit": {"profile": PROFILE, "expand_limit": 2, "compacting": True, "earliest_start": 1},
    "reserve": {"start": 7, "profile": PROFILE},
    "release": {"reservation": 1, "since": 2},
    "forget": {"before": 2},
    "used_at": {"time": 2},
}
#: What allocators take beside a request.
ALLOCATORS: dict[str, dict[str, Any]] = {
    "manhattan_median": {"centres": "all", "last_ring": "greedy", "swaps_from": 1},
    "gen_alg": {},
    "mc1x1": {"last_shell": "greedy"},
    "growth": {"seeds": "all"},
    "multiple_buddy": {},
    "leak": {"contiguous": True, "start_row": 1},
    "submesh": {"choice": "best", "all_shapes": True},
    "paging": {"exponent": 0, "order": "snake"},
    "random_nodes": {"seed": 1},
    "sorted_free_list": {"order": "hilbert", "bits": 5},
    "best_fit_run": {"order": "snake", "fallback": "fail"},
    **{name: {"order": "snake"} for name in ("first_fit_run", "min_span", "largest_runs")},
}
#: Each with arguments that are right. Options of classes of solvers have the contract, see `test_options`.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "EvolutionProfile": (EvolutionProfile, {"steps": [(3, 2)]}),
    "EvolutionProblem": (
        EvolutionProblem,
        {
            "num_nodes": 4,
            "applications": (PROFILE,),
            "releases": (1,),
            "expand_limit": 2,
            "name": "p",
            "application_names": ("a",),
            "meta": {},
        },
    ),
    "EvolutionSchedule": (
        EvolutionSchedule,
        {"starts": [0], "offsets": [0, 1], "durations": [2], "nodes": [1]},
    ),
    "EvolutionSchedule.of": (EvolutionSchedule.of, {"starts": [0], "profiles": [PROFILE]}),
    "Mesh": (Mesh, {"shape": (2, 2)}),
    "Torus": (Torus, {"shape": (2, 2)}),
    "Topology": (Topology, {"shape": (2, 2), "wrap": (True, False)}),
    "PartitionProblem": (PartitionProblem, {**REQUEST, "contiguous": True, "name": "p", "meta": {}}),
    "PartitionProblem.of": (PartitionProblem.of, {"topology": MESH, "busy": [1], "size": 2, "name": "p"}),
    "Partition": (Partition, {"nodes": [1, 2]}),
    "Budget": (Budget, {"seconds": 1, "iterations": 1, "workers": 1, "seed": 1}),
    "solve": (
        allocsolve.solve,
        {"problem": PROBLEM, "solver": "noX", "objective": "waste", "seconds": 5, "workers": 1, "seed": 0},
    ),
    "fit": (
        heuristics.fit,
        {"profile": PROFILE, "occupied": PROFILE, "num_nodes": 4, "expand_limit": 2, "earliest_start": 1},
    ),
    "compact": (
        heuristics.compact,
        {"profile": PROFILE, "occupied": PROFILE, "num_nodes": 4, "placement": PlacedProfile(0, PROFILE)},
    ),
    "list_order": (heuristics.list_order, {"problem": PROBLEM, "order": "random", "seed": 1}),
    "list_starts": (heuristics.list_starts, {"problem": PROBLEM, "order": [1, 0], "fit": Fit()}),
    "Fit": (Fit, {"expand_limit": 2}),
    "ResourceProfile": (ResourceProfile, {"num_nodes": 4, "origin": 1}),
    **{f"ResourceProfile.{name}": (partial(_call, name), given) for name, given in METHODS.items()},
    **{name: (getattr(heuristics, name), {**REQUEST, **more}) for name, more in ALLOCATORS.items()},
}

HUGE = 10**5000
#: What is wrong for most arguments.
WRONG: tuple[Any, ...] = (
    *(None, "x", 1.5, 2.0, -1, HUGE, math.nan, True, [], {}, [[1], [2, 3]], ["x"], [[(1, 1)]], object()),
    *(np.array([[1.5, 2.0]]), np.array([2**63], dtype=np.uint64), PROFILE, MESH),
)

#: Arguments of which every wrong value is tried, by the name of the call.
CASES = [(name, argument) for name, (_, arguments) in CALLS.items() for argument in arguments]


def _refusal(call: Callable[..., Any], arguments: dict[str, Any]) -> str | None:
    """Return what a call says that is refused; None of one that works."""
    try:
        call(**arguments)
    except AllocsolveError as error:
        return str(error)
    return None


def test_wrong_arguments_work_or_get_one_line() -> None:
    with all_offenders() as offender:
        for name, argument in CASES:
            call, arguments = CALLS[name]
            with offender(f"{name}({argument}), right"):
                call(**arguments)
            refused = []
            for value in WRONG:
                with offender(f"{name}({argument}={'10**5000' if value is HUGE else repr(value)})"):
                    text = _refusal(call, {**arguments, argument: value})
                    if text is not None:
                        refused.append(text)
                        assert "\n" not in text
                        assert 0 < len(text) <= 300
            with offender(f"{name}({argument}), whatever is given"):
                assert refused or argument in ("contiguous", "all_shapes", "compacting")


def test_lists_and_whole_floats_are_taken_for_arrays_and_integers() -> None:
    free = [True, False, True, True, True, True, True, True]
    problem = PartitionProblem(MESH, free=free, size=4.0)  # type: ignore[arg-type]  # what people try
    assert problem == PartitionProblem.of(Mesh([4.0, np.int32(2)]), busy=(np.int64(1),), size=np.float32(4))  # type: ignore[list-item,arg-type]  # what data frames hold
    assert type(problem.size) is int
    for allocate in (heuristics.manhattan_median, heuristics.growth, heuristics.min_span):
        chosen = allocate(MESH, free, np.int32(4))  # type: ignore[arg-type]  # other numbers count as these
        assert chosen is not None
        assert len(chosen) == 4
    profile = EvolutionProfile(np.array([[3.0, 2.0], [2.0, 1.0]]))  # type: ignore[arg-type]  # other numbers count as these
    assert profile == PROFILE
    assert EvolutionProblem(4.0, [profile, PROFILE], releases=np.zeros(2)) == PROBLEM  # type: ignore[arg-type]  # other numbers count as these
    assert Partition([1.0, 2.0]) == Partition([1, 2])  # type: ignore[arg-type]  # other numbers count as these
    assert Budget(iterations=5.0, workers=np.int64(2)) == Budget(iterations=5, workers=2)  # type: ignore[arg-type]  # other numbers count as these
    assert heuristics.list_starts(PROBLEM, [1, 0], Fit()).tolist() == [0, 3, 0, 3]  # type: ignore[arg-type]  # other numbers count as these
