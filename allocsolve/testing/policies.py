"""The contract of a queue policy as one function, and as a class of tests to inherit."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from allocsolve.errors import UnknownName
from allocsolve.instances.generators.examples import easy_counterexamples
from allocsolve.model import Amdahl, Job, Jobs, WorkloadProblem
from allocsolve.simulation import Engine, IllegalDecision, Promise, Resize, Start
from allocsolve.simulation.policy import instantiated, runnable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.simulation import Decision, Policy, QueueView

#: What is checked: a policy, or what somebody takes for one.
Subject: TypeAlias = Any


def example_workloads() -> tuple[WorkloadProblem, ...]:
    """Return small workloads: no job, one, equal ones, counterexamples of EASY, random, of all kinds."""
    random = (_random_workload(seed) for seed in range(6))
    moldable = [
        Job(5 * idx, 4, 60, min_nodes=2, max_nodes=8, speedup=Amdahl(0.9), name=f"moldable-{idx}")
        for idx in range(6)
    ]
    malleable = [
        replace(job, kind="malleable", points=idx % 3 * 6, name=f"malleable-{idx}")
        for idx, job in enumerate(moldable)
    ]
    malleable.append(Job(12, 3, 50, name="rigid"))
    return (
        WorkloadProblem(4, [], name="no-job"),
        WorkloadProblem(4, [Job(7, 4, 10)], name="one-job"),
        WorkloadProblem(4, [Job(0, 3, 10, 40)] * 5, name="all-alike"),
        *easy_counterexamples(),
        *random,
        WorkloadProblem(8, moldable, name="moldable"),
        WorkloadProblem(8, malleable, name="malleable"),
    )


def _random_workload(seed: int) -> WorkloadProblem:
    """Return forty jobs under load; every third run time is the limit, the others are below it."""
    rng = np.random.default_rng(seed)
    runtimes = rng.integers(1, 200, 40)
    factors = np.where(np.arange(40) % 3 == 0, 1, rng.integers(1, 6, 40))
    submits = np.cumsum(rng.integers(0, 40, 40))
    jobs = Jobs(submits, rng.integers(1, 17, 40), runtimes, runtimes * factors)
    return WorkloadProblem(16, jobs, name=f"random-{seed}")


@dataclass(frozen=True, slots=True)
class _Claims:
    """What a policy says of itself, see `check_policy`."""

    order: Callable[[QueueView], Sequence[int]]
    starts_head: bool
    reserves_head: bool
    starts_like: str | None


def check_policy(
    policy: Subject,
    *,
    starts_head: bool = False,
    reserves_head: bool = False,
    starts_like: str | None = None,
    order: Callable[[QueueView], Sequence[int]] | None = None,
    examples: Sequence[WorkloadProblem] | None = None,
) -> None:
    """Check that a policy keeps the contract of queue policies, on small workloads.

    What is checked, in this order: the same view twice gives the same decisions, or, if the policy remembers
    something, two runs of a workload are equal; all decisions are legal, and all jobs start; and what else
    the policy claims.

    Parameters
    ----------
    policy
        A function from views to decisions, an object with a method ``decide`` that is one, or a class of
        either that takes no arguments. Its attribute ``rules`` says by which rules it is called. One that
        remembers something has a method ``reset``, called with a seed before each run.
    starts_head
        Whether it claims that no node idles while the first job in the queue fits, as work-conserving
        policies do. One that starts a limited number of jobs a call, or waits on purpose, does not.
    reserves_head
        Whether it claims that the first job in the queue, once it does not fit, starts no later than the
        running jobs are expected to leave it enough nodes (for estimates that are exact).
    starts_like
        Which rule it claims to be, such as ``"easy"``: a key of ``meta["starts"]`` of
        `allocsolve.instances.easy_counterexamples`.
    order
        In which order it looks at the queue of a view; that of submission if left out.
    examples
        The workloads; by default `example_workloads`.

    Raises
    ------
    AssertionError
        With what is wrong, where and when.
    UnknownName
        If no counterexample knows the rule that it claims to be.

    Examples
    --------
    >>> from allocsolve.heuristics.workload.policies import Easy
    >>> check_policy(Easy(), starts_head=True, reserves_head=True, starts_like="easy")
    """
    claims = _Claims(order or _submission, starts_head, reserves_head, starts_like)
    for check in _CHECKS:
        _apply(check, policy, claims, examples)


def _apply(
    check: _Check, policy: Subject, claims: _Claims, examples: Sequence[WorkloadProblem] | None
) -> None:
    subject = instantiated(policy)
    check(subject, claims, example_workloads() if examples is None else examples)


def _submission(view: QueueView) -> Sequence[int]:
    return tuple(view.queue.tolist())


_Check: TypeAlias = Callable[[Subject, _Claims, Sequence[WorkloadProblem]], None]


def check_repeatable(policy: Subject, _claims: _Claims, problems: Sequence[WorkloadProblem]) -> None:
    """Decide the same on the same view; what remembers something, the same in a second run."""
    for problem in problems:
        ready = runnable(policy)
        if ready.remembers:
            first, again = ([made for _, made in _calls(policy, problem)] for _ in range(2))
            assert first == again, f"{problem.name}: a second run after reset(0) decides otherwise"
            continue
        for view, decisions in _calls(policy, problem):
            _same(problem, view, decisions, _decisions(ready.decide, view, problem))


def check_legal(policy: Subject, _claims: _Claims, problems: Sequence[WorkloadProblem]) -> None:
    """Break no rule of the engine, and start every job some day."""
    for problem in problems:
        waiting = set(range(len(problem.jobs)))
        for _, decisions in _calls(policy, problem):
            waiting -= {decision.job for decision in decisions if isinstance(decision, Start | Promise)}
        assert not waiting, f"{problem.name}: job {min(waiting)} is never started"


def check_no_idling(policy: Subject, claims: _Claims, problems: Sequence[WorkloadProblem]) -> None:
    """Leave no node idle while the head of the queue fits, if the policy claims so."""
    for problem in problems if claims.starts_head else ():
        for view, decisions in _calls(policy, problem):
            served = {d.job: d.nodes for d in decisions if isinstance(d, Start | Promise)}
            queue = [job for job in claims.order(view) if job not in served]
            free = (
                view.free - sum(d.nodes for d in decisions if isinstance(d, Start)) - _grown(view, decisions)
            )
            if queue:
                needed = int(view.jobs.nodes[queue[0]])
                fault = f"job {queue[0]}, the head, needs {needed} nodes and does not start; {free} are free"
                assert needed > free, f"{_at(problem, view)}: {fault}"


def _grown(view: QueueView, decisions: Sequence[Decision]) -> int:
    """Return how many free nodes running jobs take."""
    size = dict(zip(view.running.tolist(), view.held.tolist(), strict=True))
    size |= {d.job: d.nodes for d in decisions if isinstance(d, Start | Promise)}
    grown = 0
    for decision in decisions:
        if isinstance(decision, Resize):
            grown += max(0, decision.nodes - size[decision.job])
            size[decision.job] = decision.nodes
    return grown


def check_head(policy: Subject, claims: _Claims, problems: Sequence[WorkloadProblem]) -> None:
    """Start the head, once it is blocked, no later than estimates say, where they are exact."""
    for problem in problems if claims.reserves_head else ():
        if not problem.is_rigid:
            continue
        head, promise = -1, math.inf
        for view, decisions in _calls(policy, _exact(problem)):
            started = [d.job for d in decisions if isinstance(d, Start)]
            fault = f"job {head}, the head, starts after its shadow time of {promise:.15g} s"
            late = head in view.queue.tolist() and view.now > promise
            assert not late, f"{_at(problem, view)}: {fault}"
            order = list(claims.order(view))
            at = next((at for at, job in enumerate(order) if job not in started), None)
            if at is None:
                head = -1
            elif order[at] != head:
                head = order[at]
                promise = _shadow_time(view, order[:at], head)


def check_counterexamples(policy: Subject, claims: _Claims, _: Sequence[WorkloadProblem]) -> None:
    """Start the jobs of the counterexamples when the rule does that the policy claims to be."""
    if claims.starts_like is None:
        return
    cases: list[tuple[WorkloadProblem, Any]] = [
        (case, case.meta["starts"]) for case in easy_counterexamples()
    ]
    known = {rule for _, starts in cases for rule in starts}
    if claims.starts_like not in known:
        raise UnknownName("rule of the counterexamples", claims.starts_like, sorted(known))
    for case, expected in cases:
        if claims.starts_like not in expected:
            continue
        starts = {
            decision.job: view.now
            for view, decisions in _calls(policy, case)
            for decision in decisions
            if isinstance(decision, Start)
        }
        got = [starts.get(job) for job in range(len(case.jobs))]
        want = expected[claims.starts_like]
        assert got == want, f"{case.name}: starts at {got}, {claims.starts_like} at {want}"


_CHECKS: tuple[_Check, ...] = (
    check_repeatable,
    check_legal,
    check_no_idling,
    check_head,
    check_counterexamples,
)


def _calls(policy: Subject, problem: WorkloadProblem) -> Iterator[tuple[QueueView, tuple[Decision, ...]]]:
    """Run a workload; give each view and what is decided on it, and then do it."""
    ready = runnable(policy)
    engine = Engine(problem, ready.rules)
    while (view := engine.advance()) is not None:
        decisions = _decisions(ready.decide, view, problem)
        yield view, decisions
        try:
            engine.apply(decisions)
        except IllegalDecision as error:
            raise AssertionError(f"{_at(problem, view)}: {error}") from error


def _decisions(decide: Policy, view: QueueView, problem: WorkloadProblem) -> tuple[Decision, ...]:
    try:
        return tuple(decide(view))
    except Exception as error:
        msg = f"{_at(problem, view)}: the policy raises {type(error).__name__}: {error}"
        raise AssertionError(msg) from error


def _same(
    problem: WorkloadProblem, view: QueueView, first: tuple[Decision, ...], again: tuple[Decision, ...]
) -> None:
    assert first == again, f"{_at(problem, view)}: decides {first}, then on the same view {again}"


def _shadow_time(view: QueueView, before: Sequence[int], head: int) -> float:
    """Return when enough nodes are expected to be free for the head, with those before it running."""
    jobs = view.jobs
    ends: list[tuple[float, int]] = list(zip(view.expected_ends.tolist(), view.held.tolist(), strict=True))
    ends += [(view.now + float(jobs.estimate[job]), int(jobs.nodes[job])) for job in before]
    free = view.free - sum(int(jobs.nodes[job]) for job in before)
    for end, nodes in sorted(ends):
        if free >= jobs.nodes[head]:
            return view.now
        free += nodes
        if free >= jobs.nodes[head]:
            return end
    return view.now


def _exact(problem: WorkloadProblem) -> WorkloadProblem:
    """Return a rigid workload whose users ask for the run times."""
    packed = problem.packed
    jobs = Jobs(packed.submit, packed.nodes, packed.runtime, packed.runtime, names=problem.jobs.names)
    return WorkloadProblem(problem.num_nodes, jobs, name=problem.name)


def _at(problem: WorkloadProblem, view: QueueView) -> str:
    return f"{problem.name} at {view.now:.15g} s"


class PolicyConformance:
    """What `check_policy` does as tests: a subclass whose name starts with ``Test`` is collected by pytest.

    Attributes
    ----------
    policy, starts_head, reserves_head, starts_like, examples
        See the parameters of `check_policy`.

    Examples
    --------
    >>> from allocsolve.heuristics.workload.policies import Fcfs
    >>> class TestFcfs(PolicyConformance):
    ...     policy = Fcfs()
    ...     starts_like = "fcfs"
    >>> TestFcfs().test_named_counterexamples()
    """

    policy: ClassVar[Subject]
    starts_head: ClassVar[bool] = False
    reserves_head: ClassVar[bool] = False
    starts_like: ClassVar[str | None] = None
    examples: ClassVar[Sequence[WorkloadProblem] | None] = None

    def order(self, view: QueueView) -> Sequence[int]:
        """Return the queue of a view in the order of the policy: override it if that is not submission."""
        return _submission(view)

    def test_same_view_same_decisions(self) -> None:
        """The same view twice gives the same decisions."""
        self._apply(check_repeatable)

    def test_decisions_are_legal(self) -> None:
        """No decision breaks a rule, and every job is started."""
        self._apply(check_legal)

    def test_no_idle_nodes_while_the_head_fits(self) -> None:
        """The head of the queue starts as soon as it fits, if the policy claims so."""
        self._apply(check_no_idling)

    def test_head_is_not_delayed(self) -> None:
        """With exact estimates the head starts by its shadow time, if the policy claims so."""
        self._apply(check_head)

    def test_named_counterexamples(self) -> None:
        """The counterexamples of EASY start as the rule does that the policy claims to be."""
        self._apply(check_counterexamples)

    def _apply(self, check: _Check) -> None:
        policy = inspect.getattr_static(self, "policy", None)  # a function would become a method
        assert policy is not None, f"{type(self).__name__} has no attribute 'policy': set it to yours"
        policy = policy.__func__ if isinstance(policy, staticmethod) else policy
        claims = _Claims(self.order, self.starts_head, self.reserves_head, self.starts_like)
        _apply(check, policy, claims, self.examples)
