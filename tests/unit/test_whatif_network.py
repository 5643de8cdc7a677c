"""`whatif --topology` and `--slurm-conf`: the log on its network, and the policy of its machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from cli_tools import Capture, refused, run, run_json
from hypothesis import given, strategies as st
from whatif_logs import NODES, SECONDS, fixed_work, sacct

from allocsolve.heuristics import FirstFit, LowestSwitch, SlurmBlock, SlurmTree
from allocsolve.heuristics.placement.rule import Request
from allocsolve.instances.generators.examples import random_workload
from allocsolve.judge import placement_metrics
from allocsolve.model import Budget, Placement, PlacementProblem, SwitchTree
from allocsolve.report import whatif
from allocsolve.report.logs.network import Network, mean_hops, replays

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.heuristics.placement.rule import Rule
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

work = pytest.fixture(scope="module", autouse=True)(fixed_work)

TREES = (
    SwitchTree.regular((2, 2, 4)),
    SwitchTree.regular((4, 4), (1, 4)),
    SwitchTree(np.array([-1, -1]), np.repeat([0, 1], [6, 10])),
)
RULES = (SlurmTree(), SlurmBlock(), LowestSwitch())
TOPOLOGY = (
    "".join(f"SwitchName=s{i} Nodes=n[{4 * i}-{4 * i + 3}]\n" for i in range(4))
    + "SwitchName=top Switches=s[0-3]\n"
)


def slow(
    tree: SwitchTree, rule: Rule, problem: WorkloadProblem, schedule: WorkloadSchedule
) -> tuple[float, ...]:
    """The same from the definitions: free nodes are those of nobody, distances those of the judge."""
    hops, switches, held_back = [], [], 0
    nodes_of: dict[int, list[int]] = {}
    starts, ends = schedule.first_starts, schedule.last_ends
    for job in np.argsort(starts, kind="stable").tolist():
        running = [one for one in nodes_of if ends[one] > starts[job]]
        free = np.ones(tree.num_nodes, dtype=np.bool_)
        for one in running:
            free[nodes_of[one]] = False
        size = problem.jobs[job].nodes
        nodes = rule.take(Request(tree, free, size))
        held_back += nodes is None
        chosen = np.flatnonzero(free)[:size] if nodes is None else nodes
        nodes_of[job] = chosen.tolist()
        metrics = placement_metrics(PlacementProblem(tree, free, size), Placement(chosen))
        switches.append(metrics.domains[0])
        tops = np.flatnonzero(tree.parent < 0).tolist()
        pairs = sum(
            below * (below - 1) // 2 for below in (np.isin(chosen, _below(tree, top)).sum() for top in tops)
        )
        if size > 1:
            hops.append(metrics.total_distance / pairs if pairs else np.nan)
    return float(np.mean(hops)), float(np.mean(switches)), held_back


def _below(tree: SwitchTree, top: int) -> list[int]:
    return [node for node in range(tree.num_nodes) if top in tree.path_up(node)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@given(st.integers(0, 10**6), st.sampled_from(TREES))
def test_replays_are_what_the_definitions_say(rule: Rule, seed: int, tree: SwitchTree) -> None:
    problem = random_workload(seed, 25, tree.num_nodes, load=1.2)
    schedule = FirstFit()(problem, Budget()).answer
    assert schedule is not None
    (made,) = replays(Network(tree, (rule,)), problem, {"first-fit": schedule})
    expected = slow(tree, rule, problem, schedule)
    assert (made.hops, made.switches, made.held_back) == pytest.approx(expected, nan_ok=True)
    assert made.fewest <= made.switches


def test_pairs_without_a_common_switch_have_no_distance() -> None:
    tree = TREES[2]
    roots = np.arange(2)
    assert mean_hops(tree, np.array([3, 1]), roots) == 2
    assert np.isnan(mean_hops(tree, np.array([1, 1]), roots))


def test_the_command_shows_the_network_and_the_policy_of_slurm(tmp_path: Path, capsys: Capture) -> None:
    log, network, conf = tmp_path / "jobs.txt", tmp_path / "topology.conf", tmp_path / "slurm.conf"
    log.write_text(sacct(limits=True))
    network.write_text(TOPOLOGY)
    conf.write_text("SchedulerParameters=bf_interval=600,bf_continue\n")
    asked = ("--policy", "easy", "--topology", network, "--slurm-conf", conf)
    argv = ("whatif", log, "--nodes", NODES, *SECONDS, *asked, "--out", tmp_path / "page.html")
    told = run_json(capsys, *argv)
    assert [*told["schedules"]] == ["easy", "slurm-backfill(bf_interval=600)", "prices"]
    remark = f"{conf}, line 1: bf_continue is not modelled: passes take no time here"
    assert told["remarks"] == [remark]
    rows = told["network"]
    best = min(("easy", "slurm-backfill(bf_interval=600)"), key=lambda name: told["schedules"][name]["wait"])
    assert [(row["schedule"], row["rule"]) for row in rows] == [
        (schedule, rule.name) for schedule in ("recorded", best) for rule in RULES
    ]
    shown = run(capsys, *argv)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for text in (shown, page):
        assert "On the network" in text
        assert f"{rows[0]['hops']:.2f}" in text
        assert remark in text
    same = whatif(log, NODES, policies=["easy"], topology=network, slurm_conf=conf, seconds=600.0)
    assert same.document()["network"] == rows
    assert same.remarks == (remark,)


def test_another_network_is_refused_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    log, network = tmp_path / "jobs.txt", tmp_path / "topology.conf"
    log.write_text(sacct())
    argv = ("whatif", log, "--topology", network, "--nodes")
    network.write_text(TOPOLOGY)
    assert f"--topology {network}: has 16 nodes, the machine 17" in refused(capsys, *argv, 17)
    network.write_text("RingName=r Nodes=n[0-15]\n")
    assert f"--topology {network}: a ring or a torus" in refused(capsys, *argv, NODES)
    network.write_text("")
    assert str(network) in refused(capsys, *argv, NODES)
    log.write_text(sacct().replace("NNodes", "NCPUS"))
    network.write_text(TOPOLOGY)
    assert "sizes count processors" in refused(capsys, *argv, NODES, "--unit", "processors")
