"""A queue policy of this package under the engine of another program."""

from __future__ import annotations

import math
import warnings
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from allocsolve.adaptors.foreign_cluster import ForeignCluster
from allocsolve.errors import InvalidOption
from allocsolve.model import WorkloadProblem
from allocsolve.model.checks import shown, whole
from allocsolve.model.evolving import packed_evolving
from allocsolve.registry import is_reference, make_solver
from allocsolve.registry.names import parse_name, with_options
from allocsolve.registry.table import GROUP, imported
from allocsolve.simulation.decisions import (
    IllegalDecision,
    Promise,
    Resize,
    Start,
    Wake,
    checked_wake,
)
from allocsolve.simulation.kernels import initial_resizing, initial_state
from allocsolve.simulation.orders import Orders
from allocsolve.simulation.policy import RunnablePolicy, runnable
from allocsolve.simulation.view import can_run_on

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allocsolve.adaptors.foreign_cluster import ForeignJobs, Key, RunningJob
    from allocsolve.model import PackedJobs
    from allocsolve.simulation import Decision, EngineRules, PolicyLike, QueueView
    from allocsolve.simulation.kernels import Resizing, State

#: A policy as a function from views to decisions, and the rules by which it wants to be called.
NamedPolicy: TypeAlias = RunnablePolicy


def named_policy(policy: str | PolicyLike, *, seed: int = 0) -> NamedPolicy:
    """Return a policy, ready for a run.

    `InvalidOption` if it has no such option, or if it is a method that needs to know the whole workload at
    once.

    Parameters
    ----------
    policy
        The name of a registered policy, with options if need be (``easy(like=cqsim)``); what a name of the
        form ``package.module:object`` stands for; or the policy itself. That is a function from views to
        decisions, an object with a method ``decide`` that is one, or a class of either.
    seed
        For a policy that remembers something: its method ``reset`` is called with it.

    Examples
    --------
    >>> named_policy("easy(like=cqsim)").rules.knowledge
    'actual'
    >>> named_policy("serial-generation")
    Traceback (most recent call last):
        ...
    allocsolve.errors.InvalidOption: 'serial-generation' is no queue policy: it has no method decide
    """
    made = _made(policy) if isinstance(policy, str) else policy
    is_registered = isinstance(policy, str) and not is_reference(parse_name(policy).base)
    if is_registered and not (hasattr(made, "decide") or hasattr(made, "online")):
        raise InvalidOption(f"{shown(policy)} is no queue policy: it has no method decide")
    return runnable(made, seed=seed)


def _made(name: str) -> Any:  # noqa: ANN401 - whatever a policy is
    """Return what a name stands for."""
    parsed = parse_name(name)
    if not is_reference(parsed.base):
        return make_solver(name, WorkloadProblem)
    thing = imported(EntryPoint(name, parsed.base, GROUP))
    return with_options(thing, dict(parsed.options)) if parsed.options else thing


#: An order to another program: start a queued job, give a running one another number of nodes at its
#: next point, grant it the nodes that it asks for, or refuse them.
Verb: TypeAlias = Literal["start", "resize", "grant", "refuse"]


class Order(NamedTuple):
    """An order to another program about a job."""

    verb: Verb
    key: Key
    #: On how many nodes the job is to run; of a refused request, what it asked for.
    nodes: int


class IllegalOrder(IllegalDecision):
    """A decision that the rules do not allow, with the key of its job.

    Parameters
    ----------
    job, rule
        As of `allocsolve.simulation.IllegalDecision`.
    key
        What the other program calls the job by; None if the decision is about no job of it.
    """

    def __init__(self, job: int | None, key: Key, rule: str) -> None:
        super().__init__(job, rule)
        self.key = key
        if key is not None:
            self.args = (f"job {shown(key)}: {rule}",)


