"""Solution files of evolution problems: matched by name, every fault with its place and value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from allocsolve.errors import FormatError, InvalidAnswer
from allocsolve.instances import digest, parse_solution, read_solution, write_solution
from allocsolve.judge import evolution_metrics, evolution_violations
from allocsolve.model import EvolutionProblem, EvolutionProfile, EvolutionSchedule

if TYPE_CHECKING:
    from pathlib import Path

from json_tools import PROBLEM, SOLUTION, changed, faults_of, saved, solution_faults, without


def test_a_solution_is_matched_by_name(tmp_path: Path) -> None:
    schedule = read_solution(saved(tmp_path, SOLUTION), PROBLEM)
    expected = EvolutionSchedule.of(
        [0, 5], [EvolutionProfile(((60, 2), (31, 8))), EvolutionProfile(((11, 0), (20, 3)))]
    )
    assert schedule == expected
    assert read_solution(saved(tmp_path, without(SOLUTION, "problem")), PROBLEM) == expected


@pytest.mark.parametrize("field", [("start",), ("durations", 0), ("durations", 1)])
@given(value=st.integers(-(2**53), 2**53))
def test_what_the_judge_says_of_any_times_is_no_fault_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, field: tuple[str | int, ...], value: int
) -> None:
    folder = tmp_path_factory.mktemp("times")
    problem = EvolutionProblem(8, PROBLEM.applications, expand_limit=1)
    document = changed(without(SOLUTION, "problem"), (*ANSWER, *field), value)
    answer = read_solution(saved(folder, document), problem)
    assert isinstance(answer, EvolutionSchedule)
    assert evolution_violations(problem, answer)  # a0 is expanded, whatever a1 is
    metrics = evolution_metrics(problem, answer)
    assert metrics.total_waste == metrics.allocated_area - metrics.useful_area


ANSWER = ("applications", 0)

FAULTY_SOLUTIONS = {
    "another problem": (
        {**SOLUTION, "problem": "f" * 64},
        f"problem: this solves another problem, 'ffffffffffff', not '{digest(PROBLEM)[:12]}'",
    ),
    "problem number": (
        {**SOLUTION, "problem": 5},
        f"problem: this solves another problem, 5, not '{digest(PROBLEM)[:12]}'",
    ),
    "kind": ({**SOLUTION, "kind": "evolution"}, "kind: 'evolution' is not 'evolution-schedule'"),
    "unknown field": ({**SOLUTION, "score": 1}, "unknown field 'score' (extra data belongs in meta)"),
    "missing application": (without(SOLUTION, *ANSWER), "applications: 'a1' is missing"),
    "too few durations": (
        changed(SOLUTION, (*ANSWER, "durations"), [31]),
        "applications[0].durations: 1 durations for the 2 steps of 'a1'",
    ),
}


@pytest.mark.parametrize(("document", "fault"), FAULTY_SOLUTIONS.values(), ids=FAULTY_SOLUTIONS.keys())
def test_a_faulty_solution_is_refused_with_place_and_value(
    tmp_path: Path, document: object, fault: str
) -> None:
    assert solution_faults(tmp_path, document) == (fault,)


def test_wrong_names_in_a_solution_are_told_at_once(tmp_path: Path) -> None:
    answers = [{"name": name, "start": 0, "durations": [60, 30]} for name in ("a1", "b", "a1")]
    assert solution_faults(tmp_path, {**SOLUTION, "applications": answers}) == (
        "applications[1].name: the problem has no application 'b'",
        "applications[2].name: 'a1' also names applications[0]",
        "applications: 'a0' is missing",
    )


def test_a_solution_that_ends_beyond_64_bits_is_refused(tmp_path: Path) -> None:
    problem = EvolutionProblem(1, (EvolutionProfile(((1, 1),) * 512),))
    answer = {"name": "a0", "start": 0, "durations": [2**53] * 512}
    document = {**SOLUTION, "problem": digest(problem), "applications": [answer]}
    last = read_solution(saved(tmp_path, document), problem).completions
    assert last.tolist() == [2**62]
    late = changed(document, ("applications", 0, "start"), 1)
    assert faults_of(lambda: read_solution(saved(tmp_path, late), problem)) == (
        "applications[0]: start plus durations is 4611686018427387905 s, beyond 2^62",
    )


def test_a_schedule_of_other_steps_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    shorter = EvolutionSchedule.of([0], PROBLEM.applications[:1])
    with pytest.raises(InvalidAnswer, match="does not belong to the problem: its steps have other offsets"):
        write_solution(path, PROBLEM, shorter, {})
    richer = EvolutionSchedule.of([0, 0], [EvolutionProfile(((60, 2), (30, 7))), PROBLEM.applications[1]])
    with pytest.raises(InvalidAnswer, match="does not belong to the problem: its steps have other nodes"):
        write_solution(path, PROBLEM, richer, {})
    assert not path.exists()


STRANGE: list[object] = [True, 1.0, None, "1", [], 2**53, 2**53 + 1, 2**63]
VALUES: st.SearchStrategy[object] = st.one_of(st.integers(-2, 3), st.sampled_from(STRANGE))


@given(edits=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["start", "0", "1"]), VALUES), max_size=2))
def test_answers_in_the_order_of_the_problem_are_read_as_those_in_any_other(
    edits: list[tuple[int, str, object]],
) -> None:
    """A faultless answer in the order of the problem is read at a glance."""
    problem = EvolutionProblem(8, (EvolutionProfile([(1, 2), (3, 8)]),) * 3)
    apps: list[dict[str, Any]] = [{"name": f"a{i}", "start": i, "durations": [2, 4]} for i in range(3)]
    for app, place, value in edits:
        if place == "start":
            apps[app]["start"] = value
        else:
            apps[app]["durations"][int(place)] = value
    assert _read(apps, problem) == _read(apps[::-1], problem)


def _read(apps: list[dict[str, Any]], problem: EvolutionProblem) -> EvolutionSchedule | int:
    """Return the schedule, or how many faults there are: their places depend on the order."""
    document = {
        "format": "allocsolve/1",
        "kind": "evolution-schedule",
        "problem": digest(problem),
        "applications": apps,
    }
    try:
        schedule: EvolutionSchedule = parse_solution(document, "answer", problem)
    except FormatError as error:
        return len(error.faults)
    return schedule
