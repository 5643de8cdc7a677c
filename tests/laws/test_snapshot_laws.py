"""Laws of queues as they are: snapshots, and what squeue prints."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from offenders import all_offenders
from squeue_files import NOW, as_json, at, good, read
from tiers import examples
from when_tools import conservative_plan

from allocsolve.errors import InvalidOption
from allocsolve.heuristics import (
    Conservative,
    Easy,
    Fcfs,
    FirstFit,
    MalleableMin,
    SlurmBackfill,
    easy_starts,
)
from allocsolve.instances import read_squeue
from allocsolve.instances.formats.logs.squeue_reasons import MAINTENANCE, REASONS, reason_of
from allocsolve.model import ClosedWindow
from allocsolve.prediction import shorter_limits
from allocsolve.prediction.scenarios import waits_by_limits
from allocsolve.report.queues.machine import (
    Machine,
    MachineOptions,
    blocks_of,
    machine_of,
    snapshot_of,
    units_of,
)
from allocsolve.simulation import QueueSnapshot

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.instances import QueueListing
    from allocsolve.model import FloatArray


#: All that take the queue in the order of submission; those that remember reservations are objects, too.
PLANNING = (
    Conservative(),
    Conservative(compression="replan"),
    Conservative(compression="none"),
    Conservative(estimate="actual"),
    Easy(),
    Easy(estimate="actual"),
    Easy(reservations=2),
    Easy(reservations="all"),
    Easy(like="raps"),
    Easy(like="cqsim"),
    SlurmBackfill(),
    SlurmBackfill(bf_interval=7, bf_resolution=1),
    Fcfs(),
    FirstFit(),
    Easy(order="shortest-estimate"),
)
#: Those of them that take account of windows and counted resources.
ON_MACHINES = tuple(
    policy for policy in PLANNING if not isinstance(policy, SlurmBackfill) and not getattr(policy, "like", "")
)
planning = pytest.mark.parametrize("policy", PLANNING, ids=str)
on_machines = pytest.mark.parametrize("policy", ON_MACHINES, ids=str)


@st.composite
def snapshots(draw: Any, *, now: float | None = None) -> QueueSnapshot:
    """Draw a queue; some running jobs have started now, or have run for longer than they may."""
    now = draw(st.sampled_from([0.0, 50.0, 1_764_063_000.0])) if now is None else now
    num_nodes = draw(st.integers(1, 8))
    running: list[tuple[int, float, int]] = []
    free = num_nodes
    while free and len(running) < 5 and draw(st.booleans()):
        running.append((draw(st.integers(1, free)), now - draw(st.integers(0, 20)), draw(st.integers(1, 40))))
        free -= running[-1][0]
    queued = [
        (draw(st.integers(1, num_nodes)), now - draw(st.integers(0, 40)), draw(st.integers(1, 20)))
        for _ in range(draw(st.integers(1, 7)))
    ]
    held, starts, running_limits = zip(*running, strict=True) if running else ((), (), ())
    nodes, submits, limits = zip(*queued, strict=True)
    late = [now + 7 if draw(st.integers(0, 5)) == 0 else now for _ in queued]
    columns: Any = (held, starts, running_limits, nodes, submits, limits, late)
    return QueueSnapshot(num_nodes, now, *columns)


@pytest.mark.parametrize("reservations", [1, 2, "all"])
@given(snapshot=snapshots(now=50.0))
def test_a_view_of_it_and_functions_on_its_columns_say_who_starts(
    snapshot: QueueSnapshot, reservations: Any
) -> None:
    policy, queue = Easy(reservations=reservations), np.flatnonzero(snapshot.eligible <= snapshot.now)
    ends = snapshot.running_starts + snapshot.running_limits
    state = snapshot.nodes[queue], snapshot.limits[queue], snapshot.running_nodes, ends
    free = snapshot.num_nodes - snapshot.running_nodes.sum()
    places = easy_starts(snapshot.now, free, *state, reservations=reservations)
    view = snapshot.view()
    decided: Any = policy.decide(view)
    assert [start.job for start in decided] == queue[places].tolist()
    if len(queue) == len(snapshot.nodes):
        again = QueueSnapshot.of(view).view()
        assert [*map(str, (again, *again.jobs))] == [*map(str, (view, *view.jobs))]
        with pytest.raises(InvalidOption, match="hides actual run times"):
            Easy(estimate="actual").decide(view)
    with pytest.raises(InvalidOption, match="a view shows neither closed windows"):
        replace(snapshot, resources={"gpus": 1}, running_needs=(), needs=()).view()


def run_times(snapshot: QueueSnapshot, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return three scenarios of run times, whole seconds up to the limits; the last is that of the limits."""
    rng = np.random.default_rng(seed)
    limits = np.concatenate([snapshot.running_limits, snapshot.limits])
    drawn = np.vstack([np.ceil(rng.random((2, len(limits))) * limits), limits])
    return drawn[:, : len(snapshot.running_limits)], drawn[:, len(snapshot.running_limits) :]


