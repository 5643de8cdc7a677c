"""Running CP-SAT so that Ctrl-C stops it."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, NamedTuple

from ortools.sat.python import cp_model

from allocsolve.errors import SolverUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.model import Budget, Clock

#: Seconds between two looks for Ctrl-C.
_TICK = 0.2


class Outcome(NamedTuple):
    """How a run ended."""

    #: The model has no answer: a proof.
    infeasible: bool
    #: The last answer is optimal for the model: a proof.
    optimal: bool
    #: Proven lower bound on the objective, at least 0; meaningless if `infeasible`.
    bound: float
    interrupted: bool
    #: What was done, in CP-SAT's deterministic seconds.
    effort: float


class _Callback(cp_model.CpSolverSolutionCallback):
    def __init__(
        self, on_solution: Callable[[Callable[[cp_model.LinearExpr], int]], bool], settled: float
    ) -> None:
        super().__init__()
        self._on_solution, self._settled = on_solution, settled
        self.error: BaseException | None = None

    def on_solution_callback(self) -> None:
        try:
            if self.error is None and (
                self._on_solution(self.value) or self.deterministic_time > self._settled
            ):
                return
        except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
            self.error = error
        self.stop_search()


def run_cpsat(
    model: cp_model.CpModel,
    budget: Budget,
    clock: Clock,
    on_solution: Callable[[Callable[[cp_model.LinearExpr], int]], bool],
    *,
    linear: bool = False,
    edge_finding: bool = False,
    effort: float = math.inf,
    settled: float = math.inf,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Minimise the model within the time left.

    For each better answer, `on_solution` is called with a function that evaluates expressions; it returns
    whether to go on. Set `linear` if the objective has many variables, so that linear relaxations help (for
    makespan and completion they only take time), and `edge_finding` to propagate cumulative constraints
    further, which helps where jobs are optional. `effort` limits the run in CP-SAT's deterministic seconds:
    with one worker or with iterations, every run is then the same. After `settled` such seconds the search
    goes on whatever `on_solution` returns. `stop` is called now and then and returns whether to stop.
    The search runs in a thread of its own: the main thread stays free for Ctrl-C, which ends the search and
    is noted in the outcome.
    """
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = budget.racing_workers
    parameters.random_seed = budget.seed
    parameters.linearization_level = 1 if linear else 0
    parameters.use_timetable_edge_finding_in_cumulative = edge_finding
    parameters.catch_sigint_signal = False
    if budget.racing_workers > 1:
        parameters.shared_tree_num_workers = budget.racing_workers
    if effort < math.inf:
        parameters.max_deterministic_time = effort
    parameters.max_time_in_seconds = min(clock.remaining, 1e9)
    callback = _Callback(on_solution, settled)
    statuses: list[object] = []
    done = threading.Event()  # joining a thread is not safe to interrupt

    def search() -> None:
        try:
            statuses.append(solver.solve(model, callback))
        finally:
            done.set()

    threading.Thread(target=search, daemon=True).start()
    interrupted = False
    while not done.is_set():
        try:
            done.wait(_TICK)
        except KeyboardInterrupt:
            interrupted = True
        if interrupted or stop():
            solver.stop_search()
    if callback.error is not None:
        raise callback.error
    if not statuses or statuses[0] == cp_model.MODEL_INVALID:
        msg = f"CP-SAT refuses the model: {model.validate() or 'the solver stopped without a status'}"
        raise SolverUnavailable(msg)
    return Outcome(
        infeasible=statuses[0] == cp_model.INFEASIBLE,
        optimal=statuses[0] == cp_model.OPTIMAL,
        bound=max(solver.best_objective_bound, 0),  # no term is negative
        interrupted=interrupted,
        effort=solver.response_proto.deterministic_time,
    )


def add_capacity(
    model: cp_model.CpModel, intervals: Sequence[cp_model.IntervalVar], demands: Sequence[int], capacity: int
) -> None:
    """At each instant: sum of the demands of the intervals <= capacity."""
    model.add_cumulative(intervals, demands, capacity)
    pairs = zip(intervals, demands, strict=True)
    wide = [interval for interval, demand in pairs if 2 * demand > capacity]
    if len(wide) > 1:
        model.add_no_overlap(wide)
