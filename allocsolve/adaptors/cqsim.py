"""Our queue policies inside CQSim (https://github.com/SPEAR-UIC/CQSim), which is not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allocsolve.adaptors.foreign_cluster import RunningJob
from allocsolve.adaptors.policy_driver import PolicyDriver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.simulation import EngineRules, PolicyLike


class _Nodes:
    """The node module of CQSim, but that no job fits: so CQSim asks its backfill module about all."""

    def __init__(self, module: Any) -> None:  # noqa: ANN401 - an object of CQSim
        self._module = module

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module has
        return getattr(self._module, name)

    def is_available(self, proc_num: int) -> int:  # noqa: ARG002 - CQSim asks with it
        """Return 0: CQSim starts no job by itself."""
        return 0


class CqsimBackfill:
    """A backfill module of CQSim that calls one of our policies.

    Parameters
    ----------
    policy
        As `allocsolve.adaptors.policy_driver` takes it; it decides on rigid jobs.
    job_module, node_module
        Those of CQSim.
    rules, seed
        As of `allocsolve.adaptors.PolicyDriver`.
    """

    #: What CQSim writes of it into its log.
    myInfo = "allocsolve"  # noqa: N815 - CQSim reads it

    def __init__(
        self,
        policy: str | PolicyLike,
        job_module: Any,  # noqa: ANN401 - an object of CQSim
        node_module: Any,  # noqa: ANN401 - an object of CQSim
        *,
        rules: EngineRules | None = None,
        seed: int = 0,
    ) -> None:
        self._jobs, self._nodes = job_module, node_module
        self._driver = PolicyDriver(policy, node_module.get_tot(), rules=rules, seed=seed)

    def backfill(self, wait_job: Sequence[Mapping[str, Any]], para_in: Mapping[str, Any]) -> list[Any]:
        """Return the indices of the jobs that CQSim has to start now, in this order.

        The queue is mappings with the ``index`` of each job, and `para_in` has the ``time``, in seconds.
        """
        queue = [job["index"] for job in wait_job]
        known = self._driver.jobs
        for index in sorted(index for index in queue if index not in known.index):
            job = self._jobs.job_info(index)
            known.add(
                index,
                submit=job["submit"],
                nodes=job["reqProc"],
                estimate=job["reqTime"] if job["reqTime"] >= 0 else None,
                runtime=job["run"],
                user=str(job["userID"]),
            )
        running = []
        for index in self._jobs.run_list():
            job = self._jobs.job_info(index)
            running.append(RunningJob(index, job["reqProc"], job["start"]))
        orders = self._driver.decide(
            para_in["time"], free=self._nodes.get_avail(), queue=queue, running=running
        )
        return [order.key for order in orders]


def cqsim_modules(
    modules: Mapping[str, Any],
    policy: str | PolicyLike,
    *,
    rules: EngineRules | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the modules of a simulation of CQSim, in which one of our policies starts all jobs.

    CQSim starts the jobs at the head of its queue by itself as long as they fit, and asks its backfill module
    about the others. Here that module is asked about all jobs: `CqsimBackfill`.

    Parameters
    ----------
    modules
        What the constructor of its simulator takes, by name: ``job``, ``node``, ``backfill``, ``win``, ...
    policy, rules, seed
        As of `CqsimBackfill`.

    Notes
    -----
    CQSim calls once an event (``EngineRules(coalesce=False)``): of events at one instant, ends of jobs first,
    in the order in which these were started. It has no wake-ups: a policy that asks for one is called at the
    next event.
    """
    backfill = CqsimBackfill(policy, modules["job"], modules["node"], rules=rules, seed=seed)
    return {**modules, "backfill": backfill, "node": _Nodes(modules["node"])}