@planning
@settings(max_examples=examples(60))
@given(snapshot=snapshots(), seed=st.integers(0, 9))
def test_it_does_not_matter_when_jobs_were_submitted(snapshot: QueueSnapshot, seed: int, policy: Any) -> None:
    """Moving all submissions to now, in their order, changes no answer; nor does moving them apart."""
    times = run_times(snapshot, seed)
    told = snapshot.starts(policy, *times)
    count = len(snapshot.nodes)
    before: FloatArray = np.arange(count, 0, -1, dtype=np.float64)
    moves: list[FloatArray] = [np.full(count, snapshot.now), np.array(snapshot.now - 1000 * before)]
    for submits in moves:
        moved = replace(snapshot, submits=submits)
        assert np.array_equal(moved.starts(policy, *times), told, equal_nan=True)
    assert (told >= snapshot.now).all()


@planning
@settings(max_examples=examples(40))
@given(snapshot=snapshots(), seed=st.integers(0, 9))
def test_compiled_and_called_policies_go_on_alike(snapshot: QueueSnapshot, seed: int, policy: Any) -> None:
    times = run_times(snapshot, seed)
    compiled = snapshot.starts(policy, *times)
    called = policy.online() if isinstance(policy, Conservative) else policy
    if policy.rules.knowledge == "actual":
        return  # a function does not say that it wants to know
    assert snapshot.starts(called.decide, *times).tolist() == compiled.tolist()
    one = snapshot.starts(policy, times[0][0], times[1][0])
    assert one.tolist() == compiled[0].tolist()


@settings(max_examples=examples(150))
@given(snapshot=snapshots())
def test_conservative_starts_are_the_reservations(snapshot: QueueSnapshot) -> None:
    now = snapshot.now
    plain = replace(snapshot, eligible=snapshot.submits)
    if (plain.running_starts + plain.running_limits <= now + 1).any():
        return  # their ends are not in the plan
    plan = conservative_plan(plain)
    for compression in ("compress", "replan", "none"):
        assert waits_by_limits(plain, Conservative(compression=compression)).tolist() == plan.tolist()


@on_machines
@settings(max_examples=examples(40))
@given(snapshot=snapshots(), seed=st.integers(0, 9))
def test_a_resource_of_which_there_is_enough_changes_nothing(
    snapshot: QueueSnapshot, seed: int, policy: Any
) -> None:
    times = run_times(snapshot, seed)
    rich = replace(
        snapshot,
        resources={"gpus": 1000},
        running_needs=({"gpus": 3},) * len(snapshot.running_nodes),
        needs=({"gpus": 2},) * len(snapshot.nodes),
    )
    assert rich.starts(policy, *times).tolist() == snapshot.starts(policy, *times).tolist()


@st.composite
def closed_snapshots(draw: Any) -> QueueSnapshot:
    snapshot: QueueSnapshot = draw(snapshots())
    windows = []
    for _ in range(draw(st.integers(1, 3))):
        begin = snapshot.now + draw(st.integers(0, 40))
        amounts = draw(st.sampled_from([{}, {"nodes": 1}, {"nodes": snapshot.num_nodes}, {"long": 1}]))
        windows.append(ClosedWindow(begin, begin + draw(st.integers(1, 25)), amounts))
    partition = draw(st.integers(max(1, int(snapshot.running_nodes.sum())), snapshot.num_nodes))
    needs = tuple({"long": int(nodes)} if nodes <= partition else {} for nodes in snapshot.nodes.tolist())
    running_needs = tuple({"long": int(nodes)} for nodes in snapshot.running_nodes.tolist())
    return replace(
        snapshot,
        closed=tuple(windows),
        resources={"long": partition},
        running_needs=running_needs,
        needs=needs,
    )


