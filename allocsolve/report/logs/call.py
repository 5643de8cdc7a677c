"""What if, in one call: from the log of a machine to figures, a page and a document."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from allocsolve import bench
from allocsolve.bench.runs.tasks import again
from allocsolve.errors import FormatError, InvalidOption
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS
from allocsolve.instances import LogFields, log_format, log_problem, read_table_log, site_nodes
from allocsolve.instances.formats.logs.lines import read_text
from allocsolve.instances.formats.logs.no_logs import is_problem
from allocsolve.instances.formats.logs.of_workload import OF_PROBLEM, read_workload_log
from allocsolve.instances.formats.logs.site_nodes import SiteNodes
from allocsolve.instances.formats.logs.times import zone
from allocsolve.model.result import POLICY_SECONDS
from allocsolve.registry import canonical_name
from allocsolve.report.closed import closed_parts
from allocsolve.report.logs.findings import RECORDED, means_by, variants, what_if
from allocsolve.report.logs.network import Network, network_of, replays
from allocsolve.report.logs.nodes import assumed_nodes, on_assumed_nodes, policies_on_nodes
from allocsolve.report.logs.outlooks import outlook_sentences, split_means
from allocsolve.report.logs.page import cautions, headlines, whatif_page
from allocsolve.report.logs.questions import EXACT, classes_of, order_policy, questions
from allocsolve.report.logs.slurm_conf import read_slurm_conf
from allocsolve.report.logs.words import POLICIES, plain
from allocsolve.report.plain import plain as as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import tzinfo

    from allocsolve.bench import RecordStore
    from allocsolve.heuristics.workload.policies import QueueOrder
    from allocsolve.instances import JobLog
    from allocsolve.instances.formats.files import PathLike
    from allocsolve.model import NodeType, WorkloadProblem
    from allocsolve.report.logs.findings import Outlook, Variant, WhatIf
    from allocsolve.report.logs.questions import Classes, LimitSource, Question, Split


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """How long the jobs of a log waited, would have waited otherwise, and had to wait."""

    figures: WhatIf
    #: What has to be known to read them.
    remarks: tuple[str, ...] = ()

    def page(self, *, made: str = "Made with allocsolve.") -> str:
        """Return the page: one HTML file that needs nothing else. `made` says where it comes from."""
        return whatif_page(self.figures, made=made, remarks=self.remarks)

    def document(self) -> dict[str, Any]:
        """Return what the page says, as ``allocsolve whatif --json`` prints it; times in seconds."""
        remarks = {"remarks": [*self.remarks]} if self.remarks else {}
        document: dict[str, Any] = as_json({**_document(self.figures), **remarks})
        return document


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A log, what is asked of it, and the runs that answer; see `inquire`."""

    log: JobLog
    problem: WorkloadProblem
    asked: tuple[Question, ...]
    planned: tuple[Variant, ...]
    policies: Sequence[str]
    split: Classes | None
    days: tzinfo = field(repr=False)
    remarks: tuple[str, ...] = ()
    network: Network | None = None

    def run(
        self,
        store: RecordStore,
        *,
        policy_seconds: float = POLICY_SECONDS,
        progress: bench.Progress | None = None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        """Run what has no record yet; see `allocsolve.bench.run_missing`.

        The first variant has one long run, beside which the short ones are made: so kernels are compiled
        side by side. The others have searches that use all processors, and policies that take as long as
        these let them.
        """
        tasks = [task for variant in self.planned for task in variant.tasks]
        retried = again(tasks, store, failed=True)
        before = 0
        # One process runs all others: each new one has to load what it runs.
        others = [task for variant in self.planned[1:] for task in variant.tasks]
        for jobs, part in ((min(2, os.cpu_count() or 1), self.planned[0].tasks), (1, others)):

            def tell(done: int, _: int, what: str, before: int = before) -> None:
                if progress is not None:
                    progress(before + done, len(tasks), what)

            with bench.open_executor("local", jobs) as cells:
                bench.run_missing(
                    part,
                    store,
                    again=retried,
                    executor=cells,
                    policy_seconds=policy_seconds,
                    progress=tell,
                    announce=announce,
                )
            before += len(part)

    def answer(self, store: RecordStore) -> WhatIfAnswer:
        """Return what the records of a store say, also if some runs are missing.

        On a network what was and the best policy are replayed, each time.
        """
        figures = what_if(
            self.log,
            self.planned,
            store,
            self.days,
            asked=self.asked,
            split=self.split,
            policies=self.policies,
        )
        if self.network is not None:
            # A log that does not fit its machine has no nodes for all of its jobs.
            was = None if figures.faults else figures.recorded
            shown = {case.key: case.schedule for case in (was, figures.best_policy) if case is not None}
            figures = replace(figures, replayed=replays(self.network, figures.problem, shown))
        return WhatIfAnswer(figures, self.remarks)


def inquire(
    log: PathLike,
    *,
    nodes: Sequence[int] = (),
    unit: str | None = None,
    format: str | None = None,  # noqa: A002 - as the option of the command
    timezone: str = "UTC",
    time_unit: str | None = None,
    resources: Mapping[str, int] = MappingProxyType({}),
    partitions: Mapping[str, int] = MappingProxyType({}),
    eligible: bool = False,
    priority_age: tuple[float, float] | None = None,
    events: PathLike | None = None,
    node_types: Sequence[NodeType] = (),
    node_list: PathLike | None = None,
    policies: Sequence[str] = POLICIES,
    slurm_conf: PathLike | None = None,
    topology: PathLike | None = None,
    malleable: Sequence[float] = (),
    orders: Sequence[QueueOrder] = (),
    closed: Sequence[str] = (),
    limits: Sequence[LimitSource] = (),
    merged: Sequence[Sequence[str]] = (),
    by: Split | None = None,
    seconds: float = 10.0,
    workers: int = 1,
) -> Inquiry:
    """Read a log, or a workload, and plan the runs that answer what is asked of it.

    Parameters
    ----------
    log
        The file; see `allocsolve.instances.read_table_log`, or `allocsolve.instances.read_problem`.
    nodes
        Size of the machine, in the unit; by default what the log tells. With several sizes it is asked what
        would be with each of them.
    unit, format, timezone, time_unit
        Of the log, see `allocsolve.instances.read_table_log`; the format is found by its first lines.
    resources, partitions, eligible, priority_age
        See `allocsolve.instances.LogFields`.
    events
        The file with what ``sacctmgr -P show event`` or ``scontrol show reservation`` printed.
    node_types, node_list
        The nodes, if jobs share them or they differ: their types, or a file, see
        `allocsolve.instances.read_node_list`. Each policy then runs once by each rule that says on which
        nodes jobs start. Where a log shows that jobs share nodes and neither is given, EASY runs by both
        rules on nodes that are assumed, if the log tells enough.
    policies
        Names of queue policies. EASY backfilling in another order, such as ``easy(order=smallest)``, and
        with ``estimate=actual`` is one of `orders` or `limits` as well.
    slurm_conf
        The slurm.conf of the machine, or what ``scontrol show config`` printed, for one more policy; see
        `allocsolve.report.logs.read_slurm_conf`.
    topology
        The network of the machine, such as a topology.conf, on which what was and the best policy are
        replayed; see `allocsolve.report.logs.network_of`.
    malleable
        Shares of the jobs that could change their size, each above 0 and at most 1.
    orders, closed, limits, merged
        What is asked, see `questions`.
    by
        The classes of jobs for which gains and losses are shown.
    seconds, workers
        Time limit and threads of each search for the best schedule and for the bound.

    Raises
    ------
    InvalidOption
        If something cannot be asked of this log.
    FormatError
        If a file cannot be read.
    """
    if 0 in malleable:
        msg = "--malleable 0: without jobs that can change their size is what the page tells anyway"
        raise InvalidOption(msg)
    for name, amounts in (("partitions", partitions), ("resources", resources)):
        if malleable and amounts:
            msg = f"--malleable and --{name}: jobs that need more than nodes cannot change their size"
            raise InvalidOption(msg)
    site = site_nodes(node_types, node_list)
    if malleable and site.types:
        raise InvalidOption("--malleable and --node-types: jobs on nodes that are places keep their sizes")
    days = zone(timezone)
    both_ends: list[Question] = []
    remarks: tuple[str, ...] = ()
    if is_problem(read_text(log, lambda text: text.head)[0]):
        of_logs: dict[str, object] = {"format": format, "time_unit": time_unit, "events": events}
        of_logs |= {"resources": resources, "partitions": partitions}
        of_logs |= {"node_types": node_types, "node_list": node_list}
        of_logs |= {"eligible": eligible, "priority_age": priority_age}
        for name, given in of_logs.items():
            if given:
                option = f"--{name.replace('_', '-')}"
                raise InvalidOption(f"{option} is for logs: {log} is a problem, which has its own machine")
        jobs, problem = read_workload_log(log, unit=unit)
    else:
        fields = LogFields(
            resources,
            partitions,
            eligible,
            priority_age,
            tells_partitions=by == "partition",
            keeps_large=True,
            site=site,
        )

        def read(num_nodes: int | None, there: SiteNodes = site) -> JobLog:
            return read_table_log(
                log,
                format or log_format(log),
                num_nodes=num_nodes,
                unit=None if there.types and not site.types else unit,
                timezone=timezone,
                time_unit=time_unit,
                fields=replace(fields, site=there),
            )

        jobs = _of_one_size(read, nodes)
        parts = closed_parts(jobs, events_file=events, timezone=timezone)
        problem, remarks = log_problem(jobs, closed=parts.windows), parts.lines
        if (assumed := assumed_nodes(jobs)) and not (parts.windows or resources or partitions):
            placed = read(None, SiteNodes(assumed))
            both_ends = on_assumed_nodes(log_problem(placed)) if placed.names == jobs.names else []
    configured, told = ((), ()) if slurm_conf is None else _policy_of(slurm_conf, problem)
    policies = tuple(dict.fromkeys((*policies, *configured)))
    orders = (*orders, *(one for one in QUEUE_ORDERS if order_policy(one) in policies and one not in orders))
    if EXACT in policies and "actual" not in limits:
        limits = (*limits, "actual")
    asked = questions(
        jobs,
        problem,
        nodes=nodes if len(nodes) > 1 or jobs.machine.told_by == OF_PROBLEM else (),
        orders=orders,
        closed=closed,
        limits=limits,
        merged=merged,
        timezone=timezone,
    )
    asked = (*asked, *both_ends)
    if problem.node_types:
        policies = policies_on_nodes(policies)
    else:
        policies = [*dict.fromkeys(map(canonical_name, policies))]
    remarks += told
    split = classes_of(jobs, problem, by) if by else None
    network = None if topology is None else network_of(topology, jobs, problem)
    planned = variants(problem, malleable, asked, policies=policies, seconds=seconds, workers=workers)
    return Inquiry(jobs, problem, asked, planned, policies, split, days, remarks, network)


def _policy_of(slurm_conf: PathLike, problem: WorkloadProblem) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the policy that a slurm.conf describes, and what has to be known of it."""
    configured, told = read_slurm_conf(slurm_conf, chooses_nodes=bool(problem.node_types))
    return (configured,), told


def _of_one_size(read: Callable[[int | None], JobLog], nodes: Sequence[int]) -> JobLog:
    """Return the log, with the size of the machine as it is."""
    if len(nodes) > 1:
        try:
            return read(None)
        except FormatError:  # it tells no size
            pass
    return read(nodes[0] if nodes else None)


def whatif(
    log: PathLike,
    nodes: int | Sequence[int] = (),
    *,
    records: PathLike | None = None,
    **options: Any,  # noqa: ANN401 - those of `inquire`
) -> WhatIfAnswer:
    """Return how long the jobs of a log waited, and would have waited otherwise.

    Usual policies replay the log, the best schedule with hindsight is searched for, and a bound is proven
    that no scheduler goes below; each run is made in a process of its own.

    Parameters
    ----------
    log
        The file of the log, or of a workload.
    nodes
        Size of the machine, or several: see `inquire`.
    records
        The file in which runs are kept, and found again; None keeps nothing.
    **options
        Everything else that `inquire` takes, such as ``policies``, ``orders``, ``by`` and ``seconds``.

    Raises
    ------
    InvalidOption, FormatError
        See `inquire`.
    """
    inquiry = inquire(log, nodes=(nodes,) if isinstance(nodes, int) else nodes, **options)
    with bench.RecordStore(records) as store:
        inquiry.run(store)
        return inquiry.answer(store)


def _document(figures: WhatIf) -> dict[str, Any]:
    """Return what the page says, as JSON has it; times in seconds."""
    cases = {case.key: case.metrics for case in figures.cases}
    waits = {case.key: figures.waits(case) for case in figures.cases}
    by_size = {name: means_by(figures.sizes, column) for name, column in waits.items()}
    by_period = {name: means_by(figures.periods.of_jobs, column) for name, column in waits.items()}
    return {
        "log": figures.log.source,
        "sha256": figures.log.sha256,
        "machine": str(figures.log.machine),
        "cleaning": figures.log.report.counts(),
        "jobs": len(figures.problem.jobs),
        "recorded": cases.pop(RECORDED, None),
        "no_record": figures.no_record,
        "violations": figures.faults,
        "schedules": cases,
        "wait_bound": figures.bound,
        "mean_wait_by_size": by_size,
        f"mean_wait_by_{figures.periods.unit}": {
            name: {figures.periods.labels[period]: mean for period, mean in column.items()}
            for name, column in by_period.items()
        },
        "malleable": [
            {
                "share": case.share,
                "jobs": case.changeable,
                "turnaround_bound": case.bound,
                "schedules": case.metrics,
            }
            for case in figures.elastic
        ],
        "network": [one._asdict() for one in figures.replayed],
        "questions": [*map(_outlook_document, figures.outlooks)],
        "answers": [plain(sentence) for sentence in outlook_sentences(figures)],
        "split": None
        if figures.split is None
        else {"by": figures.split.by, "mean_wait": split_means(figures)},
        "sentences": [plain(sentence) for sentence in headlines(figures)],
        "cautions": [*cautions(figures)],
        "failed": figures.failed,
        "missing": figures.missing,
    }


def _outlook_document(outlook: Outlook) -> dict[str, Any]:
    """Return what would have been if one thing had been otherwise; the log as it is has no option."""
    question = outlook.question
    return {
        "option": question.option,
        "value": question.value,
        "label": question.label,
        "policy": question.policy,
        "schedules": {solver: case.metrics for solver, case in outlook.policies.items()},
        "hindsight_wait": outlook.hindsight,
        "wait_bound": outlook.bound,
        "note": question.note,
        "faults": outlook.faults,
    }
