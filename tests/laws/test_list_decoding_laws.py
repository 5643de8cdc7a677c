"""List decoding: the slow twin, feasible schedules, and annealing that is never worse than its starts."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from naive_list_decoding import naive_decode, naive_pieces, useful_sizes
from naive_malleable_optimum import optimum
from naive_reservation_moves import Xorshift
from strategies import workload_problems
from tiers import examples

from allocsolve import Budget, Status, solve
from allocsolve.errors import InvalidOption, UnsupportedProblem
from allocsolve.exact import Prices, WorkloadMilp
from allocsolve.families import family_of, quick_answers
from allocsolve.heuristics import ListAnnealing, MalleableMin, Market, Reinsertion, StaticPrice
from allocsolve.heuristics.workload.list_decoding import Decoder, SizeList
from allocsolve.heuristics.workload.piece_moves import PieceAnnealer
from allocsolve.judge import value
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import (
    WORKLOAD_OBJECTIVES,
    Amdahl,
    ClosedWindow,
    Job,
    Limit,
    Overhead,
    Phases,
    PowerLaw,
    SpeedupTable,
    Stall,
    WorkloadProblem,
    terms,
)
from allocsolve.registry import make_solver, solver_names

if TYPE_CHECKING:
    from naive_malleable import Piece

    from allocsolve.model import WorkloadSchedule, WorkloadTerm


class NaiveMoves(Xorshift):
    """Jobs with their pieces and caps (numbers of nodes), and the order and the costs of the beginning.

    The cost is the weighted sum of turnarounds above the least ones.
    """

    def __init__(
        self, problem: WorkloadProblem, pieces: list[list[Piece]], caps: list[int], random: int
    ) -> None:
        self.problem, self.pieces, self.caps, self.random = problem, pieces, caps, random
        self.sizes = [useful_sizes(problem, job)[::-1] for job in problem.jobs]
        self.by_start = sorted(range(len(pieces)), key=lambda job: pieces[job][0][0])
        self.starts = [pieces[job][0][0] for job in self.by_start]
        self.sums = list(accumulate(self.cost(job) for job in self.by_start))

    def cost(self, job: int) -> float:
        row = self.problem.jobs[job]
        least = self.sizes[job][0][1]
        return row.weight * (self.pieces[job][-1][1] - row.submit) - row.weight * least

    def move(self, temperature: float) -> None:
        """Take jobs out, let them take nodes again, and undo it if they cost too much."""
        most = 1 + int(self.uniform() * self.uniform() * MOST_MOVED)
        jobs = self._arranged(self._drawn(most))
        old = {job: (self.pieces[job], self.caps[job]) for job in jobs}
        before = 0.0
        for job in jobs:
            before += self.cost(job)
        limit = before - temperature * math.log(1 - self.uniform())
        for job in jobs:
            self.pieces[job] = []
        after = 0.0
        for job in jobs:
            self.caps[job] = self._new_cap(job)
            taken = [piece for pieces in self.pieces for piece in pieces]
            self.pieces[job] = naive_pieces(self.problem, self.problem.jobs[job], self.caps[job], taken)
            after += self.cost(job)
            if after > limit:
                break
        if after > limit:
            for job, (pieces, cap) in old.items():
                self.pieces[job], self.caps[job] = pieces, cap

    def _drawn(self, most: int) -> list[int]:
        count = len(self.starts)
        if self.uniform() < 0.5:
            at = min(bisect_right(self.sums, self.uniform() * self.sums[-1]), count - 1)
        else:
            at = int(self.uniform() * count)
        job = self.by_start[at]
        start, end = self.pieces[job][0][0], self.pieces[job][-1][1]
        begin: float = self.problem.jobs[job].submit
        if self.uniform() < 0.5:
            seconds = end - start
            begin += self.uniform() * (start - begin)
            end = begin + seconds
        last, first = bisect_right(self.starts, end), bisect_right(self.starts, begin)
        first = max(0, first - (last - first) // 2 - 16)
        jobs, tries, most = [job], 0, min(most, last - first)
        while len(jobs) < most and tries < 3 * most:
            tries += 1
            other = self.by_start[first + int(self.uniform() * (last - first))]
            overlaps = self.pieces[other][0][0] < end and self.pieces[other][-1][1] > begin
            if overlaps and other not in jobs:
                jobs.append(other)
        return jobs

    def _arranged(self, jobs: list[int]) -> list[int]:
        kind = int(self.uniform() * 4)
        keys = {}
        for job in jobs:
            seconds = dict(self.sizes[job])
            if kind == 0:
                keys[job] = self.pieces[job][0][0]
            elif kind == 1:
                keys[job] = self.uniform()
            elif kind == 2:
                keys[job] = self.pieces[job][-1][1]
            else:
                area = self.caps[job] * seconds[self.caps[job]]
                keys[job] = area / (self.problem.jobs[job].weight + 1e-300) * (1 + self.uniform())
        if self.uniform() < 0.5:
            keys[jobs[0]] = -math.inf
        return sorted(jobs, key=keys.__getitem__)

    def _new_cap(self, job: int) -> int:
        sizes = [nodes for nodes, _ in self.sizes[job]]
        kind = self.uniform() if len(sizes) > 1 else 0.0
        if kind < 0.6:
            return self.caps[job]
        return sizes[0] if kind < 0.8 else sizes[int(self.uniform() * len(sizes))]


#: The largest number of jobs of a move.
MOST_MOVED = 20


@st.composite
def problems(draw: st.DrawFn, max_jobs: int = 7) -> WorkloadProblem:
    """Rigid, moldable and malleable jobs, with points, size sets, tables and stalls."""
    mixed = draw(workload_problems(min_jobs=1, max_jobs=max_jobs, max_nodes=9, malleable=True))
    jobs = []
    for job in mixed.jobs:
        fields: dict[str, Any] = {}
        if job.kind == "rigid" and draw(st.booleans()):
            low = draw(st.integers(1, job.nodes))
            high = draw(st.integers(job.nodes, mixed.num_nodes))
            law = draw(st.sampled_from([PowerLaw(1), PowerLaw(0.5), Amdahl(0.9)]))
            points = draw(st.sampled_from([0, 0, 0, 3, 50]))
            fields = {"min_nodes": low, "max_nodes": high, "speedup": law, "points": points}
            fields["kind"] = "malleable"
        if fields.get("kind", job.kind) == "malleable" and draw(st.integers(0, 4)) == 0:
            fields["reconfiguration"] = Stall(fixed=1)
        jobs.append(replace(job, **fields))
    return WorkloadProblem(mixed.num_nodes, jobs)


def drawn_list(problem: WorkloadProblem, decoder: Decoder, data: st.DataObject) -> SizeList:
    order = data.draw(st.permutations(range(len(problem.jobs))))
    offsets = decoder.sizes.offsets.tolist()
    caps = [data.draw(st.integers(offsets[job], offsets[job + 1] - 1)) for job in range(len(order))]
    return SizeList(np.array(order, dtype=np.int64), np.array(caps, dtype=np.int64))


@st.composite
def problems_without_rounding(draw: st.DrawFn) -> WorkloadProblem:
    """Jobs all of whose times are binary fractions, so that no tie depends on how times are added up."""
    mixed = draw(workload_problems(min_jobs=1, max_jobs=7, max_nodes=9, moldable=False))
    jobs = []
    for job in mixed.jobs:
        fields: dict[str, Any] = {}
        if draw(st.integers(0, 3)):
            sizes = sorted(draw(st.sets(st.integers(1, mixed.num_nodes), min_size=1, max_size=4)))
            rows = [(size, draw(st.sampled_from([2, 4, 8, 16, 32]))) for size in sizes]
            fields = {"nodes": rows[0][0], "runtime": rows[0][1], "speedup": SpeedupTable(rows)}
            fields |= {"min_nodes": sizes[0], "max_nodes": sizes[-1]}
            fields |= draw(
                st.sampled_from(
                    [
                        {"kind": "moldable"},
                        *({"kind": "malleable", "points": points} for points in (0, 0, 2, 4, 16)),
                        {"kind": "malleable", "reconfiguration": Stall(fixed=1)},
                    ]
                )
            )
        jobs.append(replace(job, **fields))
    return WorkloadProblem(mixed.num_nodes, jobs)


def pieces_of(schedule: WorkloadSchedule) -> list[list[Piece]]:
    return [list(schedule.pieces(job)) for job in range(len(schedule.offsets) - 1)]


def judged_cost(problem: WorkloadProblem, schedule: WorkloadSchedule, term: WorkloadTerm) -> float:
    """Return what the judge says about all jobs together."""
    value = terms(workload_value(problem, schedule, (term,)))[0]
    return value * float(problem.packed.weight.sum())


@given(problem=problems_without_rounding(), data=st.data())
def test_lists_are_decoded_as_by_definition(problem: WorkloadProblem, data: st.DataObject) -> None:
    decoder = Decoder(problem, "turnaround")
    listed = drawn_list(problem, decoder, data)
    schedule = decoder.schedule(listed)
    assert schedule is not None
    twin = naive_decode(problem, listed.order.tolist(), decoder.sizes.nodes[listed.caps].tolist())
    assert [list(schedule.pieces(job)) for job in range(len(twin))] == twin


@given(problem=problems(), term=st.sampled_from(WORKLOAD_OBJECTIVES), data=st.data())
def test_lists_are_feasible_and_cost_what_the_judge_says(
    problem: WorkloadProblem, term: WorkloadTerm, data: st.DataObject
) -> None:
    decoder = Decoder(problem, term)
    listed = drawn_list(problem, decoder, data)
    schedule = decoder.schedule(listed)
    assert schedule is not None
    assert workload_violations(problem, schedule) == ()
    value = terms(workload_value(problem, schedule, (term,)))[0]
    offered = decoder.cost(listed)
    if term == "makespan":
        assert offered == pytest.approx(value)
    else:  # above what each job costs at least, all together
        packed = problem.packed
        fastest = np.array([useful_sizes(problem, job)[-1][1] for job in problem.jobs])
        least = fastest * (term != "wait")
        if term == "slowdown":
            least = np.maximum(1, least / np.maximum(packed.runtime, 10))
        total = float((packed.weight * least).sum())
        assert offered == pytest.approx(value * float(packed.weight.sum()) - total, abs=1e-6)


@given(
    problem=problems_without_rounding(),
    seed=st.integers(0, 99),
    temperature=st.sampled_from([0.0, 5.0, 1e9]),
    data=st.data(),
)
def test_moves_are_made_as_by_definition(
    problem: WorkloadProblem, seed: int, temperature: float, data: st.DataObject
) -> None:
    decoder = Decoder(problem, "turnaround")
    schedule = decoder.schedule(drawn_list(problem, decoder, data))
    assert schedule is not None
    search = PieceAnnealer(decoder, schedule, seed)
    random = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1
    caps = decoder.sizes.nodes[decoder.lists_of(schedule)[0].caps].tolist()
    twin = NaiveMoves(problem, pieces_of(schedule), caps, random)
    search.run(temperature, 20)
    for _ in range(20):
        twin.move(temperature)
    assert pieces_of(search.schedule()) == twin.pieces
    assert search.cost == pytest.approx(sum(twin.cost(job) for job in range(len(problem.jobs))))


@given(
    problem=problems(),
    term=st.sampled_from([term for term in WORKLOAD_OBJECTIVES if term != "makespan"]),
    temperature=st.sampled_from([0.0, 10.0]),
    start=st.sampled_from([StaticPrice(), MalleableMin(), Reinsertion()]),
)
def test_moves_keep_schedules_feasible_and_cost_what_the_judge_says(
    problem: WorkloadProblem, term: WorkloadTerm, temperature: float, start: Any
) -> None:
    decoder = Decoder(problem, term)
    schedule = start(problem, Budget(iterations=100)).answer
    assert schedule is not None
    search = PieceAnnealer(decoder, schedule, 1)
    begun = search.cost
    assert search.schedule() == schedule
    for _ in range(3):
        before = search.schedule()
        saved = search.cost - judged_cost(problem, before, term)
        search.run(temperature, 30)
        after = search.schedule()
        assert workload_violations(problem, after) == ()
        assert search.cost == pytest.approx(judged_cost(problem, after, term) + saved, abs=1e-6)
    assert temperature or search.cost <= begun + 1e-6
    again = PieceAnnealer(decoder, schedule, 1)
    for _ in range(3):
        again.run(temperature, 30)
    assert again.schedule() == search.schedule()


@given(problem=problems(max_jobs=5), objective=st.sampled_from(WORKLOAD_OBJECTIVES))
def test_no_worse_than_other_heuristics(problem: WorkloadProblem, objective: WorkloadTerm) -> None:
    result = ListAnnealing((objective,))(problem, Budget(iterations=300))
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    assert result.objective == pytest.approx(workload_value(problem, result.answer, (objective,)))
    others = [answer for answer, _ in quick_answers(problem, (objective,), Budget().start())]
    others += [solver((objective,))(problem, Budget(iterations=300)).answer for solver in (Reinsertion,)]
    if problem.is_malleable:
        others.append(Market((objective,))(problem, Budget()).answer)
    for answer in others:
        assert answer is not None
        other = terms(workload_value(problem, answer, (objective,)))[0]
        assert terms(result.objective or 0.0)[0] <= other * (1 + 1e-9)
    again = ListAnnealing((objective,))(problem, Budget(iterations=300))
    assert (again.answer, again.objective) == (result.answer, result.objective)


def test_two_jobs_reach_the_optimum() -> None:
    """A job that comes later needs nodes that no policy leaves it."""
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 3, "speedup": Amdahl(0.9), "kind": "malleable"}
    problem = WorkloadProblem(
        6, [Job(0, 3, 100, **job), Job(5, 3, 10, **{**job, "min_nodes": 3}), Job(2, 4, 60)]
    )
    best = terms(WorkloadMilp()(problem, Budget(seconds=300)).objective or 0.0)[0]
    found = terms(ListAnnealing()(problem, Budget(iterations=20_000)).objective or 0.0)[0]
    assert best * (1 - 1e-6) <= found <= best * 1.02


def test_a_hole_is_waited_for() -> None:
    """The job would run on one node before the rigid one takes all, so it begins behind."""
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 4, "speedup": PowerLaw(1), "kind": "malleable"}
    problem = WorkloadProblem(4, [Job(10, 4, 5), Job(0, 3, 20), Job(0, 4, 10, **job)])
    decoder = Decoder(problem, "turnaround")
    # The rigid jobs come first: 3 nodes until 20, then all of them until 25.
    schedule = decoder.schedule(SizeList(np.array([1, 0, 2]), decoder.sizes.offsets[:-1].copy()))
    assert schedule is not None
    assert [schedule.pieces(job) for job in range(3)] == [
        ((20.0, 25.0, 4),),
        ((0.0, 20.0, 3),),
        ((25.0, 35.0, 4),),
    ]


@pytest.mark.parametrize(
    ("problem", "fault"),
    [
        (
            WorkloadProblem(4, [Job(0, 2, 7, max_nodes=3, evolution=Phases([(14, None)]))]),
            "job 'j0' is evolving",
        ),
        (WorkloadProblem(4, [Job(0, 2, 7)], closed=[ClosedWindow(3, 9, {"nodes": 1})]), "closed windows"),
    ],
)
def test_what_lists_do_not_know_is_refused(problem: WorkloadProblem, fault: str) -> None:
    with pytest.raises(UnsupportedProblem, match=fault) as caught:
        ListAnnealing()(problem, Budget(iterations=10))
    assert "\n" not in str(caught.value)


def test_many_jobs_get_the_best_of_the_others() -> None:
    problem = WorkloadProblem(4, [Job(idx, 1 + idx % 4, 50) for idx in range(5_001)])
    result = ListAnnealing()(problem, Budget(seconds=60, iterations=100))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()


def test_what_meets_the_bound_is_optimal() -> None:
    result = ListAnnealing()(WorkloadProblem(4, [Job(0, 1, 10)] * 1 + [Job(50, 4, 3, name="b")]), Budget())
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, 6.5, 6.5)
    several = ListAnnealing(("makespan", "wait"))(WorkloadProblem(4, [Job(0, 1, 10)]), Budget())
    assert several.objective == (10.0, 0.0)
    assert several.bound == (-math.inf, -math.inf)


few = settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow])
#: Relative; twice the difference to which the method proves.
NEAR = 2e-6
LAWS = (PowerLaw(1), PowerLaw(0.5), Amdahl(0.9), Amdahl(1), Overhead(0.1))


@st.composite
def free_problems(draw: st.DrawFn, *, most: int, num_nodes: int) -> WorkloadProblem:
    """Jobs that change their size at any time and at no cost, beside rigid ones."""
    jobs = []
    for _ in range(draw(st.integers(1, most))):
        low = draw(st.integers(1, num_nodes))
        high = draw(st.integers(low, num_nodes))
        job: dict[str, Any] = {}
        if high > low or draw(st.booleans()):
            law = draw(st.sampled_from(LAWS))
            job = {"min_nodes": low, "max_nodes": high, "speedup": law, "kind": "malleable"}
        nodes = draw(st.integers(low, high)) if job else low
        weight = draw(st.sampled_from([1, 1, 2]))
        jobs.append(Job(draw(st.integers(0, 20)), nodes, draw(st.integers(1, 40)), weight=weight, **job))
    return WorkloadProblem(num_nodes, jobs)


@few
@given(problem=free_problems(most=3, num_nodes=3), term=st.sampled_from(WORKLOAD_OBJECTIVES))
def test_optima_are_those_of_brute_force(problem: WorkloadProblem, term: WorkloadTerm) -> None:
    result = WorkloadMilp((term,))(problem, Budget(seconds=300))
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(value(problem, result.answer, (term,)), rel=1e-9)
    assert result.objective == pytest.approx(optimum(problem, term), rel=NEAR, abs=NEAR)


@few
@given(problem=free_problems(most=4, num_nodes=6))
def test_the_optimum_is_between_the_bound_of_prices_and_every_heuristic(problem: WorkloadProblem) -> None:
    result = WorkloadMilp()(problem, Budget(seconds=300))
    best = terms(result.objective or 0)[0]
    priced = Prices()(problem, Budget(iterations=1000))
    assert terms(priced.bound)[0] <= best * (1 + NEAR)
    assert result.status is Status.OPTIMAL
    for name, row in solver_names(family_of(problem)).items():
        if row.method == "heuristic":
            try:
                answer = make_solver(name, problem)(problem, Budget(iterations=1000)).answer
            except InvalidOption:
                continue
            assert terms(value(problem, answer, ("turnaround",)))[0] >= best * (1 - NEAR), name


def test_two_jobs_by_hand() -> None:
    """The first takes all that it can use, the second the rest, and more after the end of the first."""
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 30, "speedup": PowerLaw(1), "kind": "malleable"}
    problem = WorkloadProblem(50, [Job(0, 30, 400, **job), Job(20, 30, 400, **job)])
    result = solve(problem, "milp", seconds=300)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx((400 + 380 + (12000 - 20 * 380) / 30) / 2, rel=1e-6)
    assert solve(problem, "milp", "makespan", seconds=300).objective == pytest.approx(
        20 + (24000 - 20 * 30) / 50, rel=1e-6
    )


def test_shares_of_time_between_two_sizes() -> None:
    """Three jobs of at most two nodes on four: none ends before the area allows, so sizes change in turn."""
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 2, "speedup": PowerLaw(1), "kind": "malleable"}
    problem = WorkloadProblem(4, [Job(0, 2, 60, **job) for _ in range(3)])
    result = solve(problem, "milp", "makespan", seconds=300)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(90)
    assert result.answer is not None
    assert np.diff(result.answer.offsets).max() > 1


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"points": 3}, "changes its size at points only"),
        ({"reconfiguration": Stall(fixed=3)}, "pays for changes of its size"),
        ({"size_set": 2}, r"may not have every number of nodes in 2\.\.4"),
        ({"kind": "moldable"}, "is moldable"),
        ({"speedup": SpeedupTable([(2, 10), (3, 9), (4, 1)])}, "its speed is not concave"),
    ],
)
def test_what_it_does_not_know_is_refused(fields: dict[str, Any], fault: str) -> None:
    job: dict[str, Any] = {
        "min_nodes": 2,
        "max_nodes": 4,
        "speedup": PowerLaw(1),
        "kind": "malleable",
        **fields,
    }
    with pytest.raises(UnsupportedProblem, match=f"^job 'j1':? {fault}"):
        WorkloadMilp()(WorkloadProblem(4, [Job(0, 1, 5), Job(0, 2, 10, **job)]), Budget())


def test_more_jobs_get_a_schedule_and_the_bound_of_prices() -> None:
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(0.9), "kind": "malleable"}
    problem = WorkloadProblem(6, [Job(idx, 2, 50 + idx, **job) for idx in range(6)])
    result = WorkloadMilp()(problem, Budget(iterations=200))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    assert 0 < terms(result.bound)[0] < terms(result.objective or 0)[0]
    stopped = WorkloadMilp(max_jobs=6)(problem, Budget(seconds=1e-3))
    assert (stopped.status, stopped.limit) == (Status.FEASIBLE, Limit.TIME)


def test_of_several_terms_the_first_is_bounded() -> None:
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 30, "speedup": PowerLaw(1), "kind": "malleable"}
    problem = WorkloadProblem(50, [Job(0, 30, 400, **job), Job(20, 30, 400, **job)])
    result = WorkloadMilp(("turnaround", "makespan"))(problem, Budget(seconds=300))
    assert result.status is Status.FEASIBLE
    assert terms(result.bound)[0] == terms(result.objective or 0)[0]