@on_machines
@settings(max_examples=examples(60))
@given(snapshot=closed_snapshots())
def test_nobody_starts_who_would_meet_a_window(snapshot: QueueSnapshot, policy: Any) -> None:
    """Counted second by second: what is held is open, but for what jobs hold that ran before."""
    now, count = snapshot.now, len(snapshot.running_nodes)
    starts = snapshot.starts(policy, snapshot.running_limits, snapshot.limits)
    ends = np.concatenate(
        [np.maximum(snapshot.running_starts + snapshot.running_limits, now + 1), starts + snapshot.limits]
    )
    begins = np.concatenate([np.full(count, now), starts])
    whole = {"nodes": snapshot.num_nodes, **dict(snapshot.resources)}
    needs = {
        "nodes": np.concatenate([snapshot.running_nodes, snapshot.nodes]),
        "long": np.array([one.get("long", 0) for one in (*snapshot.running_needs, *snapshot.needs)]),
    }
    for second in np.arange(now, ends.max()):
        for name, there in whole.items():
            shut = sum(
                dict(window.amounts).get(name, 0) if window.amounts else there
                for window in snapshot.closed
                if window.start <= second < window.end
            )
            runs = (begins <= second) & (second < ends)
            old = needs[name][:count][runs[:count]].sum()
            new = needs[name][count:][runs[count:]].sum()
            assert not new or old + new <= max(there - shut, 0)
    assert np.array_equal(snapshot.first_open(starts[:, None])[:, 0], starts)


@settings(max_examples=examples(60))
@given(snapshot=closed_snapshots(), wait=st.integers(0, 50))
def test_an_idle_machine_is_open_when_it_is_said_to_be(snapshot: QueueSnapshot, wait: int) -> None:
    """The first open time is the start of a job that is alone on the machine and eligible then."""
    nothing = np.empty(0)
    told = snapshot.first_open(np.full((len(snapshot.nodes), 1), snapshot.now + wait))[:, 0]
    for job in range(len(snapshot.nodes)):
        alone = replace(
            snapshot,
            running_nodes=nothing.astype(int),
            running_starts=nothing,
            running_limits=nothing,
            running_needs=(),
            nodes=snapshot.nodes[job : job + 1],
            submits=snapshot.submits[job : job + 1],
            limits=snapshot.limits[job : job + 1],
            eligible=np.array([snapshot.now + wait]),
            needs=snapshot.needs[job : job + 1],
        )
        assert alone.starts(Fcfs(), nothing, alone.limits).tolist() == [told[job]]


@pytest.mark.parametrize("policy", [Fcfs(), Easy(), Conservative()], ids=str)
@settings(max_examples=examples(30))
@given(snapshot=snapshots(now=0.0), begin=st.integers(1, 30), seconds=st.integers(1, 30))
def test_the_longest_limit_is_the_longest(
    snapshot: QueueSnapshot, begin: int, seconds: int, policy: Any
) -> None:
    """Times are minutes; with each longer limit that is tried the job starts after the window begins."""
    slow = replace(
        snapshot,
        running_starts=snapshot.running_starts * 60,
        running_limits=snapshot.running_limits * 60,
        submits=snapshot.submits * 60,
        limits=snapshot.limits * 60,
        closed=(ClosedWindow(begin * 60, (begin + seconds) * 60),),
    )
    plan = waits_by_limits(slow, policy)
    free = waits_by_limits(replace(slow, closed=()), policy)
    told = shorter_limits(slow, policy, plan, range(len(plan)))

    def start(job: int, limit: float) -> float:
        limits = slow.limits.copy()
        limits[job] = limit
        return float(waits_by_limits(replace(slow, limits=limits), policy)[job])

    for job in range(len(plan)):
        if job in told:
            limit, begins, window = told[job]
            assert window == begin * 60 <= plan[job]
            assert plan[job] > free[job]
            assert begins == start(job, limit) < window
            assert limit < slow.limits[job]
            assert limit + 60 == slow.limits[job] or start(job, limit + 60) >= window
        elif plan[job] > free[job] and plan[job] >= begin * 60:
            assert slow.limits[job] == 60 or start(job, 60) >= begin * 60