class PolicyDriver:
    """Calls a policy on the snapshots of another program, and says what that program has to do.

    The program adds each job to `jobs` when it is submitted, calls `decide` whenever jobs have come, ended or
    asked for nodes, and at `wake`, and carries out the orders.

    Parameters
    ----------
    policy
        As `named_policy` takes it: a name such as ``easy``, a function from views to decisions, or an object.
    num_nodes
        Nodes of the machine, >= 1; a job that needs more is refused when it is added.
    rules
        What the policy may know; by default what it asks for. When it is called, the other program says.
    seed
        Of a policy that remembers something.

    Notes
    -----
    Who never looks at `wake` is told once, by a `UserWarning`, when a policy is called later than it has
    asked for: then jobs wait longer than the policy has them wait. A driver is for one run.

    *Complexity*: O(jobs added, queued and running) for each call, and the cost of the policy.

    Examples
    --------
    >>> from allocsolve.adaptors import PolicyDriver, RunningJob
    >>> driver = PolicyDriver("easy", num_nodes=4)
    >>> for key, submit, nodes, estimate in (("a", 0, 3, 100), ("b", 1, 4, 10), ("c", 1, 1, 50)):
    ...     _ = driver.jobs.add(key, submit=submit, nodes=nodes, estimate=estimate)
    >>> driver.decide(1, free=1, queue=["b", "c"], running=[RunningJob("a", nodes=3, start=0)])
    [Order(verb='start', key='c', nodes=1)]
    """

    def __init__(
        self,
        policy: str | PolicyLike,
        num_nodes: int,
        *,
        rules: EngineRules | None = None,
        seed: int = 0,
    ) -> None:
        """Make the policy ready for a run on an idle machine; the parameters are those of the class.

        `InvalidOption`, `UnknownName` or `PluginError` if it is no policy, or if the machine has no node.
        """
        self.policy = named_policy(policy, seed=seed)
        self.rules = rules or self.policy.rules
        self._cluster = ForeignCluster(num_nodes, self.rules.knowledge)
        #: Whether the other program has to be told that it does not look at `wake`.
        self._wake_is_ignored = True
        #: What decisions that change sizes are checked on: state of an engine with room for all jobs.
        self._engine: tuple[State, Resizing] | None = None

    @property
    def jobs(self) -> ForeignJobs:
        """The jobs of the other program: it adds them as they are submitted."""
        return self._cluster.jobs

    @property
    def wake(self) -> float:
        """When the policy wants to be called whatever happens, in seconds; infinite for never."""
        self._wake_is_ignored = False
        return self._cluster.wakes[0] if self._cluster.wakes else math.inf

    def decide(
        self,
        now: float,
        *,
        free: int,
        queue: Iterable[Key],
        running: Iterable[RunningJob] = (),
        requests: Iterable[tuple[Key, int]] = (),
    ) -> list[Order]:
        """Return what the other program has to do now, in this order.

        `IllegalOrder` if a decision breaks a rule: nothing is ordered then; `InvalidOption` if the snapshot
        contradicts itself, or has a job that has not been added.

        Parameters
        ----------
        free
            Nodes that no job holds, and that are not kept for a running job that is to grow.
        queue
            The keys of all jobs that wait, in any order; a policy sees them in that of their submission.
        requests
            Running jobs that ask for another number of nodes, in the order in which they asked, and the
            numbers.
        """
        cluster = self._cluster
        if self._wake_is_ignored and cluster.wakes and cluster.wakes[0] < now:
            self._wake_is_ignored = False
            warnings.warn(_IGNORED.format(cluster.wakes[0], now), stacklevel=2)
        view, begun = cluster.view(float(now), free, queue, running, requests)
        decisions = list(self.policy.decide(view))
        try:
            rows = self._rows(view, decisions)
        except IllegalDecision as error:
            known = error.job is not None and 0 <= error.job < len(self.jobs)
            key = self.jobs.keys[error.job] if known else None  # type: ignore[index]  # a known job is none
            raise IllegalOrder(error.job, key, error.rule) from None
        return [*self._orders("start", begun), *self._carried_out(view, rows)]

    def _orders(self, verb: Verb, sizes: Iterable[tuple[int, int]]) -> Iterator[Order]:
        return (Order(verb, self.jobs.keys[job], nodes) for job, nodes in sizes)

    def _rows(self, view: QueueView, decisions: list[Decision]) -> list[_Row]:
        """Return the decisions but wake-ups, checked."""
        acting = [decision for decision in decisions if not isinstance(decision, Wake)]
        wakes = {checked_wake(decision, view.now) for decision in decisions if isinstance(decision, Wake)}
        waiting = {*view.queue.tolist()} if acting else set()
        rows: list[_Row] = []
        if acting and self.jobs.elastic:
            orders = self._checks(view)
            for decision in acting:
                orders.take(decision, lambda start: (*_checked_start(view, start, waiting), 0, -1))
            rows = [_Row(job, *row[1:4]) for job, row in zip(acting, orders.checked(), strict=True)]
        else:
            free = view.free
            for decision in acting:
                if not isinstance(decision, Start):
                    raise IllegalDecision(None, f"{shown(decision)} is for jobs that are not rigid")
                job, nodes = _checked_start(view, decision, waiting)
                if nodes > free:
                    raise IllegalDecision(job, f"starts on {nodes} nodes, but {free} are free")
                free -= nodes
                waiting.remove(job)
                rows.append(_Row(decision, job, nodes, 0))
        self._cluster.wakes = sorted(wakes.union(self._cluster.wakes))
        return rows

    def _checks(self, view: QueueView) -> Orders:
        """Return the checks of the engine on what a view shows. O(queued and running jobs)."""
        count, running, promises = len(self.jobs), view.running, view.promises
        if self._engine is None or len(self._engine[0].job) < count:
            self._engine = (
                initial_state(view.num_nodes, np.zeros(0), ordered=False, resizable=True, num_jobs=2 * count),
                initial_resizing(np.zeros(2 * count), packed_evolving((), (), 2 * count), changes_per_job=0),
            )
        state, resizing = self._engine
        engine, ledger, ends = state.engine, resizing.ledger, state.ends
        job, elastic = state.job, resizing.job
        engine["clock"], engine["free"], engine["running"] = view.now, view.free, len(running)
        ends["item"][: len(running)], state.end_places[running] = running, np.arange(len(running))
        job["start"][running], job["start"][view.queue] = view.jobs.start[running], np.nan
        job["end"][view.completed] = view.now
        job["size"][running], elastic["target"][running] = view.held, view.targets
        ledger["pool"], ledger["last_promise"] = view.pool, len(promises)
        resizing.promises[: len(promises)] = promises
        elastic["promise"][running], elastic["promise"][promises] = 0, view.promised_nodes
        elastic["request"][running], elastic["reading"][running] = 0, view.jobs.reading[running]
        elastic["request"][view.requests] = view.requested_nodes
        return Orders(state, resizing, cast("PackedJobs", view.jobs))

    def _carried_out(self, view: QueueView, rows: list[_Row]) -> Iterator[Order]:
        """Note decisions, and return what follows from them."""
        cluster, now = self._cluster, view.now
        for decision, job, nodes, promised in rows:
            if isinstance(decision, Start):
                cluster.start(job, nodes, now)
                yield from self._orders("start", [(job, nodes)])
            elif isinstance(decision, Resize):
                cluster.resize(job, nodes, promised, now)
                yield from self._orders("resize", [(job, nodes)])
            elif isinstance(decision, Promise):
                cluster.promise(job, nodes, promised)
                yield from self._orders("start", cluster.start_promised(now))
            else:
                asked = int(view.requested_nodes[view.requests == job][0])
                yield from self._orders("grant" if nodes else "refuse", [(job, asked)])


#: What is said of a program that does not call a policy when that asks for it.
_IGNORED: Final = (
    "the policy asked to be called at {:.15g} s, and is called at {:.15g} s: call decide at the time that "
    "wake says, too, or jobs wait longer than this policy has them wait"
)


class _Row(NamedTuple):
    """A checked decision."""

    decision: Decision
    job: int
    #: What the job is to hold; of an answer, whether it is granted.
    nodes: int
    #: Of nodes that it gives up, how many are promised to another job; of a promise, how many are free ones.
    promised: int


def _checked_start(view: QueueView, decision: Start | Promise, waiting: set[int]) -> tuple[int, int]:
    """Return the job that starts, and its nodes, if it waits and can run on them."""
    try:
        job, nodes = whole(decision.job), whole(decision.nodes)
    except TypeError:
        raise IllegalDecision(None, f"{shown(decision)} is malformed") from None
    if job not in waiting:
        raise IllegalDecision(job, "is not in the queue")
    if not can_run_on(view.jobs, job, nodes):
        raise IllegalDecision(job, f"cannot run on {nodes} nodes")
    return job, nodes
