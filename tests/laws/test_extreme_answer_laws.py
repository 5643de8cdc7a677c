"""Problems and answers with numbers of any size: refused in one line, or judged and measured right."""

from __future__ import annotations

import copy
import functools
import itertools
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import naive_extreme
import naive_reservation
import numpy as np
import pytest
from certificate_draws import Example, certificate_examples
from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.families import family_of
from allocsolve.judge import certified_bound, metrics, violations, workload_breaches
from allocsolve.model import (
    BOOKED,
    REJECTED,
    SUCCESSFUL,
    Budget,
    ClosedWindow,
    DeadlineJob,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Job,
    Mesh,
    Partition,
    PartitionProblem,
    Phases,
    Placement,
    PlacementProblem,
    PowerLaw,
    Profile,
    Requests,
    ReservationProblem,
    ReservationSchedule,
    SpeedupTable,
    Stall,
    Status,
    SwitchTree,
    Torus,
    WorkloadProblem,
    WorkloadSchedule,
    terms,
)
from allocsolve.registry import make_solver, solve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hypothesis.strategies import DrawFn


LARGEST = 2**53
#: Sums of so many of the largest are 2^63, 2^63 + 2^62, 2^64 and a little more than each.
COUNTS = st.sampled_from([1, 1, 2, 3, 1023, 1024, 1025, 1536, 2047, 2048, 2049])
AMOUNTS = st.sampled_from([1, 2, 2**31, 2**32, 2**52, 2**52 + 1, LARGEST - 1, LARGEST, LARGEST])
SPANS = st.sampled_from([0.25, 1, 1, 1, 3, 2**31, 2**40, 2**41, 2**51, 2**52, LARGEST - 1, LARGEST])
INSTANTS = st.sampled_from(
    [0, 0, 0, 0, 0.25, 1, 2**31, 2**40, 2**51 - 0.25, 2**51, 2**51 + 0.5, 2**52 - 0.5, 2**52, LARGEST - 2]
)
#: What changes a number of an answer by a little or by a lot.
SHIFT_EDGES = [-(2**53), -(2**32), -1, -0.25, 0.25, 1, 2**32, 2**53]
SHIFTS = st.sampled_from(SHIFT_EDGES)
SIZE_EDGES = [-(2**63), -(2**62), -1, 0, 1, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1]
SIZES = st.sampled_from(SIZE_EDGES)


def close(measured: Any, expected: Mapping[str, float]) -> bool:
    """Tell whether metrics are those expected: integers equal, others up to a few roundings."""
    return {name: getattr(measured, name) for name in expected} == pytest.approx(expected, rel=1e-12)


def check_line(refused: Exception) -> None:
    """Hold that a refusal is one line that says why."""
    assert len(str(refused).splitlines()) == 1


