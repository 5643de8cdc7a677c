"""The configuration of Slurm as a queue policy: slurm.conf, and what scontrol show config prints."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from offenders import all_offenders

from allocsolve.errors import FormatError
from allocsolve.heuristics import SlurmBackfill
from allocsolve.model import WorkloadProblem
from allocsolve.registry import canonical_name, make_solver
from allocsolve.report.logs import SlurmSettings, read_slurm_conf

if TYPE_CHECKING:
    from pathlib import Path


def read(folder: Path, text: str) -> SlurmSettings:
    file = folder / "slurm.conf"
    file.write_text(text, "utf-8")
    return read_slurm_conf(file)


def lines(folder: Path, text: str) -> list[str]:
    """What is said of a file, without its name."""
    return [one.removeprefix(f"{folder / 'slurm.conf'}, ") for one in read(folder, text).remarks]


#: What slurm.conf(5) says that these options take.
RANGES = {
    "bf_interval": (1, 10_800),
    "bf_window": (1, 43_200),
    "bf_resolution": (1, 3_600),
    "bf_max_job_test": (1, 1_000_000),
}


@given(st.data())
def test_every_modelled_option_is_taken(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    assert [*RANGES] == [one.name for one in fields(SlurmBackfill) if one.name.startswith("bf_")]
    names = data.draw(st.lists(st.sampled_from([*RANGES]), unique=True))
    chosen = {name: data.draw(st.integers(*RANGES[name])) for name in names}
    texts = [
        f"{name.upper() if data.draw(st.booleans()) else name}={value}" for name, value in chosen.items()
    ]
    folder = tmp_path_factory.mktemp("conf")
    made = read(folder, f"SchedulerParameters={','.join(texts)}\n")
    assert make_solver(made.policy, WorkloadProblem) == SlurmBackfill(**chosen)  # type: ignore[arg-type]  # they are integers
    assert made.remarks == ()


@pytest.mark.parametrize(
    ("conf", "policy"),
    [
        ("SelectTypeParameters=CR_Core_Memory,CR_LLN\n", "slurm-backfill(choice=least-loaded)"),
        ("SelectTypeParameters=CR_Core\n", "slurm-backfill(choice=slurm)"),
        ("SchedulerType=sched/builtin\n", "fcfs(choice=slurm)"),
    ],
)
def test_nodes_that_are_places_are_chosen_as_slurm_does(tmp_path: Path, conf: str, policy: str) -> None:
    file = tmp_path / "slurm.conf"
    file.write_text(conf, "utf-8")
    assert read_slurm_conf(file, chooses_nodes=True) == SlurmSettings(canonical_name(policy), ())


def test_files_as_sites_have_them(tmp_path: Path) -> None:
    conf = (
        "# SchedulerParameters=bf_interval=1\nClusterName=c\nInclude /etc/slurm/nodes.conf\n"
        "SchedulerType=sched/backfill   # the default\n"
        "SchedulerParameters=bf_interval=60,bf_max_job_test=1000,\\\nbf_continue,bf_max_job_user=20,my_own=3\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory,CR_LLN\n"
        "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityWeightFairshare=5000\n"
        "PriorityWeightQOS=0\nPriorityMaxAge=14-0\nPreemptType=preempt/qos\n"
        "PartitionName=p Nodes=n[1-4] MaxTime=60 LLN=yes\n"
    )
    made = read(tmp_path, conf)
    assert made.policy == "slurm-backfill(bf_interval=60, bf_max_job_test=1000)"
    said = lines(tmp_path, conf)
    for begins in (
        "line 3: Include /etc/slurm/nodes.conf: ",
        "line 5: bf_continue is not modelled: passes take no time here",
        "line 5: bf_max_job_user=20 is not modelled: ",
        "line 5: my_own=3 is not modelled: it is no scheduler parameter",
        "line 8: CR_Core_Memory is not modelled: ",
        "line 8: CR_LLN is not modelled: it spreads jobs",
        "line 11: PriorityWeightFairshare=5000 is not modelled: the queue is in the order of submission",
        "line 14: PreemptType=preempt/qos is not modelled: ",
        "line 15: LLN=yes is not modelled: it spreads jobs",
    ):
        assert [one for one in said if one.startswith(begins)], begins
    assert any("--priority-age 1000,14 " in one for one in said)
    assert len(said) == 10, "a line each, and none of weights of 0"
    shown = (
        "Configuration data as of 2026-03-04T10:00:00\n"
        "PriorityFavorSmall      = No\nPriorityType            = priority/basic\n"
        "SchedulerParameters     = bf_window=2880,max_job_bf=200\nSchedulerType           = sched/backfill\n"
        "SelectTypeParameters    = (null)\nMailProg = /bin/mail\n"
    )
    assert read(tmp_path, shown) == ("slurm-backfill(bf_window=2880, bf_max_job_test=200)", ())


@pytest.mark.parametrize(
    ("conf", "policy"),
    [
        ("ClusterName=c", "slurm-backfill"),
        ("SchedulerType=sched/builtin", "fcfs"),
        ("SchedulerParameters=bf_interval=-1", "fcfs"),
        ("PriorityWeightAge=100", "slurm-backfill"),
        ("PriorityWeightJobSize=100", "slurm-backfill(order=largest)"),
        ("PriorityWeightJobSize=100\nPriorityFavorSmall=YES", "slurm-backfill(order=smallest)"),
        ("SchedulerType=sched/backfill SchedulerParameters=bf_interval=90", "slurm-backfill(bf_interval=90)"),
        ("SchedulerParameters=bf_max_job_user=0,bf_interval=30", "slurm-backfill"),
    ],
)
def test_schedulers_and_priorities(conf: str, policy: str, tmp_path: Path) -> None:
    assert read(tmp_path, conf) == (policy, ())


def test_what_is_left_out_of_priorities_is_said(tmp_path: Path) -> None:
    for conf in (
        "PriorityWeightJobSize=1\nPriorityFlags=SMALL_RELATIVE_TO_TIME",
        "PriorityWeightJobSize=1\nPriorityWeightTRES=CPU=1000",
    ):
        made = read(tmp_path, conf)
        assert made.policy == "slurm-backfill"
        assert "line 1: PriorityWeightJobSize=1 is not modelled" in made.remarks[0]
    sizes = "SchedulerType=sched/builtin\nPriorityWeightJobSize=1"
    assert "without backfill" in read(tmp_path, sizes).remarks[0]


def test_bad_values_name_file_line_and_value(tmp_path: Path) -> None:
    with all_offenders() as offender:
        for conf, message in (
            ("\nSchedulerParameters=bf_interval=soon", "line 2: bf_interval=soon: is not a whole number"),
            ("SchedulerParameters=bf_interval=0", "line 1: bf_interval=0: "),
            ("SchedulerParameters=bf_resolution=4000", "line 1: bf_resolution=4000: "),
            ("SchedulerParameters=bf_max_time=x", "line 1: bf_max_time=x: is not a whole number"),
            ("SchedulerType=sched/wiki", "line 1: SchedulerType=sched/wiki: is neither"),
            ("PriorityType=priority/mine", "line 1: PriorityType=priority/mine: is neither"),
            ("PriorityWeightAge=much", "line 1: PriorityWeightAge=much: is not a whole number"),
            (
                "PriorityWeightAge=1\nPriorityWeightQOS=1\nPriorityMaxAge=old",
                "line 3: PriorityMaxAge=old: 'old' is no duration",
            ),
            ("nothing", "is no slurm.conf"),
        ):
            with offender(conf):
                with pytest.raises(FormatError) as caught:
                    read(tmp_path, conf)
                assert str(caught.value).startswith(f"{tmp_path / 'slurm.conf'}: {message}"), caught.value
                assert "\n" not in str(caught.value)
    with pytest.raises(FormatError, match=r"none\.conf: cannot be read"):
        read_slurm_conf(tmp_path / "none.conf")
