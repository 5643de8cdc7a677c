"""What all generators have in common: their commands draw what they draw, and bad options get one line."""

from __future__ import annotations

import io
import math
import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from offenders import all_offenders

from allocsolve import instances as made
from allocsolve.errors import AllocsolveError
from allocsolve.instances import klein2011, linnert2024, lublin1999, read_problem, write_problem
from allocsolve.model import Job, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allocsolve.model import Problem

RIGID = lublin1999(1, num_jobs=50)
ELASTIC = made.elastic_workload(RIGID, share=1, seed=1)
elastic, lina = (partial(one, RIGID, share=0.5) for one in (made.elastic_workload, made.lina_workload))
shrunk, lublin = partial(made.shrunk_arrivals, RIGID), partial(lublin1999, num_jobs=1)
tree_stream, mesh_stream = partial(made.evotree_stream, num_jobs=1), partial(made.amr_stream, num_jobs=1)
tree_batch = made.evotree_batch
BEYOND = 2**53 + 1

#: Generators, an option, and what is said of it.
REFUSED: list[tuple[tuple[Callable[..., object], ...], dict[str, Any], str]] = [
    ((made.amr, made.downey1997, elastic, lina, lublin), {"seed": -1}, "seed -1 is not made of integers"),
    ((made.evotree, tree_batch), {"seed": -1}, "seed [-1] is not made of integers >= 0"),
    ((made.evotree,), {"seed": 1.5}, "seed [1.5] is not made of integers >= 0"),
    ((linnert2024,), {"seed": -1}, "seed -1 is not in 0..2^53"),
    ((linnert2024,), {"seed": 1.5}, "seed 1.5 is not an integer"),
    *(((klein2011,), {"seed": seed}, f"seed {seed!r} is not ") for seed in (-1, [], [3, -1], 1.5, "7", None)),
    ((tree_batch, elastic, lina), {"share": 1.5}, "share 1.5 is not in 0..1"),
    ((elastic,), {"share": math.nan}, "share nan is not in 0..1"),
    ((elastic, lina), {"share": "x"}, "share 'x' is not of the type Real"),
    ((tree_stream, made.downey1997, linnert2024, lublin), {"num_jobs": -1}, "num_jobs -1 is not in 0.."),
    ((made.amr, klein2011), {"num_apps": (20, 15)}, "num_apps 20-15 is empty"),
    ((made.amr,), {"num_apps": (-1, 3)}, f"num_apps -1-3 is not within 0..{2**53}"),
    ((made.amr, mesh_stream), {"peak": (1, 3)}, "peak 1-3 is not within 2..100"),
    ((made.amr,), {"peak": (50, 101)}, "peak 50-101 is not within 2..100"),
    ((made.amr, mesh_stream), {"change": 0}, "change 0 is not a finite number above 0"),
    ((made.amr,), {"change": math.nan}, "change nan is not a finite number above 0"),
    ((made.amr, made.evotree), {"expand_limit": 0.5}, "expand limit 0.5 is below 1"),
    ((made.evotree,), {"evolving": 101}, "evolving 101 is not in 0..100 per cent"),
    ((made.evotree,), {"evolving": -1}, "evolving -1 is not in 0..100 per cent"),
    ((tree_batch,), {"kind": "rigid"}, "unknown kind 'rigid'"),
    ((tree_batch,), {"release_delay": -1}, "release_delay -1 is not in"),
    ((tree_stream,), {"num_nodes": 9}, "num_nodes 9 is below 10"),
    ((tree_stream,), {"load": 0}, "load 0 is not a finite number above 0"),
    ((tree_stream,), {"load": math.inf}, "load inf is not a finite"),
    ((made.downey1997,), {"num_nodes": 4999}, "num_nodes 4999 is not in 5000.."),
    ((made.downey1997,), {"load": 0}, "load 0 is not above 0"),
    ((made.downey1997,), {"load": math.nan}, "load nan is not above 0"),
    ((made.downey1997,), {"nodes": (5, 4)}, "nodes (5, 4) is no range"),
    ((made.downey1997,), {"runtime": (0, 4)}, "runtime (0, 4) is no range"),
    ((made.downey1997,), {"runtime": (1, 2, 3)}, "runtime (1, 2, 3) is no range"),
    ((elastic,), {"tick": -1}, "tick -1 is not a number of seconds >= 0"),
    ((elastic,), {"tick": math.inf}, "tick inf is not a number of seconds >= 0"),
    ((elastic,), {"tick": 1e-20}, "tick 1e-20 parts a job of "),
    ((partial(made.elastic_workload, ELASTIC, share=1),), {}, "only rigid jobs can be made malleable"),
    ((partial(made.lina_workload, ELASTIC, share=1),), {}, "only rigid jobs can be made elastic"),
    ((lina,), {"flexibility": "free"}, "unknown flexibility 'free'"),
    ((lina,), {"moments": "now"}, "unknown moments of requests 'now'"),
    ((lina,), {"holds": "none"}, "unknown nodes held while a job stalls 'none'"),
    ((klein2011,), {"num_apps": (-1, 15)}, "num_apps -1-15 is not within 0..2^53"),
    ((klein2011,), {"num_steps": (0, 3)}, "num_steps 0-3 is not within 1..2^53"),
    ((klein2011,), {"duration": (0, 3)}, "duration 0-3 is not within 1..2^53"),
    ((klein2011,), {"duration": (1, BEYOND)}, f"duration 1-{BEYOND} is not within 1..2^53"),
    ((klein2011,), {"nodes": (-2, -1)}, "nodes -2--1 is not within 0..2^53"),
    ((klein2011,), {"nodes": (1, 101)}, "nodes 1-101 reach above num_nodes 100"),
    ((klein2011,), {"num_nodes": 74}, "nodes 1-75 reach above num_nodes 74"),
    ((linnert2024,), {"gap": 0}, "gap 0 is not a finite number above 0"),
    ((linnert2024,), {"gap": math.nan}, "gap nan is not a finite number above 0"),
    ((linnert2024,), {"stream": "lublin"}, "unknown stream 'lublin'"),
    ((linnert2024,), {"program": 4}, "program 4 is not a kind in 0..3, mixed or None"),
    ((linnert2024,), {"program": "0"}, "program '0' is not a kind"),
    ((linnert2024,), {"topology": (16, 8)}, "topology (16, 8) is not of the type Topology"),
    ((lublin,), {"num_nodes": 31}, "num_nodes 31 is not in 32.."),
    ((lublin,), {"model": "random"}, "unknown model 'random'"),
]


