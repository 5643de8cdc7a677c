"""Slurm's configuration of scheduling as a queue policy: slurm.conf, or what ``scontrol show config`` prints.

What the policy does not model is said in one line each, with the file, the line and the value.

Sources: slurm.conf(5) of Slurm 26.11, ``SchedulerParameters``, ``SelectTypeParameters``, ``PriorityWeight*``;
``src/plugins/sched/backfill/backfill.c`` for the older names of options.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.heuristics import SlurmBackfill
from allocsolve.instances.formats.logs.lines import read_lines
from allocsolve.instances.formats.logs.times import time_limit
from allocsolve.registry import canonical_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allocsolve.instances.formats.files import PathLike

_PAIR: Final = re.compile(r'(?:^|\s)(\w+)\s*=\s*("[^"]*"|\S*)')
_COMMENT: Final = re.compile(r"(?<!\\)#.*")
_DAY_S: Final = 86_400

#: Options of the policy that have their name from Slurm; those of older versions lead to them.
_MODELLED: Final = {one.name: one.name for one in fields(SlurmBackfill) if one.name.startswith("bf_")} | {
    "max_job_bf": "bf_max_job_test"
}
#: Other scheduler parameters by why they change nothing here; a name with ``=`` takes a whole number.
_REASONS: Final = {
    "passes take no time here": (
        "bf_continue bf_max_time= bf_yield_interval= bf_yield_sleep= bf_yield_rpc_cnt= bf_node_space_size= "
        "build_queue_timeout= max_sched_time= max_rpc_cnt= sched_min_interval= batch_sched_delay= defer "
        "defer_batch"
    ),
    "at each event the main scheduler goes through the queue as far as it can": (
        "default_queue_depth= partition_job_depth= sched_interval= sched_max_job_start="
    ),
    "a pass has no limit but bf_max_job_test": (
        "bf_max_job_user= bf_max_job_user_part= bf_max_job_part= bf_max_job_assoc= bf_max_job_array_resv= "
        "bf_max_job_start="
    ),
    "each tested job that waits has a plan": (
        "bf_min_age_reserve= bf_min_prio_reserve= bf_job_part_count_reserve= bf_one_resv_per_job "
        "bf_allow_magnetic_slot assoc_limit_stop"
    ),
    "running jobs end at their limits, each for itself": (
        "bf_window_linear= bf_running_job_reserve time_min_as_soft_limit reduce_completing_frag"
    ),
    "nodes are counted, not chosen": (
        "bf_busy_nodes bf_topopt_enable bf_topopt_iterations= max_switch_wait= pack_serial_at_end "
        "spec_cores_first ignore_numa delay_boot="
    ),
    "the log does not tell what it is about": (
        "bf_licenses bf_hetjob_immediate bf_hetjob_prio requeue_delay= requeue_on_resume_failure "
        "nohold_on_prolog_fail preempt_strict_order preempt_reorder_count= preempt_youngest_first"
    ),
    "it does not say who starts when": (
        "allow_zero_lic bb_array_stage_cnt= correspond_after_task_cnt= disable_job_shrink "
        "disable_hetjob_steps enable_hetjob_steps enable_user_top extra_constraints "
        "ignore_constraint_validation ignore_prefer_validation max_array_tasks= max_script_size= "
        "max_submit_line_size= no_backup_scheduling salloc_wait_nodes sbatch_wait_nodes step_retry_count= "
        "step_retry_time= whole_hetjob"
    ),
}
_KNOWN: Final = {
    name.rstrip("="): (why, name.endswith("=")) for why, names in _REASONS.items() for name in names.split()
}
#: Words of ``SelectTypeParameters`` by what is said of them; another one is of what nodes are counted in.
_SPREADS: Final = "it spreads jobs over the least loaded nodes, and nodes are counted, not chosen"
_COUNTED: Final = "what single nodes have room for is not looked at; --unit says what sizes count"

_WEIGHT: Final = "priorityweight"


class SlurmSettings(NamedTuple):
    """What a configuration of Slurm comes to."""

    policy: str  #: the name of a queue policy, with its options
    remarks: tuple[str, ...]  #: what is not modelled, a line each


class _Setting(NamedTuple):
    """A parameter of the file."""

    name: str  #: as the file writes it
    value: str
    place: str  #: the line


def read_slurm_conf(path: PathLike, *, chooses_nodes: bool = False) -> SlurmSettings:
    """Read how a cluster under Slurm schedules.

    Raises `FormatError` if the file cannot be read or has no parameters, or a value is none that Slurm takes.

    Parameters
    ----------
    path
        A slurm.conf, or what ``scontrol show config`` prints. Files that it includes are not read.
    chooses_nodes
        Whether the policy is for nodes that are places: its rule of choice is ``least-loaded`` with
        ``CR_LLN``, and ``slurm`` without it.

    Returns
    -------
    SlurmSettings
        ``sched/backfill`` as `allocsolve.heuristics.SlurmBackfill`, ``sched/builtin`` and a backfill
        scheduler that is switched off as `allocsolve.heuristics.Fcfs`. Of the weights of priorities that of
        the age alone keeps the order of submission, and that of the size alone makes one by size.
    """
    source = str(path)
    found, remarks = read_lines(path, lambda lines: _settings(lines, source))[0]
    if not found:
        raise FormatError(source, ["is no slurm.conf: it has no line KEY=VALUE"])
    order = _order(found, source, remarks)
    options: dict[str, object] = {} if order == "submission" else {"order": order}
    runs_passes = _scheduler(found, source, remarks)
    if "schedulerparameters" in found:
        runs_passes &= _scheduler_parameters(found["schedulerparameters"], source, options, remarks)
    selects = {one.name.upper(): one for one in _words(found.get("selecttypeparameters"))}
    if chooses_nodes:
        options["choice"] = "least-loaded" if "CR_LLN" in selects else "slurm"
    else:
        remarks += (
            _not_modelled(source, one, _SPREADS if name == "CR_LLN" else _COUNTED)
            for name, one in selects.items()
        )
    if runs_passes:
        text = ", ".join(f"{name}={value}" for name, value in options.items())
        return SlurmSettings(
            canonical_name(f"slurm-backfill({text})" if text else "slurm-backfill"), (*remarks,)
        )
    if options.pop("order", None):
        remarks.append(f"{source}: without backfill the queue is in the order of submission here")
    policy = f"fcfs(choice={options['choice']})" if chooses_nodes else "fcfs"
    return SlurmSettings(canonical_name(policy), (*remarks,))


def _settings(lines: Iterable[tuple[int, str]], source: str) -> tuple[dict[str, _Setting], list[str]]:
    """Return the parameters by their names in small letters, the last of each, and what is said of lines."""
    found: dict[str, _Setting] = {}
    remarks: list[str] = []
    begun, place = "", 0
    for number, line in lines:
        text = begun + _COMMENT.sub("", line).rstrip()
        place = place if begun else number
        begun = text[:-1] if text.endswith("\\") else ""
        if begun:
            continue
        if text.lower().lstrip().startswith("include "):
            remarks.append(f"{source}, line {place}: {text.strip()}: included files are not read")
        for name, value in _PAIR.findall(text):
            key = name.lower()
            if key == "lln" and value.lower() == "yes":
                remarks.append(_not_modelled(source, _Setting(name, value, f"line {place}"), _SPREADS))
            found[key] = _Setting(name, value.strip('"'), f"line {place}")
    return {key: one for key, one in found.items() if one.value.lower() != "(null)"}, remarks


def _words(setting: _Setting | None) -> Iterator[_Setting]:
    """Yield the entries of a list, each with the name and the value that it has."""
    for text in setting.value.split(",") if setting is not None else ():
        name, _, value = text.strip().partition("=")
        if name:
            yield _Setting(name, value, setting.place if setting else "")


def _not_modelled(source: str, one: _Setting, why: str) -> str:
    shown = f"{one.name}={one.value}" if one.value else one.name
    return f"{source}, {one.place}: {shown} is not modelled: {why}"


def _fault(source: str, one: _Setting, why: str) -> FormatError:
    return FormatError(source, [f"{one.place}: {one.name}={one.value}: {why}"])


def _number(source: str, one: _Setting) -> int:
    try:
        return int(one.value)
    except ValueError:
        raise _fault(source, one, "is not a whole number") from None


def _scheduler(found: dict[str, _Setting], source: str, remarks: list[str]) -> bool:
    """Return whether there is a backfill scheduler."""
    if (preempts := found.get("preempttype")) is not None and not preempts.value.endswith("none"):
        remarks.append(_not_modelled(source, preempts, "no job is preempted"))
    kind = found.get("schedulertype")
    if kind is None or kind.value.lower() == "sched/backfill":
        return True
    if kind.value.lower() != "sched/builtin":
        raise _fault(source, kind, "is neither sched/backfill nor sched/builtin")
    return False


def _scheduler_parameters(
    setting: _Setting, source: str, options: dict[str, object], remarks: list[str]
) -> bool:
    """Add options of the policy, and what is said of the others; return whether passes are switched on."""
    for one in _words(setting):
        name = one.name.lower()
        if name in _MODELLED:
            number = _number(source, one)
            if name == "bf_interval" and number == -1:
                return False
            checked: dict[str, Any] = {_MODELLED[name]: number}
            try:
                SlurmBackfill(**checked)
            except InvalidOption as fault:
                raise _fault(source, one, str(fault)) from None
            options |= checked
        elif name in _KNOWN:
            why, takes_number = _KNOWN[name]
            # Limits of 0 are none.
            if not (takes_number and _number(source, one) == 0):
                remarks.append(_not_modelled(source, one, why))
        else:
            why = "it is no scheduler parameter that is known here"
            remarks.append(_not_modelled(source, one, why))
    return True


def _order(found: dict[str, _Setting], source: str, remarks: list[str]) -> str:
    """Return the order of the queue, and add what is said of priorities."""
    kind = found.get("prioritytype")
    if kind is not None and kind.value.lower() == "priority/basic":
        return "submission"
    if kind is not None and kind.value.lower() != "priority/multifactor":
        raise _fault(source, kind, "is neither priority/basic nor priority/multifactor")
    weights: dict[str, _Setting] = {}
    for key, one in found.items():
        if key.startswith(_WEIGHT):
            factor = key.removeprefix(_WEIGHT)
            if factor == "tres" or _number(source, one):
                weights[factor] = one
    flags = found.get("priorityflags")
    by_time = flags is not None and "small_relative_to_time" in flags.value.lower()
    if [*weights] == ["jobsize"] and not by_time:
        small = found.get("priorityfavorsmall")
        return "smallest" if small is not None and small.value.lower() == "yes" else "largest"
    age = weights.pop("age", None)
    why = "the queue is in the order of submission"
    remarks += [_not_modelled(source, one, why) for one in weights.values()]
    if age is not None and weights:
        oldest = found.get("prioritymaxage")
        try:
            seconds = 7 * _DAY_S if oldest is None else time_limit(oldest.value)
        except ValueError as fault:
            raise _fault(source, oldest or age, str(fault)) from None
        if seconds:
            option = f"--priority-age {age.value},{seconds / _DAY_S:g}"
            remarks.append(f"{source}: {option} uses the priorities of the jobs, if the log has them")
    return "submission"
