"""The verified checker of prices of several resources: it proves what the judge certifies, if it is true."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run
from naive_workload_optimum import workload_optimum
from tiers import examples
from verified_tools import CHECKER, needs_checker, proven

from allocsolve.backends.verified_checker import agrees
from allocsolve.instances import write_certificate, write_problem
from allocsolve.judge import certify
from allocsolve.judge.workload.proof_text import workload_proof_text
from allocsolve.model import ClosedWindow, Job, Result, Status, WorkloadProblem, WorkloadSchedule, terms

if TYPE_CHECKING:
    from pathlib import Path

TERMS = ("turnaround", "wait", "slowdown")


def _problem(draw: random.Random, unit: int = 1) -> WorkloadProblem:
    """Return two or three jobs on nodes and licences, of which some are closed for a while."""
    num_nodes, licences = draw.randint(2, 4), draw.randint(1, 3)
    jobs = []
    for _ in range(draw.randint(2, 3)):
        submit, runtime = draw.randint(0, 4), draw.randint(1, 14)
        needs = {"licence": draw.randint(1, licences)} if draw.random() < 0.7 else {}
        late = (submit + draw.randint(0, 5)) / unit if draw.random() < 0.3 else None
        nodes, weight = draw.randint(1, num_nodes), draw.randint(1, 3)
        more: dict[str, Any] = {"weight": weight, "needs": needs, "eligible": late}
        jobs.append(Job(submit / unit, nodes, runtime / unit, runtime / unit, **more))
    closed = []
    for _ in range(draw.randint(0, 2)):
        begin = draw.randint(0, 12)
        amounts = draw.choice([{}, {"nodes": 1}, {"licence": 1}])
        closed.append(ClosedWindow(begin / unit, (begin + draw.randint(1, 6)) / unit, amounts))
    return WorkloadProblem(num_nodes, jobs, resources={"licence": licences}, closed=closed)


def _certificate(draw: random.Random, term: str) -> dict[str, object]:
    edges = sorted(draw.sample(range(40), draw.randint(2, 5)))
    names = draw.choice([["nodes"], ["licence"], ["nodes", "licence"]])
    prices = {name: [draw.randint(0, 3) for _ in edges[1:]] for name in names}
    unit = draw.randint(20, 60) if term == "slowdown" else draw.randint(1, 9)
    return {"kind": "machine-prices", "term": term, "edges": edges, "prices": prices, "unit": unit}


@needs_checker
@pytest.mark.parametrize("term", TERMS)
def test_no_bound_is_above_the_optimum(term: str, tmp_path: Path) -> None:
    draw = random.Random(f"machine {term}")
    above, positive = [], 0
    for _ in range(examples(400)):
        problem = _problem(draw)
        text = workload_proof_text(problem, _certificate(draw, term), term)
        bound = proven(text.problem + text.proof, tmp_path)
        assert bound is not None, text
        positive += bound > 0
        if bound > workload_optimum(problem, term) * (1 + Fraction(1, 2**40)):
            above.append(text)
    assert not above
    assert positive or term == "wait"


@needs_checker
def test_judge_and_checker_agree(tmp_path: Path) -> None:
    draw = random.Random(37)
    positive = 0
    for idx in range(examples(400)):
        problem, term = _problem(draw, draw.choice([1, 4])), TERMS[idx % 3]
        certificate = _certificate(draw, term)
        text = workload_proof_text(problem, certificate, term)
        bound = proven(text.problem + text.proof, tmp_path)
        result: Result[WorkloadSchedule] = Result(Status.UNKNOWN, certificate=certificate)
        certified = terms(certify(problem, result, (term,)))[0]
        assert bound is not None, text
        assert agrees(bound, certified), (text, bound, certified)
        positive += bound > 0
    assert positive


@needs_checker
def test_certificates_that_were_changed_prove_nothing_that_is_not_true(tmp_path: Path) -> None:
    draw = random.Random(38)
    refusals, above = 0, []
    for idx in range(examples(1000)):
        problem, term = _problem(draw), TERMS[idx % 3]
        text = workload_proof_text(problem, _certificate(draw, term), term)
        lines = [line.split(" ") for line in text.proof.splitlines()]
        line = draw.choice(lines)
        at, change = draw.randrange(len(line)), draw.randrange(4)
        if change == 0:
            lines.remove(line)
        elif change == 1:
            line[at] = draw.choice(["x", "1.5", "1" * 19, "", "-1", "wait"])
        elif line[at].isdigit():
            line[at] = str(int(line[at]) + draw.choice([-1, 1, 7, 100]))
        bound = proven(text.problem + "".join(" ".join(each) + "\n" for each in lines), tmp_path)
        refusals += bound is None
        named = next((term for term in TERMS if term in lines[0]), term) if lines else term
        if bound is not None and bound > workload_optimum(problem, named) * (1 + Fraction(1, 2**40)):
            above.append(text)
    assert not above
    assert refusals


def test_the_machine_is_exported() -> None:
    jobs = [Job(0, 3, 4, needs={"licence": 2}), Job(1, 1, 5.5, eligible=2, weight=2)]
    problem = WorkloadProblem(
        4, jobs, resources={"licence": 3}, closed=[ClosedWindow(2, 6, {"nodes": 1}), ClosedWindow(9, 10)]
    )
    certificate = {"term": "wait", "edges": [0, 4, 8], "prices": {"licence": [0, 5]}, "unit": 3}
    text = workload_proof_text(problem, {"kind": "machine-prices", **certificate}, "wait")
    assert text.problem.splitlines() == [
        "machine-workload 2 2 4",
        "4 2 8 24 1 36 40 4",
        "3 1 36 40 3",
        "0 0 16 1 3 2",
        "4 8 22 2 1 0",
    ]
    assert text.proof.splitlines() == ["machine-prices wait 3 0 4", "8 0 0", "8 0 0", "8 0 5", "8 0 5"]


@needs_checker
def test_check_confirms_and_refuses(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOCSOLVE_VERIFIED", str(CHECKER))
    for closed, says in (
        (ClosedWindow(0, 5), "verified: turnaround is at least 4 s"),
        (ClosedWindow(0, 0.1), ""),
    ):
        problem = WorkloadProblem(4, [Job(0, 3, 4), Job(1, 1, 4)], closed=[closed])
        prices = {"edges": [0, 4], "prices": {"nodes": [0]}, "unit": 1, "term": "turnaround"}
        files = tmp_path / "machine.json", tmp_path / "bound.json"
        for file in files:
            file.unlink(missing_ok=True)
        write_problem(problem, files[0])
        write_certificate(files[1], problem, ("turnaround",), {"kind": "machine-prices", **prices})
        if says:
            assert says in run(capsys, "check", *files, "--verified")
        else:
            said = refused(capsys, "check", *files, "--verified")
            assert "closed windows begin and end at no quarters of a second" in said
