"""Views of the jobs that wait or run alone: they say of these jobs what the whole view says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, strategies as st
from naive_malleable import draw_malleable
from numpy.testing import assert_array_equal

from allocsolve.heuristics import MalleableMin
from allocsolve.simulation import run_policy
from allocsolve.simulation.kernels import renumbered

if TYPE_CHECKING:
    import random

    from allocsolve.simulation import QueueView
    from allocsolve.simulation.decisions import Decision


@given(rng=st.randoms(use_true_random=False))
def test_a_view_of_its_jobs_alone(rng: random.Random) -> None:
    problem, policy = draw_malleable(rng), MalleableMin()

    def compared(view: QueueView) -> tuple[Decision, ...]:
        small, listed = renumbered(view)
        assert set(listed.tolist()) == {*view.queue.tolist(), *view.running.tolist(), *view.promises.tolist()}
        assert (np.diff(listed) > 0).all()
        for name in ("queue", "running", "promises", "requests"):
            assert_array_equal(listed[getattr(small, name)], getattr(view, name))
        for name in ("now", "free", "pool", "held", "targets", "expected_ends", "promised_nodes"):
            assert_array_equal(getattr(small, name), getattr(view, name))
        for place, job in enumerate(listed.tolist()):
            assert small.sizes(place) == view.sizes(job)
            assert small.jobs.start[place] == view.jobs.start[job] or np.isnan(view.jobs.start[job])
            for nodes in view.sizes(job):
                assert small.estimate(place, nodes) == view.estimate(job, nodes)
        return policy.decide(view)

    run_policy(problem, compared)
