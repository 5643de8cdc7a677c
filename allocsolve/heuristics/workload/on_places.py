"""Queue policies where nodes are places: to the end of a workload, in one call, and in scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.workload._kernels_place_plans import (
    Cursor,
    PlanNumbers,
    Plans,
    Reservation,
    decide_on_places,
    run_on_places,
)
from allocsolve.heuristics.workload._kernels_queue import EASY, FCFS, FIRST_FIT, RESERVING, SLURM
from allocsolve.kernels.node_choices import NOW, Choice, Places
from allocsolve.kernels.records import record, records
from allocsolve.model import WorkloadSchedule, frozen, packed_places
from allocsolve.model.closed_nodes import closed_nodes
from allocsolve.model.places import refuse_devices
from allocsolve.simulation.kernels import NOBODY, Started, initial_state
from allocsolve.simulation.node_choice import (
    NodeChoice,
    Pieces,
    choice_of,
    given_to_kernels,
    new_places,
    pieces_of,
)
from allocsolve.simulation.node_table import hold_spots
from allocsolve.simulation.outcome import Simulation, log_of

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, QueueRule
    from allocsolve.kernels.spans import ClosedNodes
    from allocsolve.model import FloatArray, IntArray, PackedJobs, PackedPlaces, WorkloadProblem
    from allocsolve.simulation import QueueView
    from allocsolve.simulation.kernels import QueueState, State

#: How many jobs may have reservations at once: a call takes some 10 s if so many have.
MOST_PLANNED: Final = 2000


class OnPlaces(NamedTuple):
    """What kernels take of nodes that are places, and a rule that chooses among them."""

    rule: QueueRule
    places: Places
    choice: Choice
    #: None of a policy without reservations, or with a single one.
    plans: Plans | None

    @classmethod
    def of(
        cls,
        given: PackedPlaces,
        rule: QueueRule,
        choice: NodeChoice,
        mix: IntArray | None = None,
        closed: ClosedNodes | None = None,
    ) -> OnPlaces:
        """Return them with nobody on the nodes, some of which may be closed; `mix` is as of `choice_of`.

        `UnsupportedProblem` if the policy is not made for places, or too many jobs may have reservations.
        """
        if rule.kind not in {FCFS, FIRST_FIT, EASY, RESERVING, SLURM}:
            raise UnsupportedProblem("the tool that like= names knows no nodes that are places (node_types)")
        given, planned = given_to_kernels(given), 0
        if rule.kind in {RESERVING, SLURM}:
            most = rule.passes.max_jobs if rule.kind == SLURM else rule.reservations
            planned = min(len(given.shape), most)
            if planned > MOST_PLANNED and rule.kind == RESERVING:
                msg = f"reservations of {planned} jobs: on nodes that are places {MOST_PLANNED} at most"
                raise UnsupportedProblem(msg)
        places = new_places(given, planned, closed)
        plans = _new_plans(places, planned) if planned else None
        return cls(rule, places, choice_of(given, choice, mix), plans)

    @classmethod
    def of_problem(
        cls, problem: WorkloadProblem, given: PackedPlaces, rule: QueueRule, choice: NodeChoice
    ) -> OnPlaces:
        """Return those of a workload, whose places are `given`.

        `UnsupportedProblem` if there are counted resources besides.
        """
        if problem.resources:
            msg = "counted resources beside nodes that are places are not taken into account"
            raise UnsupportedProblem(msg)
        closed = closed_nodes(problem.closed, problem.num_nodes) if problem.closed else None
        return cls.of(given, rule, choice, closed=closed)

    def put(self, jobs: IntArray, pieces: Pieces) -> None:
        """Write where jobs are that run already. O(pieces).

        `UnsupportedProblem` if something is on devices, as nobody says on which of them these jobs are.
        """
        places, numbers = self.places, self.places.numbers
        refuse_devices(places.devices)
        first, count = int(numbers["used"]), len(pieces.nodes)
        places.node[first : first + count] = pieces.nodes
        places.chunks[first : first + count] = pieces.chunks
        places.first[jobs] = first + pieces.offsets[:-1]
        places.pieces[jobs] = np.diff(pieces.offsets)
        numbers["used"] = first + count

    @property
    def written(self) -> tuple[Any, ...]:
        """What a run changes, but for where jobs are that start in it."""
        places = self.places
        return places.shapes, places.numbers, places.free, places.occupants

    def run(
        self,
        jobs: PackedJobs,
        state: State,
        estimates: Estimates,
        *,
        coalesce: bool,
        submit: FloatArray,
        started: Started = NOBODY,
    ) -> None:
        """Run a workload to its end; `submit` is as of `run_on_places`."""
        rest = (self.places, self.choice, submit, started, self.plans)
        run_on_places(jobs, state, estimates, self.rule, coalesce, *rest)


def simulate_on_places(
    problem: WorkloadProblem, rule: QueueRule, estimates: Estimates, choice: NodeChoice, *, coalesce: bool
) -> Simulation:
    """Run a workload to its end, with the reasons of all starts.

    O(queue) for each event, and O(nodes x resources + nodes of the job x shapes of jobs in the queue) for
    each start; with reservations of several jobs O(reservations x (nodes + what is held)) for each of them.
    `UnsupportedProblem` if the policy is not made for places, or there are counted resources.
    """
    packed, asked = problem.jobs.packed, problem.jobs.requirements
    jobs = packed._replace(submit=packed.submit - asked.boost) if len(asked.boost) else packed
    on = OnPlaces.of_problem(problem, packed_places(problem), rule, choice)
    state = initial_state(
        problem.num_nodes, asked.release(packed.submit), ordered=rule.kind not in {FCFS, FIRST_FIT}
    )
    on.run(jobs, state, estimates, coalesce=coalesce, submit=packed.submit)
    schedule = WorkloadSchedule.on_places(problem, state.job["start"], *pieces_of(on.places))
    return Simulation(schedule, log_of(state))


def continued_on_places(
    problem: WorkloadProblem, rule: QueueRule, choice: NodeChoice, running: IntArray, pieces: Pieces
) -> OnPlaces:
    """Return what kernels take of a workload of which some jobs run already, where `pieces` says."""
    given = given_to_kernels(packed_places(problem))
    on = OnPlaces.of_problem(problem, given, rule, choice)
    on.put(running, pieces)
    places = on.places
    for at, job in enumerate(running.tolist()):
        table = places.free[NOW], places.occupants[NOW]
        hold_spots(table, given, int(given.shape[job]), pieces.spots(at))
    return on


def decided_on_places(
    view: QueueView,
    seen: QueueState,
    estimates: Estimates,
    rule: QueueRule,
    choice: NodeChoice,
) -> tuple[float, Pieces]:
    """Decide on a view; the state has who starts. O(nodes + shapes), and the cost of a call of the policy.

    Return when the policy wants to be called, in seconds, infinite for never; and where all jobs of the state
    are.
    """
    shown = view.places
    assert shown is not None
    given = shown.given._replace(shape=shown.given.shape[seen.listed])
    on = OnPlaces.of(given, rule, choice, shown.mix)
    on.put(seen.listed.searchsorted(view.running), shown.pieces)
    on.places.free[NOW][:, : len(given.names)] = shown.free
    on.places.occupants[NOW] = shown.occupants
    started = Started(frozen(seen.running), frozen(seen.starts))
    wake = decide_on_places(seen.jobs, seen.state, estimates, rule, on.places, on.choice, started, on.plans)
    return wake, pieces_of(on.places)


def _new_plans(places: Places, count: int) -> Plans:
    """Return a plan without reservations, with room for so many, for kernels."""
    shapes = len(places.shapes)
    return Plans(
        *(record(PlanNumbers), records(Reservation, count), record(Cursor), record(Cursor)),
        by_begin=np.zeros(count, dtype=np.int64),
        by_end=np.zeros(count, dtype=np.int64),
        failed=np.zeros(shapes, dtype=np.int64),
        seconds=np.zeros(shapes),
        halves=np.array([0, places.numbers["used"] // 2]),
    )
