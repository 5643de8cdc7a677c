"""Our policies as scheduling algorithms of ElastiSim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from allocsolve.adaptors.foreign_cluster import RunningJob
from allocsolve.adaptors.node_choice import HeldNodes
from allocsolve.adaptors.policy_driver import PolicyDriver, named_policy
from allocsolve.errors import InvalidProblem
from allocsolve.model.checks import shown, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from allocsolve.model import BoolArray, JobKind, Speedup
    from allocsolve.simulation import PolicyLike


class ElastisimScheduler:
    """A policy as the function ``schedule(jobs, nodes, system)`` that ElastiSim calls.

    Parameters
    ----------
    policy
        As `allocsolve.adaptors.policy_driver` takes it: a name, or the policy itself.
    choose
        Which nodes a job gets, as from `allocsolve.adaptors.node_chooser`; see `HeldNodes`.
    coalesce
        Whether the policy is called at periodic calls (``scheduling_interval``) and requests only. ElastiSim
        hands on the events of one instant one by one, and does not say which is the last: only its timer can
        take them together.
    speedup
        From a job of ElastiSim to its law; if left out, times are taken to be the same on all sizes.

    Notes
    -----
    The ``walltime`` of a job is its estimate; without one it is expected to run for ever. Its preferred nodes
    are the argument ``num_nodes_pref``, or the middle of its range. Adaptive jobs count as malleable. Who
    asks for fewer nodes gives them back at once; requests for more that are not granted lapse.

    Running jobs change their sizes at their next scheduling points. Where ElastiSim would lose a change (the
    job starts or changes in the same call) or make it at once (the job is at a point), the next call hands
    it on. With ``schedule_on_scheduling_point`` all changes come when our engine with ``coalesce=False``
    makes them; with ``schedule_on_reconfiguration`` instead there are fewer calls, and these changes may come
    some points later. Without either, nodes that a job has given up are seen at the next event only.
    Of jobs that end at one instant ElastiSim takes the one that started first, our engine that of the lowest
    index: schedules whose events meet in this way may differ.

    *Complexity*: O(queued and running jobs) for each call, O(nodes) for each job that gets some, and the cost
    of the policy. *Reference*: Ozden et al., "ElastiSim: a batch-system simulator for malleable workloads",
    ICPP 2022.

    Examples
    --------
    What runs beside the simulator::

        elastisim_python.pass_algorithm(ElastisimScheduler("malleable-min"), "ipc://elastisim.ipc")
    """

    def __init__(
        self,
        policy: str | PolicyLike,
        *,
        choose: Callable[[BoolArray, int], Iterable[int] | None] | None = None,
        coalesce: bool = False,
        speedup: Callable[[Any], Speedup | None] | None = None,
    ) -> None:
        self._choose, self._coalesce, self._speedup = choose, coalesce, speedup
        self._policy = named_policy(policy)
        self._jobs: Sequence[Any] = ()
        self._nodes: Sequence[Any] = ()
        #: Jobs that wait, in the order of submission.
        self._queue: dict[int, None] = {}

    def __call__(self, jobs: Sequence[Any], nodes: Sequence[Any], system: Mapping[str, Any]) -> None:
        """Assign nodes to jobs, as ElastiSim expects it."""
        if not self._nodes:
            self._held = HeldNodes(len(nodes), self._choose)
            self._driver = PolicyDriver(self._policy, len(nodes))
        self._jobs, self._nodes = jobs, nodes
        for job in sorted(jobs[len(self._driver.jobs) :], key=lambda job: job.identifier):
            self._submit(job)
        kind = system["invocation_type"].name
        stopped = kind in {"INVOKE_SCHEDULING_POINT", "INVOKE_EVOLVING_REQUEST"}
        at_point = system["job"].identifier if stopped else -1
        self._see(at_point)
        #: Nodes that are free once this call is over: for jobs that start, not for those that are to grow.
        self._leaving = set[int]()
        requests: list[tuple[int, int]] = []
        is_due = kind == "INVOKE_PERIODIC" or not (self._coalesce or kind == "INVOKE_SCHEDULING_POINT")
        if stopped:
            held = self._held.jobs[at_point]
            is_due = is_due or (held.changes and not self._coalesce)
            self._change(at_point)
            size = int(system.get("evolving_request", len(held.held)))
            if size < len(held.held):
                self._held.plan(at_point, size)
                self._change(at_point)
            elif size > len(held.held):
                requests.append((at_point, size))
        if is_due or requests:
            self._decide(system["time"], requests)
        for key, held in self._held.jobs.items():
            runs = not held.is_reported and key != at_point and jobs[key].state.name == "RUNNING"
            if runs and self._leaving.isdisjoint(held.after):
                self._tell(key)

    def _submit(self, job: Any) -> None:  # noqa: ANN401 - of ElastiSim
        """Take note of a job that has been submitted."""
        kind = "malleable" if job.type.name == "ADAPTIVE" else job.type.name.lower()
        rigid = kind == "rigid"
        self._driver.jobs.add(
            job.identifier,
            submit=job.submit_time,
            nodes=job.num_nodes if rigid else _preferred(job),
            estimate=job.walltime if job.walltime > 0 else None,
            min_nodes=None if rigid else job.num_nodes_min,
            max_nodes=None if rigid else job.num_nodes_max,
            kind=cast("JobKind", kind),
            points=int(kind == "malleable"),  # how many is not known
            speedup=None if self._speedup is None else self._speedup(job),
        )
        self._queue[job.identifier] = None

    def _see(self, at_point: int) -> None:
        """Note which running jobs have ended, and which have changed between calls."""
        for key, held in [*self._held.jobs.items()]:
            state = self._jobs[key].state.name
            if state in {"COMPLETED", "KILLED"}:
                self._held.end(key)
            elif held.changes and held.is_reported and key != at_point and state != "PENDING_RECONFIGURATION":
                self._held.change(key)

    def _change(self, key: int) -> None:
        """Change the size of the job that is at a point, if it was to be changed."""
        if not self._held.jobs[key].is_reported:
            self._tell(key)
        self._leaving |= self._held.change(key)

    def _tell(self, key: int) -> None:
        """Hand on which nodes a job is to hold."""
        job, held = self._jobs[key], self._held.jobs[key]
        have, wanted = set(job.assigned_node_ids), set(held.after)
        if have - wanted:
            job.remove([self._nodes[at] for at in have - wanted])
        if wanted - have:
            job.assign([self._nodes[at] for at in wanted - have])
        held.is_reported = True

    def _decide(self, now: float, requests: list[tuple[int, int]]) -> None:
        """Call the policy, and do what it decides."""
        orders = self._driver.decide(
            now,
            free=int(self._held.free.sum()),
            queue=self._queue,
            running=[
                RunningJob(key, len(held.held), held.start, len(held.after) if held.changes else 0)
                for key, held in self._held.jobs.items()
            ],
            requests=requests,
        )
        for verb, name, size in orders:
            key = cast("int", name)
            job = self._jobs[key]
            if verb == "start":
                del self._queue[key]
                job.assign([self._nodes[at] for at in self._held.start(key, size, now)])
                if job.num_gpus_per_node_max:  # None of a rigid job: nobody may choose its number
                    job.assign_num_gpus_per_node(job.num_gpus_per_node_max)
            elif verb != "refuse":
                self._held.plan(key, size)
                if verb == "grant":
                    self._change(key)


def _preferred(job: Any) -> int:  # noqa: ANN401 - of ElastiSim
    """Return on how many nodes a job prefers to run: arguments are texts, of numbers with six decimals."""
    text = job.arguments.get("num_nodes_pref", (job.num_nodes_min + job.num_nodes_max) // 2)
    try:
        return whole(float(text))
    except (TypeError, ValueError):
        msg = f"job {job.identifier}: num_nodes_pref {shown(text)} is not a whole number"
        raise InvalidProblem(msg) from None
