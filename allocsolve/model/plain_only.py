"""Why something refuses a workload on a machine that is not plain: the one table of reasons.

What takes account of all that `allocsolve.model.WorkloadProblem.beyond_plain` lists asks nothing here.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What about something makes it refuse such a machine.
PlainOnly: TypeAlias = Literal["nodes", "sizes", "views", "forecast", "sealed", "tool"]

#: How the sentence ends that begins with "the workload has closed windows" or the like.
WHY_PLAIN: Final[Mapping[PlainOnly, str]] = MappingProxyType(
    {
        # bounds, certificates, files of other programs and whatever else reads the columns of jobs alone
        "nodes": "which are not taken into account here",
        "sizes": (
            "but sizes of running jobs change here: what a job holds besides nodes on another size, and "
            "whether it ends before a window then, is not stated"
        ),
        "views": (
            "but policies that are called with views see free nodes only: as solvers, fcfs, first-fit, easy, "
            "slurm-backfill and conservative take account of them"
        ),
        "forecast": (
            "and the policy {policy} is for plain machines, as views show no others: fcfs, first-fit, easy, "
            "slurm-backfill and conservative take account of them"
        ),
        "sealed": "which policies in a process of their own do not see",
        "tool": "which the tool that like= names does not know",
    }
)

#: What those refuse that do know such machines.
LEARNED: Final = (
    "estimate='user-average': with closed windows jobs must not run longer than expected, "
    "and jobs run longer than the mean of others"
)
LONGER: Final = (
    "job {job!r} runs for {runs} s, but is expected to run for {expected} s: it would run into closed "
    "windows, unless limits cut it"
)
#: Searches move jobs of one size among resources, as no job says what it would need of them on another size.
NOT_RIGID: Final = "job {job!r} is {kind}: with {beyond} jobs must be rigid"
