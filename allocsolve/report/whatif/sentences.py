"""What the figures of a log come to, in sentences for its operator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from allocsolve.pictures.text import counted, duration, percent
from allocsolve.report.whatif.words import NAMES, Linked, Sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.report.whatif.findings import WhatIf

__all__ = ["at_least", "cautions", "headlines", "limits", "subject"]

#: A policy whose mean wait is so near to the least is as good.
_AS_GOOD: Final = 1.01
_TENTH: Final = 10


def at_least(seconds: float) -> str:
    """Return a duration that is not above another: of a bound, that nothing is promised that is not proved.

    >>> at_least(839.9), at_least(59.99), at_least(0.04)
    ('13.9 min', '59.9 s', '0 s')
    """
    size = next((size for size in (86400, 3600, 60) if seconds >= size), 1)
    return duration(math.floor(_TENTH * seconds / size) / _TENTH * size)


def subject(found: WhatIf) -> str:
    """Return what the log is, in a few words."""
    unit = found.log.machine.unit
    jobs, size = f"{len(found.problem.jobs):,} jobs", f"{found.problem.num_nodes:,} {unit}"
    submits = found.problem.packed.submit
    return f"{jobs} on {size}, submitted over {duration(float(submits.max() - submits.min()))}"


def headlines(found: WhatIf) -> Iterator[Sentence]:
    """Yield what was, what could have been, what is impossible, and what that means."""
    yield _was(found)
    if found.policies:
        yield _policies(found)
    if found.hindsight is not None:
        best = Linked(duration(found.hindsight.metrics.wait), "best known with hindsight")
        yield "Somebody who had known all jobs beforehand could have brought the mean wait to ", best, "."
    yield _impossible(found)
    yield from _meaning(found)


def _was(found: WhatIf) -> Sentence:
    if found.recorded is None:
        return ("What was cannot be told: ", found.no_record, ".")
    of = found.recorded.metrics
    return (
        *("In this log jobs waited ", Linked(duration(of.wait), "mean wait"), " on average; "),
        *("half of them at most ", Linked(duration(of.median_wait), "half waited at most"), ", "),
        *("95 % at most ", Linked(duration(of.p95_wait), "95 % waited at most"), ". "),
        *(Linked(percent(of.utilisation), "busy"), " of the machine was busy."),
    )


def _policies(found: WhatIf) -> Sentence:
    best, *_ = ranked = sorted(found.policies, key=lambda one: one.metrics.wait)
    worst = ranked[-1]
    wait = Linked(duration(best.metrics.wait), "mean wait")
    as_good = [one for one in ranked if one.metrics.wait <= _AS_GOOD * best.metrics.wait]
    joints = ["", *[", "] * (len(as_good) - 2), *[" and "] * (len(as_good) > 1)]
    names = [
        part
        for joint, one in zip(joints, as_good, strict=True)
        for part in (joint, Linked(NAMES[one.key], NAMES[one.key]))
    ]
    if worst.metrics.wait <= _AS_GOOD * best.metrics.wait:
        return ("Under each of the usual policies the mean wait would have been about ", wait, ".")
    return (
        *("Of the usual policies ", *names, " would have had the least mean wait, ", wait, "; "),
        *(Linked(NAMES[worst.key], NAMES[worst.key]), " the longest, "),
        *(Linked(duration(worst.metrics.wait), "mean wait"), "."),
    )


def _impossible(found: WhatIf) -> Sentence:
    if found.bound is None:
        if found.hindsight is None:
            return ("What is certainly impossible is not known yet: the search for it was not finished.",)
        return ("Nothing is ", Linked("certainly impossible", "certainly impossible"), " that was proved.")
    bound = Linked(at_least(found.bound), "certainly impossible")
    return ("No scheduler, however clever, could have brought the mean wait below ", bound, ".")


def _meaning(found: WhatIf) -> Iterator[Sentence]:
    """Yield what of the recorded mean wait could have been avoided, if that can be told."""
    if found.recorded is None or found.faults:
        return
    wait = found.recorded.metrics.wait
    if found.bound is not None and wait > 0:
        share = Linked(f"{math.floor(100 * found.bound / wait)} %", "certainly impossible")
        yield (
            *("So at least ", share, " of the mean wait came from the jobs and the size of the machine: "),
            "no order of the jobs avoids it. At most the rest came from the order in which they started.",
        )
    if found.policies and wait > max(one.metrics.wait for one in found.policies):
        why = (
            "Every usual policy would have had a shorter mean wait than what was. So something else held "
            "jobs back, which this page does not know of: limits for users or groups, jobs that wait for "
            "others, nodes that were down or kept free, or users who submit on hold."
        )
        yield (why,)


def cautions(found: WhatIf) -> Iterator[str]:
    """Yield what must be known before anything is read into the figures."""
    unit = found.log.machine.unit
    if found.faults:
        more = f" (and {counted(len(found.faults) - 1, 'time')} more)" if len(found.faults) > 1 else ""
        yield (
            f"The log does not fit a machine of {found.problem.num_nodes:,} {unit}: {found.faults[0]}{more}."
        )
        yield (
            "What was stands here as the log has it. Other schedules keep to the size of the machine: "
            "compare them with care. Is the size right, and does the log count whole nodes?"
        )
    if large := found.log.report.dropped.get("too_large", 0):
        yield f"{large:,} jobs are larger than {found.problem.num_nodes:,} {unit} and were left out."
    if shared := found.log.report.changed.get("part_of_a_node", 0):
        yield (
            f"{shared:,} jobs had a part of a node only. Here they count as whole nodes, so the machine "
            "looks smaller than it is. If jobs share nodes, --unit processors tells more (--nodes, too)."
        )
    if found.failed:
        yield f"Some computations failed, so their figures are not here: {', '.join(found.failed)}."
    if found.missing:
        yield (
            f"Not complete: the program was interrupted before it had computed {', '.join(found.missing)}. "
            "The same command goes on from there."
        )


def limits(found: WhatIf) -> Iterator[str]:
    """Yield what the page leaves out."""
    report = found.log.report
    yield (
        "All jobs have the sizes and the run times of the log, in every schedule. Whether a job runs faster "
        "or slower beside others is not looked at."
    )
    unknown = report.unusual.get("no_limit", 0)
    jobs = len(found.problem.jobs)
    if unknown:
        yield (
            f"Of {unknown:,} of {jobs:,} jobs the log does not tell which run time users asked for. Policies "
            "that plan with it were given 1.25 times the real one; what users ask for is less exact."
        )
    if raised := report.changed.get("raised_limit", 0):
        yield (
            f"{raised:,} jobs ran longer than they had asked for; they were taken to have asked for what "
            "they ran."
        )
    yield (
        "Policies start a job as soon as their rule allows. Limits for users or groups, priorities, jobs "
        "that wait for others, parts of the machine kept for some, and nodes that were down are not known "
        "here; the machine had to respect them."
    )
    yield (
        "Users react: with shorter waits they might have submitted more, or other jobs. No replay of a log "
        "can tell."
    )
    yield (
        "One mean over all jobs hides who waits: a few very long waits may rule it, and many small jobs may "
        "hide them. The tables by size and by time of submission tell more."
    )
    if found.elastic:
        yield (
            "Which jobs can change their size was drawn by lot; another draw moves the figures by a few per "
            "cent. How much faster a job runs on more nodes is assumed, not measured: on the size of the log "
            "each runs as long as in the log; on twice of it not twice as fast, since some of its work is "
            "never shared out. It may shrink to a fifth of its size and grow until one half of what is added "
            "is lost. Changes happen at points 10 s apart and take no time."
        )