def test_what_cannot_be_drawn_is_refused() -> None:
    with all_offenders() as offender:
        for draws, options, said in REFUSED:
            for draw in draws:
                with offender(f"{draw}: {said}"), pytest.raises(AllocsolveError, match=re.escape(said)):
                    draw(**{"seed": 1, **options})
    for factor in (0, -1, math.nan, math.inf):
        with pytest.raises(AllocsolveError, match="is not above 0"):
            shrunk(factor)


DOWNEY: dict[str, Any] = {"num_jobs": 20, "num_nodes": 100, "nodes": (2, 50), "runtime": (60, 60)}
#: What is typed behind `generate` in a folder with `rigid.json`, a file that it writes, and what is in that.
DRAWN: dict[str, tuple[str, Problem]] = {
    "downey1997 --count 2 --seed 17 --jobs 20 --load .5 --nodes 2-50 --runtime 60 --num-nodes 100": (
        "downey1997-s17-0001",
        made.downey1997([17, 1], load=0.5, **DOWNEY),
    ),
    "lublin1999 --count 2 --seed 3 --jobs 5 --num-nodes 256": (
        "lublin1999-s3-0001",
        lublin1999([3, 1], num_jobs=5, num_nodes=256),
    ),
    "linnert2024 --count 2 --seed 5 --jobs 20": ("linnert2024-s5-0001", linnert2024(6, num_jobs=20)),
    "linnert2024 --count 2 --seed 5 --jobs 20 --gap 1.5 --stream feitelson96 --program 2": (
        "linnert2024-s5-0000",
        linnert2024(5, gap=1.5, num_jobs=20, stream="feitelson96", program=2),
    ),
    "evotree --count 2 --seed 42 --share .6 --release-delay 5": (
        "evotree-s42-0001",
        tree_batch(43, share=0.6, release_delay=5),
    ),
    "evotree --count 1 --seed 3 --jobs 4 --num-nodes 20 --load 1.2 --kind moldable": (
        "evotree-s3-0000",
        made.evotree_stream([3, 0], num_jobs=4, num_nodes=20, load=1.2, kind="moldable"),
    ),
    "amr --count 1 --seed 3 --jobs 4 --peak 20-30 --expand-limit 2": (
        "amr-s3-0000",
        made.amr_stream([3, 0], num_jobs=4, peak=(20, 30), expand_limit=2),
    ),
    "klein2011 --count 3 --seed 9 --apps 2-3 --steps 1 --duration 5-6 --nodes 1-9": (
        "klein2011-s9-0002",
        klein2011([9, 2], num_apps=(2, 3), num_steps=(1, 1), duration=(5, 6), nodes=(1, 9)),
    ),
    "klein2011 --count 1 --seed 3": ("klein2011-s3-0000", klein2011([3, 0])),
    "klein2011 --count 1 --seed 0 --nodes 2-8 --num-nodes 8 --expand-limit 1.5": (
        "klein2011-s0-0000",
        klein2011([0, 0], nodes=(2, 8), num_nodes=8, expand_limit=1.5),
    ),
    "elastic --from rigid.json --share .4 --seed 1": ("out", made.elastic_workload(RIGID, share=0.4, seed=1)),
    "elastic --from rigid.json --share .4 --seed 1 --tick 0": (
        "out",
        made.elastic_workload(RIGID, share=0.4, seed=1, tick=0),
    ),
    "lina --from rigid.json --share .4 --seed 1": ("out", made.lina_workload(RIGID, share=0.4, seed=1)),
    "lina --from rigid.json --share .4 --seed 1 --arrivals .65 --flexibility full --moments recursive "
    "--holds larger": (
        "out",
        made.lina_workload(
            shrunk(0.65), share=0.4, seed=1, flexibility="full", moments="recursive", holds="larger"
        ),
    ),
}


