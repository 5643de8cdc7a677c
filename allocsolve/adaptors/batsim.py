"""A queue policy of ours as a scheduler of pybatsim, the Python side of Batsim's protocol."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from allocsolve.adaptors.foreign_cluster import RunningJob
from allocsolve.adaptors.policy_driver import PolicyDriver
from allocsolve.errors import InvalidOption
from allocsolve.model.checks import shown
from allocsolve.model.speedup import SpeedupTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.simulation import EngineRules, PolicyLike


class Machines(tuple[int, ...]):
    """The numbers of the machines of a job, rising; its text is Batsim's: ``0-2 5``."""

    __slots__ = ()

    def __str__(self) -> str:
        firsts = [node for at, node in enumerate(self) if not at or self[at - 1] != node - 1]
        lasts = [node for at, node in enumerate(self) if at + 1 == len(self) or self[at + 1] != node + 1]
        pairs = zip(firsts, lasts, strict=True)
        return " ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in pairs)


class PybatsimScheduler:
    """Any queue policy, with what pybatsim calls of its schedulers.

    Parameters
    ----------
    policy
        As `allocsolve.adaptors.PolicyDriver` takes it.
    choose
        Which machines a job gets: the lowest free ones, or what `allocsolve.adaptors.node_chooser` returns,
        with machines counted from 0. Where that finds none, the job waits for the next message.
    rules
        What the policy may know, such as the run times of profiles of the type ``delay``, and whether it is
        called once a message or once for each job that is submitted or ends; by default what it asks for.
    seed
        Of a policy that remembers something.

    Notes
    -----
    Jobs that ask for more machines than there are are rejected. A job without a walltime is taken to ask for
    1.25 times its delay; with another profile nobody knows when it ends.

    A job is moldable if its description in the workload has ``sizes``: a profile and a walltime for each
    number of machines, ``{"4": {"profile": "p4", "walltime": 60}, ...}``, that of ``res`` among them.
    On another number than ``res`` it starts as a job that is registered then, by the name ``JOB_4``, and is
    itself rejected; so Batsim has to run with dynamic registration, without which the job is rigid. Batsim
    changes the size of no running job.
    *Complexity*: as of `allocsolve.adaptors.PolicyDriver`, and O(machines) for each start.
    """

    bs: Any  #: The client of pybatsim, which sets itself.

    def __init__(
        self,
        policy: str | PolicyLike,
        *,
        choose: Callable[[Sequence[int], int], Sequence[int] | None] | None = None,
        rules: EngineRules | None = None,
        seed: int = 0,
    ) -> None:
        self.policy, self.choose, self._rules, self._seed = policy, choose or _lowest, rules, seed

    def onSimulationBegins(self) -> None:  # noqa: N802 - pybatsim's name, as are all that follow
        """Note which machines there are."""
        self._machines = sorted(self.bs.compute_resources)
        self._free = {*range(len(self._machines))}
        self._driver = PolicyDriver(self.policy, len(self._machines), rules=self._rules, seed=self._seed)
        self._waiting: dict[str, Any] = {}
        self._running: dict[str, RunningJob] = {}
        #: Of jobs that run: the places of their machines; of registered ones: what they were before.
        self._held: dict[str, list[int]] = {}
        self._origin: dict[str, str] = {}
        self._news = self._last_submitted = self._all_registered = False
        self._asked = math.inf

    def _nothing(self) -> None:
        """Do nothing: of this a policy knows nothing."""

    onAfterBatsimInit = onBeforeEvents = onNoMoreExternalEvents = onSimulationEnds = _nothing  # noqa: N815 - pybatsim's name

    def onDeadlock(self) -> None:  # noqa: N802 - pybatsim's name
        """Refuse to wait any longer."""
        raise InvalidOption(f"Batsim is silent, and {len(self._waiting)} jobs wait")

    def onNoMoreJobsInWorkloads(self) -> None:  # noqa: N802 - pybatsim's name
        """Note that no job will be submitted any more."""
        self._last_submitted = True

    def onJobSubmission(self, job: Any) -> None:  # noqa: ANN401, N802 - pybatsim's
        """Note a job that waits from now on."""
        if job.id in self._origin:  # the registration is acknowledged
            return
        if job.requested_resources > len(self._machines):
            self.bs.reject_jobs([job])
            return
        self._waiting[job.id] = job
        profile = job.profile_dict or {}
        self._driver.jobs.add(
            job.id,
            submit=job.submit_time,
            nodes=job.requested_resources,
            estimate=_walltime(job),
            runtime=profile.get("delay") if profile.get("type") == "delay" else None,
            **self._sizes(job),
        )
        self._note()

    def onJobCompletion(self, job: Any) -> None:  # noqa: ANN401, N802 - pybatsim's
        """Note that a job has ended, in whatever way, and left its machines."""
        key = self._origin.get(job.id, job.id)
        if self._running.pop(key, None):
            self._free.update(self._held.pop(key))
            self._note()

    def onJobsKilled(self, jobs: Sequence[Any]) -> None:  # noqa: N802 - pybatsim's name
        """Note that jobs have been killed."""
        for job in jobs:
            self.onJobCompletion(job)

    def onRequestedCall(self) -> None:  # noqa: N802 - pybatsim's name
        """Call the policy, as it has asked for."""
        self._asked = math.inf
        self._note()

    def onNoMoreEvents(self) -> None:  # noqa: N802 - pybatsim's name
        """Decide, at the end of a message."""
        if self._news:
            self._decide()
        over = self._last_submitted and not (self._waiting or self._all_registered)
        if over and self.bs.dynamic_job_registration_enabled:
            self._all_registered = True
            self.bs.notify_registration_finished()

    def _note(self) -> None:
        self._news = True
        if not self._driver.rules.coalesce:
            self._decide()

    def _decide(self) -> None:
        self._news, now = False, self.bs.time()
        orders = self._driver.decide(
            now, free=len(self._free), queue=self._waiting, running=self._running.values()
        )
        for order in orders:
            places = self.choose(sorted(self._free), order.nodes)
            if places is not None:
                key = str(order.key)
                self._start(self._waiting.pop(key), order.nodes, sorted(places))
                self._running[key] = RunningJob(key, order.nodes, now)
        if self._driver.wake < self._asked:
            self._asked = self._driver.wake
            self.bs.wake_me_up_at(self._asked)

    def _start(self, job: Any, nodes: int, places: list[int]) -> None:  # noqa: ANN401 - pybatsim's
        self._held[job.id] = places
        self._free.difference_update(places)
        if nodes != job.requested_resources:
            size, name = job.json_dict["sizes"][str(nodes)], f"{job.id}_{nodes}"
            self.bs.reject_jobs([job])
            self._origin[name] = job.id
            job = self.bs.register_job(name, nodes, size["walltime"], size["profile"], job.submit_time)
        job.allocation = Machines(self._machines[place] for place in places)
        self.bs.execute_jobs([job])

    def _sizes(self, job: Any) -> dict[str, Any]:  # noqa: ANN401 - pybatsim's
        """Return what makes a job moldable, if it is."""
        sizes = job.json_dict.get("sizes")
        if not (sizes and self.bs.dynamic_job_registration_enabled):
            return {}
        if str(job.requested_resources) not in sizes:
            raise InvalidOption(
                f"job {shown(job.id)}: its sizes are {', '.join(sizes)}, but res is {job.requested_resources}"
            )
        rows = sorted((int(size), float(profile["walltime"])) for size, profile in sizes.items())
        table = SpeedupTable(row for row in rows if row[0] <= len(self._machines))
        low, high = table.rows[0][0], table.rows[-1][0]
        return {"kind": "moldable", "min_nodes": low, "max_nodes": high, "speedup": table}


def _walltime(job: Any) -> float | None:  # noqa: ANN401 - pybatsim's
    """Return the walltime of a job; pybatsim writes -1 where there is none."""
    return None if job.requested_time is None or job.requested_time < 0 else float(job.requested_time)


def _lowest(free: Sequence[int], nodes: int) -> Sequence[int]:
    return free[:nodes]