@st.composite
def workloads(draw: DrawFn) -> tuple[WorkloadProblem, WorkloadSchedule]:
    """Groups of equal jobs at one instant or one after the other, some beside resources and windows."""
    num_nodes = draw(AMOUNTS)
    resources = {"bytes": draw(AMOUNTS)} if draw(st.booleans()) else {}
    jobs: list[Job] = []
    pieces: list[list[tuple[float, float, int]]] = []
    now: float = 0
    for _ in range(draw(st.integers(1, 3))):
        count, nodes = draw(COUNTS), min(draw(AMOUNTS), num_nodes)
        runtime = min(draw(SPANS), 2**51 // count)  # mostly the horizon is one that there may be
        submit, in_turn = draw(INSTANTS) / 4, draw(st.sampled_from([True, True, False]))
        start = max(submit, now if draw(st.integers(0, 3)) else draw(INSTANTS))
        more: dict[str, Any] = {"weight": draw(st.sampled_from([1, 1, 0, LARGEST]))}
        if bool(resources) and draw(st.booleans()):
            more["needs"] = {"bytes": min(draw(AMOUNTS), resources["bytes"])}
        elif nodes > 1 and count == 1:
            rows = [(1, runtime), (nodes, runtime)]
            more |= {"kind": "malleable", "speedup": SpeedupTable(rows)}
        jobs += [Job(submit, nodes, runtime, **more)] * count
        for _ in range(count):
            if "kind" in more:
                times = np.linspace(start, start + runtime, draw(COUNTS) + 1).round().tolist()
                pieces.append(
                    [(*each, (1, nodes)[at % 2]) for at, each in enumerate(itertools.pairwise(times))]
                )
            else:
                pieces.append([(start, start + runtime, nodes)])
            start += runtime if in_turn else 0
        now = max(now, pieces[-1][-1][1])
    jobs = [replace(job, name=f"j{idx}") for idx, job in enumerate(jobs)]
    window = ClosedWindow(0, 2**40, draw(st.sampled_from([{}, {"nodes": 1}])))
    closed = [window] * draw(st.sampled_from([0, 0, 0, 0, 0, 0, 1, 1024, 1536, 2048]))
    problem = WorkloadProblem(num_nodes, jobs, resources=resources, closed=closed)
    listed = [row for rows in pieces for row in rows]
    begins, ends, sizes = (list(column) for column in zip(*listed, strict=True))
    if draw(st.integers(0, 7)) == 0:
        begins[-1], ends[-1] = begins[-1] + draw(SHIFTS), ends[-1] + draw(st.just(0) | SHIFTS)
    if draw(st.integers(0, 7)) == 0:
        sizes[draw(st.integers(0, len(sizes) - 1))] = draw(SIZES)
    columns: Any = (np.cumsum([0, *map(len, pieces)]), begins, ends, np.array(sizes, dtype=np.int64))
    return problem, WorkloadSchedule(*columns)


@given(st.data())
def test_workloads(data: st.DataObject) -> None:
    try:
        problem, schedule = data.draw(workloads())
    except (InvalidProblem, InvalidAnswer) as refused:
        check_line(refused)
        return
    faults = violations(problem, schedule)
    right = naive_extreme.is_workload(problem, schedule)
    # Quarters beyond 2^51 s are rounded wherever they stand, so there only what is right counts.
    if right or problem.is_exact:
        assert bool(faults) != right, faults[:1]
    if not faults and right:
        assert close(metrics(problem, schedule), naive_extreme.workload_values(problem, schedule))


@st.composite
def evolutions(draw: DrawFn) -> tuple[EvolutionProblem, EvolutionSchedule]:
    """Equal applications, also more than fit, some expanded, at times up to 2^62."""
    num_nodes = draw(AMOUNTS)
    count = draw(st.sampled_from([1, 2, 3, 4, 5, 300]))
    longest = max(2**60 // (4 * count * num_nodes), 1)  # mostly the area is one that there may be
    durations = st.sampled_from([1, 2, 2**20, 2**31]).map(lambda seconds: min(seconds, longest))
    sizes = st.sampled_from([0, 1, num_nodes // 2, num_nodes])
    steps = [(draw(durations), draw(sizes)) for _ in range(draw(st.integers(1, 3)))]
    limit = draw(st.sampled_from([1, 1.5, 2**53, float("inf")]))
    release = min(draw(st.sampled_from([0, 2**31])), longest)
    apps = (EvolutionProfile(steps),) * count
    problem = EvolutionProblem(num_nodes, apps, (release,) * count, limit)
    length = sum(duration for duration, _ in steps)
    late = [2**31, 2**53, 2**60, 2**60 + 1, 2**61, 2**62 - 2**40, 2**62, 2**63 - 1]
    start = draw(st.sampled_from([0, *late]))
    apart = draw(st.sampled_from([0, length, length, length - 1, 2**40]))
    starts = [min(start + idx * apart, 2**63 - 1) for idx in range(count)]
    longer = draw(st.sampled_from([1, 1, 1, 2, 2**30]))
    held = [[min(duration * longer, 2**62), nodes] for _ in range(count) for duration, nodes in steps]
    if draw(st.integers(0, 3)) == 0:
        held[draw(st.integers(0, len(held) - 1))][draw(st.integers(0, 1))] = draw(SIZES)
    offsets = np.arange(count + 1) * len(steps)
    columns: Any = (starts, offsets, [row[0] for row in held], [row[1] for row in held])
    return problem, EvolutionSchedule(*columns)


@given(st.data())
@settings(max_examples=examples(1000))
def test_evolution(data: st.DataObject) -> None:
    try:
        problem, schedule = data.draw(evolutions())
        faults = violations(problem, schedule)
        measured = metrics(problem, schedule)
    except (InvalidProblem, InvalidAnswer) as refused:
        check_line(refused)
        return
    right = naive_extreme.is_evolution(problem, schedule)
    assert bool(faults) != right, faults[:1]
    if right:
        assert close(measured, naive_extreme.evolution_values(problem, schedule))


@st.composite
def reservations(draw: DrawFn) -> tuple[ReservationProblem, ReservationSchedule]:
    """A few jobs on a line of nodes, booked near the greatest times there are."""
    times = st.sampled_from([0, 1, 2**31, 2**52 - 1, 2**52, LARGEST - 3, LARGEST - 2, LARGEST - 1, LARGEST])
    lengths = st.sampled_from([1, 2, 3, 2**31, 2**52, LARGEST])
    weights = st.sampled_from([0, 1, 2**-60, 2**31, LARGEST])
    arrivals = sorted(draw(st.lists(times, min_size=1, max_size=4)))
    mesh = Mesh((draw(st.sampled_from([1, 3])),))
    jobs = []
    for arrival in arrivals:
        nodes, runtime = draw(st.integers(1, mesh.num_nodes)), draw(lengths)
        weight = min(draw(weights), LARGEST / (nodes * runtime * len(arrivals)))
        deadline = draw(st.just(min(arrival + runtime, LARGEST)) | times)
        jobs.append(DeadlineJob(arrival, nodes, runtime, deadline, None, weight))
    problem = ReservationProblem(mesh, tuple(jobs))
    begins = draw(st.sampled_from([0, 0, 0.5, 1, 2**-60]))
    starts = np.array([min(job.arrival + begins, LARGEST) for job in jobs])
    ends = np.minimum(starts + problem.packed.runtime, LARGEST)
    ended = draw(st.sampled_from([BOOKED, SUCCESSFUL]))
    outcomes = np.array([draw(st.sampled_from([ended, ended, REJECTED])) for _ in jobs])
    booked = np.where(outcomes == ended, problem.packed.nodes, 0)
    computed = np.where(outcomes == ended, draw(st.sampled_from([0, 0, 1, LARGEST])), 0)
    of = np.repeat(np.arange(len(jobs)), booked)
    first = draw(st.integers(0, 1))
    ids = [(first * idx + at) % mesh.num_nodes for idx, size in enumerate(booked) for at in range(size)]
    if ids and draw(st.integers(0, 4)) == 0:
        ids[-1] = draw(SIZES)
    return problem, ReservationSchedule(
        outcomes,
        np.where(outcomes == ended, ends, np.nan),
        np.cumsum([0, *booked]),
        np.array(ids, dtype=np.int64),
        starts[of],
        ends[of],
        computed if ended == SUCCESSFUL else None,
    )


@given(st.data())
@settings(max_examples=examples(1000))
def test_reservations(data: st.DataObject) -> None:
    try:
        problem, schedule = data.draw(reservations())
    except (InvalidProblem, InvalidAnswer) as refused:
        check_line(refused)
        return
    faults = violations(problem, schedule)
    nodes_exist = bool(((schedule.nodes >= 0) & (schedule.nodes < problem.topology.num_nodes)).all())
    right = nodes_exist and naive_reservation.is_feasible(problem, schedule)
    assert bool(faults) != right, faults[:1]
    if not right:
        return
    measured = metrics(problem, schedule)
    for term in ("rejected", "rejected-area", "unsuccessful"):
        expected = naive_reservation.value(problem, schedule, term)
        assert getattr(measured, term.replace("-", "_")) == pytest.approx(expected, rel=1e-12)
    starts, accepted = schedule.first_starts.tolist(), schedule.accepted.tolist()
    waits = [Fraction(starts[idx]) - problem.jobs[idx].arrival for idx in accepted]
    assert measured.mean_wait == pytest.approx(float(sum(waits) / len(waits)) if waits else 0, rel=1e-12)
    if accepted:
        spans = zip(schedule.hold_starts.tolist(), schedule.hold_ends.tolist(), strict=True)
        held = sum(Fraction(end) - Fraction(start) for start, end in spans)  # rounded near 2^53 s
        span = Fraction(max(float(schedule.ends[idx]) for idx in accepted)) - problem.jobs[0].arrival
        expected = float(held / (span * problem.topology.num_nodes))
        assert measured.booked_utilisation == pytest.approx(expected, rel=1e-12)


def test_sums_beyond_64_bits() -> None:
    """Each sum here is 2^63 or more in truth, and harmless in 64 bits."""
    many = WorkloadProblem(LARGEST, [Job(0, LARGEST, 1) for _ in range(1024)])
    at_once = WorkloadSchedule.of(many, [0] * 1024)
    held = f"from 0 s to 1 s up to {2**63} nodes are held (first at 0 s) on a cluster of {LARGEST}"
    assert violations(many, at_once) == (held,)
    (breach,) = workload_breaches(many, at_once, ["capacity"])
    assert breach.numbers["held"] == 2**63
    in_turn = WorkloadSchedule.of(many, range(1024))
    assert violations(many, in_turn) == ()
    assert (metrics(many, in_turn).utilisation, metrics(many, in_turn).turnaround) == (1, 512.5)

    one_more = WorkloadProblem(LARGEST, [Job(0, LARGEST, 1), Job(0, 1, 1)])
    (fault,) = violations(one_more, WorkloadSchedule.of(one_more, [0, 0]))
    assert f"up to {LARGEST + 1} nodes are held" in fault

    needs = [Job(0, 1, 1, needs={"bytes": LARGEST}) for _ in range(1024)]
    memory = WorkloadProblem(1024, needs, resources={"bytes": LARGEST})
    (fault,) = violations(memory, WorkloadSchedule.of(memory, [0] * 1024))
    assert fault.endswith(f"more bytes are held than there are, most at 0 s: {2**63} of {LARGEST}")
    assert violations(memory, WorkloadSchedule.of(memory, range(1024))) == ()

    for windows in (1024, 1536, 2048):
        shut = WorkloadProblem(LARGEST, [Job(0, 1, 10)], closed=[ClosedWindow(0, 20)] * windows)
        (fault,) = violations(shut, WorkloadSchedule.of(shut, [5]))
        assert fault.endswith("more nodes are held than there are, most at 5 s: 1 of 0")
        late = metrics(shut, WorkloadSchedule.of(shut, [20]))
        assert late.utilisation == 1 / LARGEST

    changes = Job(0, 1, 2048, kind="malleable", speedup=SpeedupTable([(1, 2048), (LARGEST, 2048)]))
    resized = WorkloadProblem(LARGEST, [changes])
    columns: Any = ([0, 2048], range(2048), range(1, 2049), [1, LARGEST] * 1024)
    assert violations(resized, WorkloadSchedule(*columns)) == ()
    assert metrics(resized, WorkloadSchedule(*columns)).resized_nodes == 2047 * (LARGEST - 1)


def test_a_small_job_counts_beside_huge_ones_that_do_not() -> None:
    """Its node-seconds are those of its pieces, however many the jobs before it hold."""
    law = SpeedupTable([(1, 2), (2, 2)])
    small = Job(0, 1, 2, kind="malleable", speedup=law, name="small")
    problem = WorkloadProblem(LARGEST, [Job(0, LARGEST, 2**50, weight=0, name="huge"), small])
    columns: Any = ([0, 1, 3], [2, 0, 1], [2**50 + 2, 1, 2], [LARGEST, 1, 2])
    assert violations(problem, WorkloadSchedule(*columns)) == ()
    assert metrics(problem, WorkloadSchedule(*columns)).area_weighted_response == 2


def test_a_booking_beyond_the_last_time_there_is_is_seen() -> None:
    problem = ReservationProblem(Mesh((1,)), (DeadlineJob(0, 1, 2, LARGEST),))
    columns: Any = ([BOOKED], [LARGEST], [0, 1], [0], [LARGEST - 1], [LARGEST])
    (fault,) = violations(problem, ReservationSchedule(*columns))
    assert fault.endswith(f"is booked from {LARGEST - 1} to {LARGEST}, its run time is 2")


@given(
    st.sampled_from([((2**14,), "line"), ((2**7, 2**7), "line"), ((2**13,), "ring"), ((2**10, 4), "ring")]),
    st.lists(SIZES, min_size=1, max_size=3),
)
def test_partitions(machine: tuple[tuple[int, ...], str], strange: list[int]) -> None:
    """All nodes of a machine have a distance of which there is a formula."""
    shape, kind = machine
    topology = Mesh(shape) if kind == "line" else Torus(shape)
    problem = PartitionProblem.of(topology, size=topology.num_nodes)
    along = [side * (side**2 - 1) // 6 if kind == "line" else side**3 // 8 for side in shape]
    total = sum(each * (topology.num_nodes // side) ** 2 for each, side in zip(along, shape, strict=True))
    everything = Partition(np.arange(topology.num_nodes))
    assert violations(problem, everything) == ()
    assert metrics(problem, everything).total_distance == total
    assert violations(problem, Partition(np.array(strange))) != ()


@given(
    st.sampled_from([(2,) * 16, (2**8, 2**8), (4, 2**10), (1, 2**16)]),
    st.sampled_from([2, 512, 1024]),
    st.lists(SIZES, min_size=1, max_size=3),
)
def test_placements(sizes: tuple[int, ...], weight: int, strange: list[int]) -> None:
    """All nodes of a regular tree meet at each level as often as a formula says."""
    hops = [min(weight, 1024) + at * weight for at in range(len(sizes))]
    hops[0] = min(weight, 1024)
    tree = SwitchTree.regular(sizes, hops)
    problem = PlacementProblem.of(tree, size=tree.num_nodes)
    total, below = 0, 1
    for size, hop in zip(reversed(sizes), hops, strict=True):
        switches = tree.num_nodes // (below * size)
        total += hop * switches * below**2 * (size * (size - 1) // 2)
        below *= size
    everything = Placement(np.arange(tree.num_nodes))
    assert violations(problem, everything) == ()
    assert metrics(problem, everything).total_distance == total
    assert violations(problem, Placement(np.array(strange))) != ()


def test_room_for_the_tolerance_of_many_wide_jobs_is_taken_off_a_bound() -> None:
    """Their nodes add up to 2^63; each may end a hair early, which the bound by areas has to allow for."""
    jobs = [Job(0.3, LARGEST, 1 / 3, name=f"j{idx}") for idx in range(1024)]
    certificate = {"kind": "makespan", "rule": "area", "after": 0.3}
    problem = WorkloadProblem(LARGEST, jobs)
    assert certified_bound(problem, certificate, ("makespan",)) < 0.3 + 1024 / 3


@st.composite
def full_machines(draw: DrawFn) -> tuple[WorkloadProblem, dict[str, Fraction]]:
    """Equal jobs that take the whole machine, and the optima: they run one after the other."""
    count, nodes, submit = draw(COUNTS), draw(AMOUNTS), draw(st.sampled_from([0, 0.3, 1, 2**31]))
    runtime = draw(st.sampled_from([1 / 3, 1, 10, 2**20, 2**31]))
    resources = {"bytes": draw(AMOUNTS)} if draw(st.booleans()) else {}
    jobs = [Job(submit, nodes, runtime, needs=resources, name=f"j{idx}") for idx in range(count)]
    turnarounds = [Fraction(runtime) * turn for turn in range(1, count + 1)]
    mean = sum(turnarounds, Fraction(0)) / count
    divisor = max(Fraction(runtime), Fraction(10))
    return WorkloadProblem(nodes, jobs, resources=resources), {
        "turnaround": mean,
        "wait": mean - Fraction(runtime),
        "slowdown": sum((max(Fraction(1), each / divisor) for each in turnarounds), Fraction(0)) / count,
        "makespan": Fraction(submit) + turnarounds[-1],
    }


@given(full_machines(), st.data())
def test_bounds_of_full_machines(
    case: tuple[WorkloadProblem, dict[str, Fraction]], data: st.DataObject
) -> None:
    """Certificates of problems with huge numbers prove no more than there is; prices are near the best."""
    problem, optimum = case
    count, packed = len(problem.jobs), problem.jobs.packed
    kinds = ["makespan", "machine-prices", *(["time-prices", "job-prices"] if problem.is_plain else [])]
    kind = data.draw(st.sampled_from(kinds))
    means = ["makespan"] if kind == "makespan" else ["turnaround", "wait", "slowdown"]
    term = data.draw(st.sampled_from(means))
    scale = data.draw(st.sampled_from([1, 2, 2**20, 2**31, 2**40]))
    length = max(1, round(float(packed.runtime[0])))
    first = int(packed.submit[0])
    edges = [first + at * length for at in range(count + 1)]
    prices = [at * scale for at in reversed(range(count))]
    unit = data.draw(st.sampled_from([1, scale, min(scale * problem.num_nodes, LARGEST), LARGEST]))
    content: dict[str, Any] = {"kind": kind, "term": term, "edges": edges, "prices": prices, "unit": unit}
    if kind == "machine-prices":
        priced = ["nodes", *dict(problem.resources)]
        content["prices"] = {data.draw(st.sampled_from(priced)): prices}
    elif kind == "job-prices":
        few = min(count, 8)
        content |= {"nodes": problem.num_nodes, "first_slots": [0] * count}
        content |= {"offsets": [*range(0, few * count + 1, few)], "prices": prices[:few] * count}
    elif kind == "makespan":
        rules, after = ["longest", "area", "wide"], data.draw(st.sampled_from([0, float(packed.submit[0])]))
        content = {"kind": kind, "rule": data.draw(st.sampled_from(rules)), "after": after}
    try:
        bound = certified_bound(problem, content, (term,))
    except InvalidAnswer as refused:
        check_line(refused)
        return
    assert bound <= optimum[term]


@functools.cache
def elastic_answers() -> list[tuple[WorkloadProblem, WorkloadSchedule]]:
    """A right answer with jobs of each kind that may change their sizes."""
    law, rows = PowerLaw(0.5), SpeedupTable([(1, 8), (2, 4), (4, 2)])
    jobs = [
        Job(0, 2, 20, min_nodes=1, max_nodes=4, evolution=Phases([(16, 2), (8, 1), (8, 4)], 1)),
        Job(0, 2, 8, min_nodes=1, max_nodes=4, speedup=law, evolution=Requests([(0.5, 2), (0.25, -1)])),
        Job(0, 1, 9, evolution=Profile([(4, 1), (5, 3)], 2)),
        Job(0, 2, 4, speedup=rows, kind="malleable", reconfiguration=Stall(1, per_node=1)),
        Job(1, 2, 8, min_nodes=1, max_nodes=4, speedup=law),
    ]
    answers = []  # of the first job, of two, and so on
    for count in range(1, len(jobs) + 1):
        problem = WorkloadProblem(6, [replace(job, name=f"j{idx}") for idx, job in enumerate(jobs[:count])])
        result = make_solver("evolv-easyback", problem, "turnaround")(problem, Budget())
        assert result.answer is not None
        assert violations(problem, result.answer) == ()
        answers.append((problem, result.answer))
    return answers


def changed_pieces(schedule: WorkloadSchedule) -> Iterator[dict[str, Any]]:
    """Yield columns of a schedule in which one number is another one, by far."""
    for name, place in itertools.product(["starts", "ends", "nodes"], range(len(schedule.nodes))):
        for extreme in [*SIZE_EDGES, *SHIFT_EDGES]:
            column = getattr(schedule, name).copy()
            column[place] = extreme if name == "nodes" else column[place] + float(extreme)
            if abs(extreme) > 6:
                yield {name: column}


@pytest.mark.parametrize("number", range(5))
def test_one_extreme_number_of_a_piece(number: int) -> None:
    """No piece of such an answer may be so much earlier, later, smaller or larger."""
    problem, schedule = elastic_answers()[number]
    for columns in changed_pieces(schedule):
        try:
            changed = replace(schedule, **columns)
        except InvalidAnswer as refused:
            check_line(refused)
            continue
        assert violations(problem, changed) != (), columns
        metrics(problem, changed)


EXACT = {
    "evolution": "cpsat",
    "partition": "branch-and-bound",
    "placement": "tree-knapsack",
    "reservation": "cpsat",
    "workload": "milp",
}
EXAMPLES = certificate_examples()
_MESH = PartitionProblem.of(Mesh((3, 4)), busy=[5], size=5)
_SEARCHED = solve(_MESH, EXACT["partition"]).certificate
assert _SEARCHED is not None
EXAMPLES["cut-tree of a search"] = Example(_MESH, "pairwise", dict(_SEARCHED))
#: At the edges of what fits into integers of 32 and 64 bits, into floats, and of what judges add up.
EDGES = [0, 1, -1, 0.5, 1e308, 10**30, 1 - 2**63, *(2**power for power in (31, 32, 50, 53, 57, 60, 61, 62))]
EDGES += [2**61 - 1, 2**63 - 1, 2**64]


@functools.cache
def optimum(name: str) -> float:
    """Return the least value, as an exact solver proves it."""
    problem, term, _ = EXAMPLES[name]
    result = solve(problem, EXACT[family_of(problem).kind], objective=term)
    assert result.status is Status.OPTIMAL
    assert result.objective is not None
    return float(terms(result.objective)[0])


def places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where in lists and records there is a number, or a list of numbers only."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        if is_number(value) or (isinstance(value, list) and value and all(map(is_number, value))):
            yield content, key
        if isinstance(value, dict | list):
            yield from places(value)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check(name: str, content: dict[str, Any]) -> None:
    """Have the judge read a certificate in place of that of an example."""
    problem, term, _ = EXAMPLES[name]
    try:
        bound = certified_bound(problem, content, (term,))
    except InvalidAnswer:
        return
    assert bound <= optimum(name), content


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_bound_with_one_extreme_number_holds(name: str) -> None:
    for idx, edge in itertools.product(range(len(list(places(EXAMPLES[name].certificate)))), EDGES):
        content = copy.deepcopy(EXAMPLES[name].certificate)
        holder, key = list(places(content))[idx]
        holder[key] = [edge] * len(holder[key]) if isinstance(holder[key], list) else edge
        check(name, content)