@pytest.mark.parametrize("command", DRAWN)
def test_a_command_draws_what_its_generator_does(
    command: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_problem(RIGID, "rigid.json")
    name, expected = DRAWN[command]
    words = ("generate", *command.split(), "--out", "out.json" if name == "out" else "new/folder")
    told = run(capsys, *words)
    problem = read_problem(f"{'' if name == 'out' else 'new/folder/'}{name}.json")
    assert (problem, problem.name, problem.meta) == (expected, expected.name, expected.meta)
    if name == "out":
        kinds = [job.kind for job in problem.jobs]  # type: ignore[attr-defined]  # a workload
        counts = {kind: kinds.count(kind) for kind in ("malleable", "evolving") if kind in kinds}
        shown = ", ".join(f"{kind}: {count}" for kind, count in counts.items())
        assert told.endswith(f"; {shown} of 50\n")
        assert run_json(capsys, *words, "--force").items() >= counts.items()
    else:
        files = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
        assert files == [f"{name[:-1]}{idx}.json" for idx in range(int(words[3]))]
        assert told.startswith(f"{len(files)} problem")
        assert files[0] in told
        assert files[-1] in told
    assert "exists; --force replaces" in refused(capsys, *words)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("lublin1999 --count 2 --seed 3 --jobs 5 --num-nodes 9", "argument --num-nodes: '9' is below 32"),
        ("linnert2024 --count 2 --seed 5 --gap 0", "--gap"),
        ("linnert2024 --count 2 --seed 5 --stream lublin", "--stream"),
        ("linnert2024 --count 2 --seed 5 --program 4", "--program"),
        ("evotree --count 2 --seed 42 --load .5", "--load is of a stream"),
        ("elastic --from rigid.json --share .4 --seed 1 --tick -1", "--tick: -1 is below 0"),
        ("elastic --from elastic.json --share .4 --seed 1", "only rigid jobs"),
        (
            "elastic --from other.json --share .4 --seed 1",
            "is a problem of the kind evolution, not a ",
        ),
        ("lina --from rigid.json --share .4 --seed 1 --arrivals 0", "factor 0 of the times"),
    ],
)
def test_a_command_refuses_what_cannot_be_drawn(
    command: str, said: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, problem in (("rigid", RIGID), ("elastic", ELASTIC), ("other", klein2011(1, num_apps=(2, 2)))):
        write_problem(problem, f"{name}.json")
    assert said in refused(capsys, "generate", *command.split(), "--out", "out")


def test_workloads_to_change_are_logs_or_come_by_stdin(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, out = tmp_path / "log.swf", tmp_path / "elastic.json"
    log.write_text("; MaxNodes: 64\n; MaxProcs: 64\n1 0 0 600 4 -1 -1 4 700 -1 1 1 1 1 1 1 -1 -1\n")
    options = ("--share", 1, "--seed", 1, "--out", out, "--force")
    run(capsys, "generate", "elastic", "--from", log, *options)
    found: Any = read_problem(out)
    assert [(job.nodes, job.max_nodes, job.limit) for job in found.jobs] == [(4, 20, 700)]
    write_problem(WorkloadProblem(8, [Job(0, 1, 60)]), tmp_path / "one.json")
    stdin = io.TextIOWrapper(io.BytesIO((tmp_path / "one.json").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    run(capsys, "generate", "elastic", "--from", "-", *options)
    found = read_problem(out)
    assert found.jobs[0].max_nodes == 8
