"""Our queue policies as a scheduler of AccaSim (https://accasim.readthedocs.io), which is not imported."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from allocsolve.adaptors.foreign_cluster import RunningJob
from allocsolve.adaptors.policy_driver import PolicyDriver
from allocsolve.errors import InvalidOption
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.simulation import EngineRules, PolicyLike


class AccasimScheduler:
    """What makes a scheduler of AccaSim call one of our policies.

    Name it before AccaSim's own base class: ``class Ours(AccasimScheduler, SchedulerBase): pass``; then
    ``Ours("easy", FirstFit())`` is a dispatcher. The policy says which jobs start, AccaSim's allocator on
    which nodes.

    Parameters
    ----------
    policy
        As `allocsolve.adaptors.policy_driver` takes it; it decides on rigid jobs.
    allocator
        One of AccaSim's allocators, such as its ``FirstFit``.
    seed, rules
        As of `allocsolve.adaptors.PolicyDriver`.
    others
        Options of AccaSim's ``SchedulerBase``.

    Notes
    -----
    What our policies call a node is a core of AccaSim: a job needs as many as it requests on all its nodes.
    AccaSim calls its scheduler once an instant at which jobs wait, after all events at it
    (``EngineRules(coalesce=True)``). A wake-up becomes a time point of AccaSim.

    Examples
    --------
    See the page "Your simulator, our policies".
    """

    name = "allocsolve"
    #: Set by AccaSim.
    resource_manager: Any

    def __init__(
        self,
        policy: str | PolicyLike,
        allocator: Any,  # noqa: ANN401 - an object of AccaSim
        *,
        seed: int = 0,
        rules: EngineRules | None = None,
        **others: Any,  # noqa: ANN401 - options of AccaSim
    ) -> None:
        super().__init__(seed, None, **others)  # type: ignore[call-arg]  # the class that comes next is AccaSim's
        self._policy, self._nodes, self._seed, self._rules = policy, allocator, seed, rules
        self._driver: PolicyDriver | None = None

    def get_id(self) -> str:
        """Return how AccaSim calls it in its files."""
        text = self._policy if isinstance(self._policy, str) else type(self._policy).__name__
        return f"{self.name}-{text}-{self._nodes.get_id()}"

    def set_resource_manager(self, resource_manager: Any) -> None:  # noqa: ANN401 - an object of AccaSim
        """Take the resources of a simulation, which begins."""
        super().set_resource_manager(resource_manager)  # type: ignore[misc]  # the class that comes next has it
        self._nodes.set_resource_manager(resource_manager)
        capacity = resource_manager.system_capacity("total")["core"]
        self._driver = PolicyDriver(self._policy, capacity, rules=self._rules, seed=self._seed)

    def scheduling_method(
        self, cur_time: float, jobs: Sequence[Any], es_dict: Mapping[str, Any]
    ) -> tuple[list[tuple[float | None, str, list[str]]], list[str]]:
        """Return when and where each queued job starts, and no job as rejected.

        `InvalidOption` if AccaSim's allocator finds no nodes for a job that the policy starts. All jobs that
        wait or run are in `es_dict`, by id.
        """
        driver = self._driver
        assert driver is not None  # AccaSim sets the resources before it asks
        for job in jobs:
            if job.id not in driver.jobs.index:
                _add(driver, job)
        running, used = [], 0
        for key in self.resource_manager.current_allocations:
            cores = _cores(es_dict[key])
            used += cores
            running.append(RunningJob(key, cores, es_dict[key].start_time))
        orders = driver.decide(
            cur_time,
            free=self.resource_manager.system_capacity("total")["core"] - used,
            queue=[job.id for job in jobs],
            running=running,
        )
        placed: dict[Any, tuple[float | None, str, list[str]]] = {}
        if orders:
            self._nodes.set_resources(self.resource_manager.current_availability)
        for order in orders:
            placed[order.key] = self._nodes.allocating_method(es_dict[str(order.key)], cur_time, skip=False)
            if not placed[order.key][2]:
                msg = f"job {shown(order.key)}: AccaSim's allocator finds no {order.nodes} cores for it"
                raise InvalidOption(msg)
        wake = driver.wake if driver.wake < math.inf else None
        return [placed.get(job.id, (wake, job.id, [])) for job in jobs], []


def _cores(job: Any) -> int:  # noqa: ANN401 - an object of AccaSim
    return int(job.requested_nodes) * max(1, int(job.requested_resources.get("core", 1)))


def _add(driver: PolicyDriver, job: Any) -> None:  # noqa: ANN401 - an object of AccaSim
    limit = getattr(job, "expected_duration", None)
    user = getattr(job, "user_id", None)
    driver.jobs.add(
        job.id,
        submit=job.queued_time,
        nodes=_cores(job),
        estimate=None if limit is None or limit < 0 else limit,
        runtime=job.duration,
        user=None if user is None else str(user),
    )
