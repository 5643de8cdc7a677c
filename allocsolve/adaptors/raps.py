"""Our queue policies and allocators inside ExaDigiT/RAPS (https://github.com/ExaDigiT/RAPS), not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from allocsolve.adaptors.foreign_cluster import RunningJob
from allocsolve.adaptors.policy_driver import PolicyDriver
from allocsolve.errors import InvalidOption
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.simulation import EngineRules, PolicyLike

#: The policy of RAPS that repeats what was: it puts jobs that run already onto the nodes before it begins.
_REPLAY: Final = "replay"


class RapsScheduler:
    """A scheduler of RAPS that calls one of our policies: ``engine.scheduler = RapsScheduler(...)``.

    Parameters
    ----------
    scheduler
        The one that RAPS has made: it puts jobs onto nodes, and repeats what was before the simulation.
    policy
        As `allocsolve.adaptors.policy_driver` takes it; it decides on rigid jobs.
    choose
        Which nodes a job gets, see `allocsolve.adaptors.node_chooser`; if left out, the first free ones.
    rules, seed
        As of `allocsolve.adaptors.PolicyDriver`.

    Notes
    -----
    RAPS goes on in ticks of one second and calls once an instant (``EngineRules(coalesce=True)``), if jobs
    have ended or were submitted: wake-ups are not possible, and a policy that asks for one is called at the
    next event. A job of RAPS holds its nodes for a second longer than it runs.
    """

    def __init__(
        self,
        scheduler: Any,  # noqa: ANN401 - an object of RAPS
        policy: str | PolicyLike,
        *,
        choose: Callable[[Any, int], list[int] | None] | None = None,
        rules: EngineRules | None = None,
        seed: int = 0,
    ) -> None:
        self._scheduler, self._choose = scheduler, choose
        self._driver = PolicyDriver(policy, scheduler.resource_manager.total_nodes, rules=rules, seed=seed)

    @property
    def policy(self) -> Any:  # noqa: ANN401 - a member of an enumeration of RAPS
        """The policy of RAPS, which our policy replaces unless it is the one that repeats what was."""
        return self._scheduler.policy

    @policy.setter
    def policy(self, policy: Any) -> None:  # noqa: ANN401 - as it is read
        self._scheduler.policy = policy

    @property
    def bfpolicy(self) -> Any:  # noqa: ANN401 - a member of an enumeration of RAPS
        """The backfilling of RAPS, which our policy replaces."""
        return self._scheduler.bfpolicy

    @bfpolicy.setter
    def bfpolicy(self, policy: Any) -> None:  # noqa: ANN401 - as it is read
        self._scheduler.bfpolicy = policy

    def schedule(
        self,
        queue: list[Any],
        running: list[Any],
        current_time: float,
        accounts: Any = None,  # noqa: ANN401 - RAPS hands it on
        sorted: bool = False,  # noqa: A002, FBT001, FBT002 - RAPS calls it so
    ) -> None:
        """Start jobs: they leave the queue and are among the running ones then.

        Both lists are those of RAPS, and are changed; `accounts` and `sorted` are handed on while it repeats
        what was. `InvalidOption` if the allocator finds no nodes for a job that the policy starts.
        """
        if getattr(self.policy, "value", self.policy) == _REPLAY:
            self._scheduler.schedule(queue, running, current_time, accounts=accounts, sorted=sorted)
            return
        waiting = {job.id: job for job in queue}
        for job in (*running, *queue):
            if job.id not in self._driver.jobs.index:
                self._add(job)
        orders = self._driver.decide(
            current_time,
            free=len(self._scheduler.resource_manager.available_nodes),
            queue=waiting,
            running=[RunningJob(job.id, job.nodes_required, job.start_time) for job in running],
        )
        for order in orders:
            job = waiting[order.key]
            job.scheduled_nodes = []
            self._put_first(order.key, order.nodes)
            self._scheduler.place_job_and_manage_queues(job, queue, running, current_time)

    def _add(self, job: Any) -> None:  # noqa: ANN401 - an object of RAPS
        self._driver.jobs.add(
            job.id,
            submit=job.submit_time,
            nodes=job.nodes_required,
            estimate=job.time_limit or None,
            runtime=None if job.expected_run_time is None else job.expected_run_time + 1,
            user=job.account,
        )

    def _put_first(self, key: Any, nodes: int) -> None:  # noqa: ANN401 - an id of RAPS
        """Put the nodes that a job is to get before all other free nodes, of which RAPS takes the first."""
        if self._choose is None:
            return
        manager = self._scheduler.resource_manager
        chosen = self._choose(manager.available_nodes, nodes)
        if chosen is None:
            raise InvalidOption(f"job {shown(key)}: the allocator finds no {nodes} nodes for it")
        taken = {*chosen}
        manager.available_nodes = [*chosen, *(node for node in manager.available_nodes if node not in taken)]
