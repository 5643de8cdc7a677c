"""The verified checker of price lists: it proves what the judge certifies, and nothing that is not true."""

from __future__ import annotations

import hashlib
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from naive_workload_optimum import workload_optimum
from tiers import before_a_release, examples
from verified_tools import (
    CHECKER,
    KINDS,
    fake_checker,
    joined,
    needs_checker,
    proven,
    random_case,
)
from workload_traces import atlas_problem, kit_problem, knl_problem, kth_problem

from allocsolve.backends.checkers import agrees
from allocsolve.cli import main
from allocsolve.exact.workload import Prices
from allocsolve.instances import write_certificate, write_problem
from allocsolve.judge import certified_bound, certify
from allocsolve.judge.certificates import lower_float
from allocsolve.judge.workload.proof_text import workload_proof_text
from allocsolve.model import (
    Amdahl,
    Budget,
    ClosedWindow,
    Job,
    Result,
    SpeedupTable,
    Status,
    WorkloadProblem,
    WorkloadSchedule,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


#: Four nodes; jobs in whole seconds and in quarters of a second.
WHOLE = WorkloadProblem(4, [Job(0, 3, 4), Job(1, 4, 1), Job(2, 2, 3, weight=2)], name="whole")
QUARTERS = WorkloadProblem(4, [Job(0, 3, 4.25), Job(1.5, 4, 1), Job(2, 2, 3)], name="quarters")
EXACT = WorkloadProblem(4, [Job(0, 3, 4.25, 5), Job(1.5, 4, 1, 1), Job(2, 2, 3, 4)], name="exact")
TIME_PRICES = {"kind": "time-prices", "unit": 4, "edges": [0, 4, 6, 9], "prices": [0, 2, 1]}
JOB_PRICES = {"kind": "job-prices", "unit": 4, "nodes": 1, "edges": [0, 4, 8], "first_slots": [0, 0, 0]}
JOB_PRICES |= {"offsets": [0, 1, 3, 5], "prices": [6, 8, 3, 4, 1]}


MAKESPAN = {"kind": "makespan", "term": "makespan", "rule": "longest"}


@needs_checker
@pytest.mark.parametrize(("kind", "term"), KINDS)
def test_no_bound_is_above_the_optimum(kind: str, term: str, tmp_path: Path) -> None:
    draw = random.Random(f"{kind} {term}")
    above, positive = [], 0
    for _ in range(examples(400)):
        case = random_case(draw, kind, term)
        bound = proven(case.text, tmp_path)
        assert bound is not None, case.text
        positive += bound > 0
        if bound > case.optimum:
            above.append(case.text)
    assert not above
    assert positive or term == "wait"  # the law says something


@needs_checker
def test_certificates_that_were_changed_prove_nothing_that_is_not_true(tmp_path: Path) -> None:
    draw = random.Random(35)
    refusals, above = 0, []
    for idx in range(examples(1000)):
        case = random_case(draw, *KINDS[idx % len(KINDS)])
        lines = [[*line] for line in case.certificate]
        line = draw.choice(lines)
        at = draw.randrange(len(line))
        change = draw.randrange(5)
        if change == 0:
            lines.remove(line)
        elif change == 1:
            lines.insert(lines.index(line), [*line])
        elif change == 2:
            line[at] = draw.choice(["x", "1.5", "1" * 19, "", "wide", "turnaround"])
        elif isinstance(line[at], int):
            line[at] = draw.choice([-int(str(line[at])), int(str(line[at])) + draw.choice([-1, 1, 7, 100])])
        bound = proven(joined([*case.problem, *lines]), tmp_path)
        refusals += bound is None
        if bound is not None and bound > case.optimum:
            above.append(case.text)
    assert not above
    assert refusals


@needs_checker
@pytest.mark.parametrize("problem", [WHOLE, QUARTERS, EXACT], ids=lambda problem: problem.name)
@pytest.mark.parametrize("term", ["turnaround", "wait", "slowdown"])
@pytest.mark.parametrize("prices", [TIME_PRICES, JOB_PRICES], ids=lambda prices: prices["kind"])
def test_the_checker_proves_what_the_judge_certifies(
    problem: WorkloadProblem, term: str, prices: dict[str, object], tmp_path: Path
) -> None:
    certificate = {**prices, "term": term}
    text = workload_proof_text(problem, certificate, term)
    bound = proven(text.problem + text.proof, tmp_path)
    assert bound is not None
    certified = certified_bound(problem, certificate, (term,))
    if prices is TIME_PRICES and bound <= 0:
        assert certified == 0
    elif prices is TIME_PRICES and text.is_rounded_by_judge:
        assert bound - 1 / 1000 < certified <= bound
    else:
        assert certified == lower_float(bound)


def _random_problem(draw: random.Random, *, is_moldable: bool) -> WorkloadProblem:
    """Return jobs whose times are whole seconds or quarters of one."""
    unit, num_nodes = draw.choice([1, 4]), draw.randint(2, 6)
    jobs = []
    for _ in range(draw.randint(1, 5)):
        sizes = sorted(draw.sample(range(1, num_nodes + 1), draw.randint(1, 2)))
        rows = [(size, draw.randint(1, 120) / unit) for size in sizes]
        table = SpeedupTable(rows) if is_moldable and len(rows) > 1 else None
        jobs.append(
            Job(draw.randint(0, 40) / unit, *rows[0], rows[0][1], weight=draw.randint(0, 3), speedup=table)
        )
    return WorkloadProblem(num_nodes, jobs)


@needs_checker
@pytest.mark.parametrize("is_moldable", [False, True], ids=["rigid", "moldable"])
def test_judge_and_checker_agree_on_random_prices(is_moldable: bool, tmp_path: Path) -> None:
    draw = random.Random(f"agree {is_moldable}")
    positive = 0
    for _ in range(examples(400)):
        problem = _random_problem(draw, is_moldable=is_moldable)
        term = draw.choice(["turnaround", "makespan", *(["wait", "slowdown"] if problem.is_rigid else [])])
        edges = sorted(draw.sample(range(100), draw.randint(2, 6)))
        prices = [draw.randint(0, 4) for _ in edges[1:]]
        certificate = {"kind": "time-prices", "term": term, "edges": edges, "prices": prices, "unit": 7}
        if term == "makespan":
            after = draw.choice(problem.packed.submit.tolist())
            rule = draw.choice(["longest", "area", "wide"])
            certificate = {"kind": "makespan", "rule": rule, "after": after}
        text = workload_proof_text(problem, certificate, term)
        bound = proven(text.problem + text.proof, tmp_path)
        certified = certified_bound(problem, certificate, (term,))
        weights = sum(problem.packed.weight.tolist())
        if weights or term == "makespan":
            assert bound is not None, text
            assert agrees(bound, certified), (text, bound, certified)
            positive += bound > 0
        else:
            assert bound is None
    assert positive


@needs_checker
@pytest.mark.parametrize("load", [kth_problem, atlas_problem, kit_problem, knl_problem])
def test_bounds_of_real_logs_are_verified(
    load: Callable[[Path], WorkloadProblem], traces: Path, tmp_path: Path, capsys: Capture, monkeypatch: Any
) -> None:
    problem = load(traces)
    result = Prices()(problem, Budget(seconds=10 if before_a_release() else 1, workers=1))
    write_problem(problem, tmp_path / "log.json.gz")
    assert result.certificate is not None
    write_certificate(tmp_path / "bound.json.gz", problem, ("turnaround",), result.certificate)
    monkeypatch.setenv("ALLOCSOLVE_VERIFIED", str(CHECKER))
    printed = run_json(capsys, "check", tmp_path / "log.json.gz", tmp_path / "bound.json.gz", "--verified")
    numerator, denominator = map(int, printed["verified_bound"].split("/"))
    assert numerator / denominator == pytest.approx(printed["certified_bound"], rel=1e-15)


def _files(folder: Path, problem: WorkloadProblem, certificate: dict[str, object]) -> tuple[Path, Path]:
    write_problem(problem, folder / "problem.json")
    write_certificate(folder / "bound.json", problem, (str(certificate["term"]),), certificate)
    return folder / "problem.json", folder / "bound.json"


def test_a_certificate_is_exported_without_the_checker(tmp_path: Path, capsys: Capture) -> None:
    files = _files(tmp_path, WHOLE, {**TIME_PRICES, "term": "turnaround"})
    out = tmp_path / "proof.txt"
    assert f"proof written to {out}" in run(capsys, "check", *files, "--out", out)
    lines = out.read_text(encoding="ascii").splitlines(keepends=True)
    assert lines[:5] == ["rigid-workload 4 3 1\n", "0 4 3 1\n", "1 1 4 1\n", "2 3 2 2\n", lines[4]]
    assert lines[4:] == ["time-prices turnaround 4 0 3\n", "4 0\n", "2 2\n", "3 1\n"]
    digest = hashlib.sha256("".join(lines[:4]).encode()).hexdigest()
    assert workload_proof_text(WHOLE, TIME_PRICES, "turnaround").digest == digest
    assert "exists; --force replaces it" in refused(capsys, "check", *files, "--out", out)


@needs_checker
def test_a_slowdown_has_no_unit(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOCSOLVE_VERIFIED", str(CHECKER))
    problem = WorkloadProblem(4, [Job(0, 3, 40), Job(1, 4, 20)])
    prices = {"kind": "time-prices", "unit": 99, "edges": [0, 40], "prices": [0], "term": "slowdown"}
    lines = run(capsys, "check", *_files(tmp_path, problem, prices), "--verified").splitlines()
    assert lines[0] == "certified: slowdown is at least 1 (2 jobs, 4 nodes, submitted over 1 s)"
    assert lines[1].startswith("verified: slowdown is at least 1 (problem ")


def test_prices_per_job_are_exported_by_slot() -> None:
    text = workload_proof_text(QUARTERS, JOB_PRICES, "wait")
    assert text.problem == "rigid-workload 4 3 4\n0 17 3 1\n6 4 4 1\n8 12 2 1\n"
    assert text.proof == "job-prices wait 4 1 2\n0 16 3 1 3 6 2 4 8 3 2 4\n16 16 2 2 4 3 3 2 1\n"


def test_a_log_that_was_read_otherwise_has_another_digest() -> None:
    other = WorkloadProblem(4, [Job(0, 3, 4), Job(1, 4, 2), Job(2, 2, 3, weight=2)])
    digests = {workload_proof_text(each, TIME_PRICES, "turnaround").digest for each in (WHOLE, other)}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("jobs", "changed", "says"),
    [
        ([Job(0, 2, 4, speedup=Amdahl(0.5))], {}, "jobs[0] has run times that follow a law"),
        (
            [Job(0, 2, 4, speedup=SpeedupTable([(1, 6), (2, 4)]))],
            {"term": "slowdown"},
            "bounds on the slowdown of jobs that are not rigid are not verified",
        ),
        ([Job(0, 3, 4)], {**MAKESPAN, "after": 0.5}, "after 0.5 of the certificate is no tick of 1/1 s"),
        ([Job(0, 3, 4)], {**MAKESPAN, "after": 9}, "no job is submitted at 9 s or later"),
        ([Job(0, 3, 4), Job(0.1, 4, 1)], {}, "jobs[1]: submit 0.1 is no quarter of a second"),
        ([Job(0, 3, 4, weight=0.5)], {}, "jobs[0]: weight 0.5 is no whole number"),
    ],
)
def test_what_has_no_theorem_is_refused_in_one_line(
    jobs: list[Job], changed: dict[str, object], says: str, tmp_path: Path, capsys: Capture
) -> None:
    certificate = changed if "kind" in changed else {**TIME_PRICES, "term": "turnaround", **changed}
    files = _files(tmp_path, WorkloadProblem(4, jobs), certificate)
    assert says in refused(capsys, "check", *files, "--out", tmp_path / "proof.txt")


def test_a_missing_checker_is_named_before_anything_is_read(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOCSOLVE_VERIFIED", str(tmp_path / "none"))
    assert main(["check", "no.json", "no.json", "--verified"]) != 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"ALLOCSOLVE_VERIFIED={tmp_path / 'none'} is no program" in said
    assert "make verify" in said


def test_a_checker_that_proves_something_else_is_told(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = _files(tmp_path, WHOLE, {**TIME_PRICES, "term": "turnaround"})
    digest = workload_proof_text(WHOLE, TIME_PRICES, "turnaround").digest
    fake = tmp_path / "fake"
    monkeypatch.setenv("ALLOCSOLVE_VERIFIED", str(fake))
    for said, expected in (
        (f"problem {digest}\nverified turnaround >= 99 / 4", "proves that turnaround"),
        (f"problem {digest}\nverified wait >= 99 / 4", "proves that wait"),
        (f"problem {digest[::-1]}\nverified turnaround >= 7 / 2", "of problem"),
        ("refused", "the verified checker does not: refused"),
    ):
        fake_checker(fake, said.replace("\n", "\\n") + "\\n")
        assert expected in refused(capsys, "check", *files, "--verified")


def test_a_solution_alone_is_no_certificate(tmp_path: Path, capsys: Capture) -> None:
    problem, _ = _files(tmp_path, WHOLE, {**TIME_PRICES, "term": "turnaround"})
    answer = tmp_path / "answer.json"
    run(capsys, "solve", problem, "--solver", "fcfs", "--out", answer)
    said = refused(capsys, "check", problem, answer, "--out", tmp_path / "proof.txt")
    assert "is not a certificate; --certificate names one" in said


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
def test_no_bound_is_above_the_optimum_on_machines(term: str, tmp_path: Path) -> None:
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
def test_certificates_that_were_changed_prove_nothing_that_is_not_true_on_machines(tmp_path: Path) -> None:
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