def test_a_policy_without_windows_says_so() -> None:
    one = np.array([1])
    now = np.array([10.0])
    nothing = np.empty(0)
    snapshot = QueueSnapshot(
        1, 10.0, nothing.astype(int), nothing, nothing, one, now, now, now, closed=(ClosedWindow(12, 20),)
    )
    with pytest.raises(Exception, match="the policy MalleableMin is for plain machines"):
        snapshot.starts(MalleableMin(), nothing, now)
    assert snapshot.starts(Easy(), nothing, now).tolist() == [20]


# --- Squeue -------------------------------------------------------------------------------------------

#: What names of reasons say by their parts, the first that fits: how Slurm has made them.
FAMILIES = (
    (r"(Assoc|QOS)Grp.*", "blocked"),
    (r"QOSMin.*", "never"),
    (r"(Assoc|QOS)Max.*Per(Job|Node)(Limit)?", "never"),
    (r"(Assoc|QOS)Max.*Limit|QOSMax.*PerUser", "blocked"),
    (r"Max.*Per(Account|User)", "blocked"),
    (r"(Association|QOS)(Job|Resource|Time)Limit|QOSUsageThreshold|AccountingPolicy", "blocked"),
    (r"JobHeld.*|JobHold.*|ReservationDeleted|BurstBufferOperation|.*Failure", "held"),
    (r"NonZeroExitCode|RaisedSignal|TimeLimit|InactiveLimit|OutOfMemory", "held"),
    (r"None|Priority|Resources|Prolog|SchedDefer", "line"),
    (r"Invalid.*|.*NotAllowed|Bad.*|.*NeverSatisfied|DeadLine|.*Invalid|MaxMemPerLimit", "never"),
    (r"Partition(NodeLimit|TimeLimit|Config)", "never"),
    (r".*", "blocked"),
)
NOT_IN_LINE = sorted(name for name, reason in REASONS.items() if reason.standing != "line")


def test_all_reasons_of_slurm_are_in_one_of_four_classes() -> None:
    assert len(REASONS) == 222  # 216 of version 25, and six that older ones have
    with all_offenders() as offender:
        for name, reason in REASONS.items():
            with offender(name):
                family = next(standing for pattern, standing in FAMILIES if re.fullmatch(pattern, name))
                assert reason.standing == family
                assert (reason.standing == "line") == (not reason.block)
                for form in (name.upper(), f"({name})", f"{name}, for a reason", f" {name} "):
                    assert reason_of(form) == reason, form


def test_sentences_and_what_is_not_known() -> None:
    long = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    assert reason_of(long).standing == reason_of(f"({long.replace(' ', '_')})").standing == "line"
    assert reason_of(long.replace("DRAINED", "DRAINED, FAIL")).standing == "line"
    for held in ("launch failed requeued held", "job_requeued_in_held_state"):
        assert reason_of(held) == ("held", f"held: {held}")
    assert reason_of("Sunspots") == ("blocked", "Sunspots")
    assert reason_of("ReqNodeNotAvail, Reserved for maintenance") == MAINTENANCE
    assert reason_of("").standing == "line"


def told(listing: QueueListing, policy: Any, machine: Machine) -> dict[str, float]:
    """Return the start of each job that waits in line if all run to their limits."""
    jobs = [*listing.queued]
    units = units_of(jobs, blocks_of(jobs, machine), machine)
    waits = waits_by_limits(snapshot_of(listing, units, machine, (), NOW), policy)
    return {
        jobs[idx].name: wait for unit, wait in zip(units, waits.tolist(), strict=True) for idx in unit.members
    }


def plain(size: int, **partitions: int) -> Machine:
    return Machine(size, "nodes", partitions, (), 0, ())


