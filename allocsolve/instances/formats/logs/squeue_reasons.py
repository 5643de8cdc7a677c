"""What the reasons mean that Slurm prints of jobs that wait, each of them, in four classes.

A reason is compared without regard to capitals, as Slurm does itself. What stands behind a comma or in
brackets explains it, and some reasons are whole sentences.

Source: the page "Job Reason Codes" of Slurm's documentation, and the names in its source, job_state_reason,
of versions 15 to 25.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

#: ``line``: it starts when its turn has come and its nodes are free. ``held``: until somebody releases it.
#: ``blocked``: by something that ends, but nothing tells when. ``never``: not as it was submitted.
Standing: TypeAlias = Literal["line", "held", "blocked", "never"]


class Reason(NamedTuple):
    """What a reason says of a job."""

    standing: Standing
    #: What keeps it from starting, for people; empty if nothing does but jobs before it.
    block: str


HELD: Final = Reason("held", "held")
DEPENDENCY: Final = Reason("blocked", "waits for other jobs")
TASKS: Final = Reason("blocked", "waits for tasks of its array")
BEGIN: Final = Reason("blocked", "must not begin yet")
MAINTENANCE: Final = Reason("blocked", "would not end before a maintenance")
_LINE: Final = Reason("line", "")
_ACCOUNT: Final = Reason("blocked", "a limit of its account")
_QOS: Final = Reason("blocked", "a limit of its QOS")
_USER: Final = Reason("blocked", "a limit of its user")
_TOO_MUCH: Final = "asks for more than {} allows"
_NOT_ALLOWED: Final = "{} is not allowed"

#: All reasons, by what they say; braces hold what may stand in their place.
_NAMES: Final[dict[Reason, str]] = {
    _LINE: "None Priority Resources Prolog SchedDefer",
    HELD: "JobHeldAdmin JobHeldUser",
    Reason("held", "held: it was requeued too often"): "JobHoldMaxRequeue",
    Reason("held", "held: its reservation is gone"): "ReservationDeleted",
    Reason("held", "held: its burst buffer failed"): "BurstBufferOperation",
    Reason("held", "held after it failed to start"): "JobLaunchFailure SystemFailure",
    Reason("held", "held after it failed"): (
        "NonZeroExitCode RaisedSignal TimeLimit InactiveLimit OutOfMemory"
    ),
    DEPENDENCY: "Dependency",
    TASKS: "JobArrayTaskLimit",
    BEGIN: "BeginTime",
    Reason("blocked", "its partition is down"): "PartitionDown PartitionInactive",
    Reason("blocked", "a node that it needs is down"): "NodeDown FrontEndDown",
    Reason("blocked", "nodes that it asks for are not available"): "ReqNodeNotAvail",
    Reason("blocked", "no node is as it asks now"): "Constraints",
    Reason("blocked", "waits for its reservation"): "Reservation",
    Reason("blocked", "waits for licences"): "Licenses",
    Reason("blocked", "waits for its burst buffer"): "BurstBufferResources BurstBufferStageIn",
    Reason("blocked", "is cleaned up after its last run"): "Cleaning",
    Reason("blocked", "waits for the other clusters"): "FedJobLock",
    Reason("blocked", "waits for ports of MPI"): "MpiPortsBusy",
    Reason("blocked", "waits for channels between GPUs"): "NvidiaImexChannels",
    Reason("blocked", "a limit of power"): "MaxPoweredUpNodes PowerNotAvail PowerReserved",
    Reason("blocked", "waits for a block of nodes"): "BlockMaxError BlockFreeAction",
    _ACCOUNT: (
        "AccountingPolicy Association{JobLimit,ResourceLimit,TimeLimit} AssocMax{Jobs,SubmitJob}Limit "
        "AssocGrp{BB,Billing,Energy,GRES,License,Unknown}{,Minutes,RunMinutes} "
        "AssocGrpCpuLimit AssocGrpCPU{,Run}MinutesLimit "
        "AssocGrpMem{Limit,Minutes,RunMinutes} AssocGrpNode{Limit,Minutes,RunMinutes} "
        "AssocGrp{Jobs,SubmitJobs,Wall}Limit "
        "Max{BB,Billing,Cpu,Energy,GRES,Jobs,License,Memory,Node,SubmitJobs,Unknown}PerAccount "
        "Max{BB,Billing,Cpu,Energy,GRES,License,Memory,Node,Unknown}RunMinsPerAccount"
    ),
    _USER: "Max{BB,Billing,Cpu,Energy,GRES,License,Memory,Node,Unknown}RunMinsPerUser",
    _QOS: (
        "QOS{JobLimit,ResourceLimit,TimeLimit,UsageThreshold} "
        "QOSGrp{BB,Billing,Energy,GRES,License,Unknown}{,Minutes,RunMinutes} "
        "QOSGrpCpuLimit QOSGrpCPU{,Run}MinutesLimit QOSGrpMemLimit QOSGrpMemory{,Run}Minutes "
        "QOSGrpNode{Limit,Minutes,RunMinutes} QOSGrp{Jobs,SubmitJobs,Wall}Limit "
        "QOSMax{BB,Billing,Energy,GRES,License,Memory,Unknown}PerUser "
        "QOSMax{Cpu,Jobs,Node,SubmitJob}PerUserLimit"
    ),
    Reason("never", "its partition takes no job of this size"): "PartitionNodeLimit",
    Reason("never", "its partition takes no job of this limit"): "PartitionTimeLimit",
    Reason("never", "its partition takes no such job"): "PartitionConfig",
    Reason("never", "no node is as it asks"): "BadConstraints",
    Reason("never", "waits for a job that will never end as it asks"): "DependencyNeverSatisfied",
    Reason("never", "cannot end by its deadline"): "DeadLine",
    Reason("never", "its reservation is not valid"): "ReservationInvalid",
    Reason("never", _NOT_ALLOWED.format("its account")): "InvalidAccount AccountNotAllowed",
    Reason("never", _NOT_ALLOWED.format("its QOS")): "InvalidQOS QOSNotAllowed",
    Reason("never", _TOO_MUCH.format("the limit of memory")): "MaxMemPerLimit",
    Reason("never", _TOO_MUCH.format("its account")): (
        "AssocMax{BB,Billing,Energy,GRES,Mem,Unknown}{MinutesPerJob,PerJob,PerNode} "
        "AssocMaxCpu{MinutesPerJobLimit,PerJobLimit,PerNode} AssocMaxLicense{MinutesPerJob,PerJob} "
        "AssocMaxNode{MinutesPerJob,PerJobLimit} AssocMaxWallDurationPerJobLimit"
    ),
    Reason("never", _TOO_MUCH.format("its QOS")): (
        "QOSMax{BB,Billing,Energy,GRES,Memory,Unknown}{MinutesPerJob,PerJob,PerNode} "
        "QOSMaxCpu{MinutesPerJobLimit,PerJobLimit,PerNode} QOSMaxLicense{MinutesPerJob,PerJob} "
        "QOSMaxNode{MinutesPerJob,PerJobLimit} QOSMaxWallDurationPerJobLimit"
    ),
    Reason("never", "asks for less than its QOS demands"): (
        "QOSMin{BB,Billing,Energy,GRES,License,Memory,Node,Unknown} QOSMinCpuNotSatisfied"
    ),
}


def _written_out(names: str) -> Iterator[str]:
    """Yield names between blanks; braces hold what may stand in their place."""
    for name in names.split():
        parts = [part.split(",") for part in re.split(r"[{}]", name)]
        yield from map("".join, product(*parts))


#: All names of reasons, as Slurm writes them.
REASONS: Final[dict[str, Reason]] = {
    name: reason for reason, names in _NAMES.items() for name in _written_out(names)
}
_BY_LOWER: Final = {name.lower(): reason for name, reason in REASONS.items()}
#: Beginnings of sentences, in lower case, that Slurm prints in place of a name, and what they say.
_SENTENCES: Final = {"nodes required for job are down, drained": _LINE}


def reason_of(text: str) -> Reason:
    """Return what a reason says; of one that is not known, the job is blocked, and the reason is shown.

    The text is as ``squeue`` prints it, with or without brackets around it; words may have ``_`` between
    them.

    Examples
    --------
    >>> reason_of("(QOSMaxJobsPerUserLimit)")
    Reason(standing='blocked', block='a limit of its QOS')
    >>> reason_of("launch failed requeued held").standing
    'held'
    >>> reason_of("ReqNodeNotAvail, UnavailableNodes:n[1-4]").block
    'nodes that it asks for are not available'
    >>> reason_of("Sunspots")
    Reason(standing='blocked', block='Sunspots')
    """
    bare = text.strip().removeprefix("(").removesuffix(")").strip()
    words = bare.lower().replace("_", " ")
    if "reserved for maintenance" in words:
        return MAINTENANCE
    known = _BY_LOWER.get(words.partition(",")[0].partition("(")[0].partition(":")[0].strip())
    if known is not None:
        return known
    for sentence, reason in _SENTENCES.items():
        if words.startswith(sentence):
            return reason
    if "held" in words.split():  # such as "job requeued in held state"
        return Reason("held", f"held: {bare}")
    return Reason("blocked", bare) if bare else _LINE
