"""What a sealed policy is told is what the engine shows, and what it decides is what the engine gets."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal
from strategies import workload_problems

from allocsolve.bench.evaluation.messages import (
    LENGTH,
    ViewReceiver,
    ViewSender,
    decisions_of,
    packed_decisions,
)
from allocsolve.bench.evaluation.windows import draw_windows
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.model import Job, WorkloadProblem
from allocsolve.simulation import Engine, IllegalDecision, QueueView, Start, Wake

if TYPE_CHECKING:
    import random


def _decided(view: QueueView, rng: random.Random) -> list[Start | Wake]:
    free, made = view.free, list[Start | Wake]()
    for job in rng.sample(view.queue.tolist(), len(view.queue)):
        nodes = int(view.jobs.nodes[job])
        if nodes <= free and rng.random() < 0.8:
            free -= nodes
            made.append(Start(job, nodes))
    if rng.random() < 0.2 or (view.queue.size and not view.running.size and not made):
        made.append(Wake(view.now + rng.randint(1, 9)))
    return made


@given(problem=workload_problems(moldable=False), rng=st.randoms(use_true_random=False))
def test_views_arrive_as_they_were_sent(problem: WorkloadProblem, rng: random.Random) -> None:
    engine, sender, receiver = Engine(problem), ViewSender(), ViewReceiver()
    for _ in range(200):
        if (view := engine.advance()) is None:
            break
        message = sender.message(view)
        assert LENGTH.unpack_from(message)[0] == len(message) - LENGTH.size
        seen = receiver.view(message[LENGTH.size :])
        for field in dataclasses.fields(QueueView):
            if field.name not in ("jobs", "profiles"):
                assert_array_equal(getattr(seen, field.name), getattr(view, field.name), field.name)
        for name, column in view.jobs._asdict().items():
            assert_array_equal(getattr(seen.jobs, name), column, name)
            assert not getattr(seen.jobs, name).flags.writeable
        assert np.isnan(seen.jobs.runtime).all()
        made = _decided(view, rng)
        told = list(decisions_of(packed_decisions(made)))
        assert told == made
        engine.apply(told)


@given(data=st.binary(max_size=200))
def test_any_bytes_are_decisions_or_refused(data: bytes) -> None:
    """Whatever a process sends: decisions that the rules allow, or an error that costs a window."""
    engine = Engine(WorkloadProblem(4, [Job(0, 3, 100), Job(0, 1, 10)]))
    view = engine.advance()
    assert view is not None
    try:
        engine.apply(decisions_of(data))
    except (InvalidAnswer, IllegalDecision):
        assert engine.result() == Engine(engine.problem).result()


#: Each job has a size of its own, which tells its place.
LOG = WorkloadProblem(
    500, [Job(60 * idx, idx + 1, 10 + 7919 * idx % 5000, 20 + 7919 * idx % 5000) for idx in range(200)]
)


@given(seed=st.integers(0, 2**31), windows=st.integers(1, 4), jobs=st.integers(1, 30), testing=st.booleans())
def test_windows_are_parts_of_the_log_at_other_times(
    seed: int, windows: int, jobs: int, testing: bool
) -> None:
    logs, split = [(Path("log.swf"), LOG)], "test" if testing else "train"
    allowed = range(150, 200) if testing else range(150)
    if windows * jobs > len(allowed):
        with pytest.raises(InvalidOption, match=f"log.swf: {len(allowed)} jobs to {split} are less than"):
            draw_windows(logs, windows=windows, jobs=jobs, split=split, seed=seed)
        return
    drawn = draw_windows(logs, windows=windows, jobs=jobs, split=split, seed=seed)
    assert drawn == draw_windows(logs, windows=windows, jobs=jobs, split=split, seed=seed)
    taken: list[int] = []
    for window in drawn:
        places = (window.packed.nodes - 1).tolist()
        assert places == [*range(places[0], places[0] + jobs)]
        taken += places
        before, now = LOG.packed, window.packed
        # One factor explains all run times, which are rounded up.
        low, high = (
            ((now.runtime - 1) / before.runtime[places]).max(),
            (now.runtime / before.runtime[places]).min(),
        )
        assert high >= 0.9
        assert low <= min(high, 1.1)
        assert (now.estimate >= now.runtime).all()
        assert (np.diff(now.submit) >= 0).all()
    assert len(set(taken)) == len(taken) == windows * jobs
    assert {*taken} <= {*allowed}
