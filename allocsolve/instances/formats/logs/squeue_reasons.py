"""What the reasons mean that Slurm prints of jobs that wait, each of them, in four classes.

A reason is compared without regard to capitals, as Slurm does itself. What stands behind a comma or in
brackets explains it, and some reasons are whole sentences.

Source: the page "Job Reason Codes" of Slurm's documentation, and the names in its source, job_state_reason,
of versions 15 to 25.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

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

#: All reasons, by what they say.
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
        "AccountingPolicy AssociationJobLimit AssociationResourceLimit AssociationTimeLimit "
        "AssocMaxJobsLimit AssocMaxSubmitJobLimit "
        "AssocGrpBB AssocGrpBBMinutes AssocGrpBBRunMinutes "
        "AssocGrpBilling AssocGrpBillingMinutes AssocGrpBillingRunMinutes "
        "AssocGrpCpuLimit AssocGrpCPUMinutesLimit AssocGrpCPURunMinutesLimit "
        "AssocGrpEnergy AssocGrpEnergyMinutes AssocGrpEnergyRunMinutes "
        "AssocGrpGRES AssocGrpGRESMinutes AssocGrpGRESRunMinutes "
        "AssocGrpLicense AssocGrpLicenseMinutes AssocGrpLicenseRunMinutes "
        "AssocGrpMemLimit AssocGrpMemMinutes AssocGrpMemRunMinutes "
        "AssocGrpNodeLimit AssocGrpNodeMinutes AssocGrpNodeRunMinutes "
        "AssocGrpUnknown AssocGrpUnknownMinutes AssocGrpUnknownRunMinutes "
        "AssocGrpJobsLimit AssocGrpSubmitJobsLimit AssocGrpWallLimit "
        "MaxBBPerAccount MaxBillingPerAccount MaxCpuPerAccount MaxEnergyPerAccount MaxGRESPerAccount "
        "MaxJobsPerAccount MaxLicensePerAccount MaxMemoryPerAccount MaxNodePerAccount "
        "MaxSubmitJobsPerAccount MaxUnknownPerAccount "
        "MaxBBRunMinsPerAccount MaxBillingRunMinsPerAccount MaxCpuRunMinsPerAccount "
        "MaxEnergyRunMinsPerAccount MaxGRESRunMinsPerAccount MaxLicenseRunMinsPerAccount "
        "MaxMemoryRunMinsPerAccount MaxNodeRunMinsPerAccount MaxUnknownRunMinsPerAccount"
    ),
    _USER: (
        "MaxBBRunMinsPerUser MaxBillingRunMinsPerUser MaxCpuRunMinsPerUser MaxEnergyRunMinsPerUser "
        "MaxGRESRunMinsPerUser MaxLicenseRunMinsPerUser MaxMemoryRunMinsPerUser MaxNodeRunMinsPerUser "
        "MaxUnknownRunMinsPerUser"
    ),
    _QOS: (
        "QOSJobLimit QOSResourceLimit QOSTimeLimit QOSUsageThreshold "
        "QOSGrpBB QOSGrpBBMinutes QOSGrpBBRunMinutes "
        "QOSGrpBilling QOSGrpBillingMinutes QOSGrpBillingRunMinutes "
        "QOSGrpCpuLimit QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit "
        "QOSGrpEnergy QOSGrpEnergyMinutes QOSGrpEnergyRunMinutes "
        "QOSGrpGRES QOSGrpGRESMinutes QOSGrpGRESRunMinutes "
        "QOSGrpLicense QOSGrpLicenseMinutes QOSGrpLicenseRunMinutes "
        "QOSGrpMemLimit QOSGrpMemoryMinutes QOSGrpMemoryRunMinutes "
        "QOSGrpNodeLimit QOSGrpNodeMinutes QOSGrpNodeRunMinutes "
        "QOSGrpUnknown QOSGrpUnknownMinutes QOSGrpUnknownRunMinutes "
        "QOSGrpJobsLimit QOSGrpSubmitJobsLimit QOSGrpWallLimit "
        "QOSMaxBBPerUser QOSMaxBillingPerUser QOSMaxCpuPerUserLimit QOSMaxEnergyPerUser QOSMaxGRESPerUser "
        "QOSMaxJobsPerUserLimit QOSMaxLicensePerUser QOSMaxMemoryPerUser QOSMaxNodePerUserLimit "
        "QOSMaxSubmitJobPerUserLimit QOSMaxUnknownPerUser"
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
        "AssocMaxBBMinutesPerJob AssocMaxBBPerJob AssocMaxBBPerNode "
        "AssocMaxBillingMinutesPerJob AssocMaxBillingPerJob AssocMaxBillingPerNode "
        "AssocMaxCpuMinutesPerJobLimit AssocMaxCpuPerJobLimit AssocMaxCpuPerNode "
        "AssocMaxEnergyMinutesPerJob AssocMaxEnergyPerJob AssocMaxEnergyPerNode "
        "AssocMaxGRESMinutesPerJob AssocMaxGRESPerJob AssocMaxGRESPerNode "
        "AssocMaxLicenseMinutesPerJob AssocMaxLicensePerJob "
        "AssocMaxMemMinutesPerJob AssocMaxMemPerJob AssocMaxMemPerNode "
        "AssocMaxNodeMinutesPerJob AssocMaxNodePerJobLimit "
        "AssocMaxUnknownMinutesPerJob AssocMaxUnknownPerJob AssocMaxUnknownPerNode "
        "AssocMaxWallDurationPerJobLimit"
    ),
    Reason("never", _TOO_MUCH.format("its QOS")): (
        "QOSMaxBBMinutesPerJob QOSMaxBBPerJob QOSMaxBBPerNode "
        "QOSMaxBillingMinutesPerJob QOSMaxBillingPerJob QOSMaxBillingPerNode "
        "QOSMaxCpuMinutesPerJobLimit QOSMaxCpuPerJobLimit QOSMaxCpuPerNode "
        "QOSMaxEnergyMinutesPerJob QOSMaxEnergyPerJob QOSMaxEnergyPerNode "
        "QOSMaxGRESMinutesPerJob QOSMaxGRESPerJob QOSMaxGRESPerNode "
        "QOSMaxLicenseMinutesPerJob QOSMaxLicensePerJob "
        "QOSMaxMemoryMinutesPerJob QOSMaxMemoryPerJob QOSMaxMemoryPerNode "
        "QOSMaxNodeMinutesPerJob QOSMaxNodePerJobLimit "
        "QOSMaxUnknownMinutesPerJob QOSMaxUnknownPerJob QOSMaxUnknownPerNode "
        "QOSMaxWallDurationPerJobLimit"
    ),
    Reason("never", "asks for less than its QOS demands"): (
        "QOSMinBB QOSMinBilling QOSMinCpuNotSatisfied QOSMinEnergy QOSMinGRES QOSMinLicense QOSMinMemory "
        "QOSMinNode QOSMinUnknown"
    ),
}
#: All names of reasons, as Slurm writes them.
REASONS: Final[dict[str, Reason]] = {
    name: reason for reason, names in _NAMES.items() for name in names.split()
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