@st.composite
def queues(draw: Any) -> list[dict[str, str]]:
    """Draw rows of a queue of eight nodes, of which some are held, blocked or can never start."""
    running, waiting = good()[0], good()[1]
    rows = [{**running, "NODES": str(draw(st.integers(1, 6)))}]
    for number in range(draw(st.integers(1, 9))):
        row = {
            **waiting,
            "JOBID": str(900 + number),
            "NODES": str(draw(st.integers(1, 10))),
            "PRIORITY": str(draw(st.sampled_from([0, 5, 50, 500]))),
            "TIME_LIMIT": draw(st.sampled_from(["30:00", "1:00:00", "2:00:00", "1-00:00:00"])),
            "SUBMIT_TIME": at(-draw(st.integers(0, 3000))),
            "REASON": draw(st.sampled_from(["None", "Priority", "Resources", *NOT_IN_LINE])),
            "START_TIME": draw(st.sampled_from(["N/A", at(5000)])),
            "PARTITION": draw(st.sampled_from(["std", "long", "std,long"])),
        }
        rows.append(row)
    return rows


@settings(max_examples=examples(60))
@given(rows=queues(), limited=st.booleans())
def test_who_cannot_start_delays_nobody(
    rows: list[dict[str, str]], limited: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The others are told the same if those who cannot start are not in the file at all."""
    folder = tmp_path_factory.mktemp("queue")
    machine = plain(8, long=7) if limited else plain(8)
    listing = read("text", folder, rows)
    jobs = [*listing.queued]
    stuck = {job.name for job, block in zip(jobs, blocks_of(jobs, machine), strict=True) if block}
    by_name = {row["JOBID"]: row for row in rows}
    for job in jobs:
        row = by_name[job.name]
        has_begin = row["REASON"] == "BeginTime" and row["START_TIME"] != "N/A"
        if int(row["PRIORITY"]) == 0 or int(row["NODES"]) > 8:
            assert job.name in stuck
        elif row["REASON"] in NOT_IN_LINE and not has_begin:
            assert job.name in stuck
            assert job.standing == REASONS[row["REASON"]].standing
    others = read("text", folder, [row for row in rows if row["JOBID"] not in stuck])
    for policy in (Easy(), Conservative()):
        starts = told(listing, policy, machine)
        assert starts.keys() == {job.name for job in jobs} - stuck
        assert starts == told(others, policy, machine)


@settings(max_examples=examples(40))
@given(rows=queues(), seed=st.integers(0, 99))
def test_parts_of_a_job_start_together(
    rows: list[dict[str, str]], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As one job of the nodes of all and of the longest limit; if one part is blocked, all are."""
    rng = random.Random(seed)
    parts = [
        {**good()[1], "JOBID": f"12+{part}", "NODES": str(rng.randint(1, 3)), "PRIORITY": "60"}
        for part in range(3)
    ]
    for part in parts:
        part["TIME_LIMIT"] = rng.choice(["30:00", "2:00:00"])
        part["REASON"] = rng.choice(["Resources", "None", "Resources", "JobHeldUser"])
    whole = {
        **parts[0],
        "JOBID": "12",
        "NODES": str(sum(int(part["NODES"]) for part in parts)),
        "TIME_LIMIT": max((part["TIME_LIMIT"] for part in parts), key=["30:00", "2:00:00"].index),
        "REASON": next((part["REASON"] for part in parts if part["REASON"] == "JobHeldUser"), "None"),
    }
    folder, machine = tmp_path_factory.mktemp("queue"), plain(8)
    apart = told(read("text", folder, [*rows, *parts]), Easy(), machine)
    joined = told(read("text", folder, [*rows, whole]), Easy(), machine)
    starts = {apart.pop(f"12+{part}", math.nan) for part in range(3)}
    together = joined.pop("12", math.nan)
    assert apart == joined
    assert starts == {together} or all(math.isnan(start) for start in starts)
    assert math.isnan(together) == any(math.isnan(start) for start in starts)


def test_parts_say_for_whom_they_wait(tmp_path: Path) -> None:
    parts = [{**good()[1], "JOBID": f"12+{part}", "NODES": "3", "PRIORITY": "60"} for part in range(2)]
    listing = read("text", tmp_path, [good()[0], {**parts[0], "REASON": "JobHeldUser"}, parts[1]])
    assert blocks_of([*listing.queued], plain(8)) == ["held", "waits for its part 12+0"]
    listing = read("text", tmp_path, [good()[0], *parts])
    assert blocks_of([*listing.queued], plain(8)) == ["", ""]
    assert blocks_of([*listing.queued], plain(5)) == ["its parts ask for 6 of 5 nodes"] * 2
    limited = ["its parts ask for 6 of 5 nodes of std"] * 2
    assert blocks_of([*listing.queued], plain(8, std=5, long=4)) == limited


def test_jobs_that_hold_their_nodes(tmp_path: Path) -> None:
    for state in ("COMPLETING", "CG", "STOPPED", "CONFIGURING"):
        listing = read("text", tmp_path, [{**good()[0], "STATE": state}, good()[1]])
        assert [(job.nodes, job.start) for job in listing.running] == [(3, NOW - 3600)], state
        assert listing.others == 0
    suspended = {**good()[0], "STATE": "SUSPENDED", "TIME": "20:00"}
    listing = read("text", tmp_path, [suspended, good()[2]])
    assert listing.running[0].start == NOW - 1200  # it has run for twenty minutes
    for state in ("REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"):
        listing = read("text", tmp_path, [good()[0], {**good()[1], "STATE": state, "REASON": "None"}])
        assert listing.queued[0].standing == "held", state
    listing = read("text", tmp_path, [good()[0], {**good()[1], "STATE": "REQUEUED", "REASON": "None"}])
    assert listing.queued[0].block == "is cleaned up after its last run"


def test_priority_and_states_of_json(tmp_path: Path) -> None:
    document = as_json(good()[:3], "wrapped")
    running, waiting, _ = document["jobs"]
    unset = {"set": False, "infinite": False, "number": 0}
    jobs = [
        {**running, "job_state": ["COMPLETED", "COMPLETING"]},
        {
            **running,
            "job_id": 5,
            "job_state": ["SUSPENDED"],
            "pre_sus_time": {**unset, "set": True, "number": 60},
        },
        {**waiting, "priority": unset},
        {**waiting, "job_id": 8, "priority": {**unset, "set": True}},
        {**waiting, "job_id": 9, "job_state": ["PENDING", "REQUEUE_HOLD"]},
        {**waiting, "job_id": 13, "het_job_id": {**unset, "set": True, "number": 12}, "het_job_offset": 1},
    ]
    path = tmp_path / "queue"
    path.write_text(json.dumps({**document, "jobs": jobs}))
    listing = read_squeue(path)
    assert [(job.name, NOW - job.start) for job in listing.running] == [("801", 3600), ("5", 60)]
    standings = {job.name: job.standing for job in listing.queued}
    assert standings == {"802": "line", "8": "held", "9": "held", "12+1": "line"}


def test_partitions_of_which_one_is_large_enough(tmp_path: Path) -> None:
    machine = plain(8, std=2, long=5)
    assert machine.partition(("std", "long")) == "long"
    assert machine.partition(("std", "other")) is None
    assert machine.partition(()) is None
    listing = read("text", tmp_path, [{**good()[0], "PARTITION": "other"}, {**good()[1], "PARTITION": "std"}])
    assert blocks_of([*listing.queued], machine) == ["asks for 4 of 2 nodes of std"]


def test_nodes_that_are_down_without_an_end(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.write_text(
        "NodeName|TimeStart|TimeEnd|State|Reason\n"
        f"n1|{at(-5000)}|Unknown|DOWN|disk\nn2|{at(-5000)}|{at(-10)}|DOWN|disk\nn3|{at(50)}|{at(90)}|DOWN|x\n"
    )
    listing = read("text", tmp_path, [good()[0], {**good()[1], "NODES": "8"}])
    machine = machine_of(MachineOptions(events=events), listing, NOW, 8, "nodes")
    assert machine.down == 1
    assert blocks_of([*listing.queued], machine) == ["asks for 8 of 7 nodes that are up, 1 are not"]
    assert [line.partition(": ")[2] for line in machine.lines] == [
        "3 events, 1 over, 1 without an end; 2 nodes, 3 windows"
    ]
