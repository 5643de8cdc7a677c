"""Nodes that are places on the page of a log: policies by rule, and both ends where nodes are not known.

The rule that says on which nodes jobs start matters more than most that operators can change: rows are made
for jobs packed onto few nodes, and for jobs spread over all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.errors import InvalidOption, PluginError
from allocsolve.instances.formats.logs.log import SWF_UNITS, log_not_modelled, shared_advice
from allocsolve.instances.formats.logs.of_workload import OF_PROBLEM
from allocsolve.model.places import NodeType
from allocsolve.registry import canonical_name
from allocsolve.registry.names import parse_name
from allocsolve.report.logs.questions import EASY, Question
from allocsolve.report.logs.words import POLICIES, RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.instances import JobLog
    from allocsolve.model import WorkloadProblem
    from allocsolve.report.logs.findings import WhatIf

#: The option that a question about assumed nodes answers.
NODE_TYPES: Final = "node_types"


def names_rule(policy: str) -> bool:
    """Return whether a policy is named with a rule of choice, be it the default."""
    return any(name == "choice" for name, _ in parse_name(policy).options)


def by_rule(policy: str) -> list[str]:
    """Return a policy once for each rule of choice; itself if it has no choice, or names one."""
    name = canonical_name(policy)
    if names_rule(policy):
        return [name]
    head, _, options = name.removesuffix(")").partition("(")
    given = f"{options}, " if options else ""
    try:
        return [canonical_name(f"{head}({given}choice={rule})") for rule in RULES]
    except (InvalidOption, PluginError):
        return [name]


def policies_on_nodes(policies: Sequence[str]) -> list[str]:
    """Return the policies of a page where nodes are places.

    Of the usual ones conservative backfilling is left out: it plans all jobs that wait, for which places take
    too long in most logs.
    """
    usual = [policy for policy in POLICIES if policy != "conservative"]
    asked = usual if list(policies) == list(POLICIES) else policies
    return [*dict.fromkeys(name for policy in asked for name in by_rule(policy))]


def assumed_nodes(log: JobLog) -> tuple[NodeType, ...]:
    """Return the equal nodes that a log with shared nodes seems to be of; none if it does not tell."""
    machine, shares = log.machine, log.sharing or log.report.changed.get("part_of_a_node", 0)
    if log.options.fields.site.types or not shares or machine.unit not in SWF_UNITS or log.per_node < 2:
        return ()
    count = log.num_nodes // (log.per_node if machine.unit == "processors" else 1)
    return (NodeType("node", count, {"cpus": log.per_node}),) if count else ()


def on_assumed_nodes(problem: WorkloadProblem) -> list[Question]:
    """Ask for a machine of nodes that were assumed, by each rule of choice."""
    (kind,) = problem.node_types
    asked = []
    for policy, rule in zip(by_rule(EASY), RULES.values(), strict=True):
        nodes = f"{kind.count:,} nodes of {dict(kind.has)['cpus']:,} processors"
        asked.append(Question(NODE_TYPES, rule, f"{nodes}, {rule}", f"On {nodes}", problem, policy))
    return asked


#: What rows of both ends mean.
ENDS: Final = (
    "Packed: a job starts on the fullest nodes that have room (best-fit). Spread: on the emptiest ones "
    "(least-loaded, as with CR_LLN of Slurm)."
)


def node_cautions(figures: WhatIf) -> Iterator[str]:
    """Yield what is known and assumed of the nodes of a log."""
    log, types = figures.log, figures.problem.node_types
    if types:
        unusual = log.report.unusual
        yield "Each node is looked at. A job on several nodes has as much on each of them."
        yield ENDS
        if large := unusual.get("fits_no_node", 0):
            jobs = f"{large:,} jobs fit" if large > 1 else "1 job fits"
            yield f"{jobs} no nodes of these types: as many whole ones are held instead. Are the types right?"
        if figures.recorded is not None and figures.recorded.schedule.place_offsets is None:
            yield "The log does not say on which nodes jobs ran: what was is not checked against the nodes."
        return
    shares = shared_advice(log) is not None or bool(log_not_modelled(log))
    if not shares or log.machine.told_by == OF_PROBLEM:
        return
    assumed = [one.question for one in figures.outlooks if one.question.option == NODE_TYPES]
    if not assumed:
        yield "--node-types says which nodes there are: policies find room on these then."
        return
    kind = assumed[0].problem.node_types[0]
    yield (
        f"Assumed in the rows packed and spread: {kind.count:,} equal nodes of {log.per_node:,} processors, "
        "as jobs on several nodes tell. --node-types says what there is, memory and GPUs, too."
    )
    yield ENDS
