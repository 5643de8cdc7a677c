"""Proofs of makespans: the replay keeps the reasons, and the verified checker confirms optima."""

from __future__ import annotations

import base64
import functools
import itertools
import random
import subprocess
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from cli_tools import Capture, refused, run, run_json
from evolution_proofs import refutation
from naive_refutation import refuted_makespan
from tiers import examples
from verified_tools import (
    CHECKER,
    least_makespan,
    makespan_proof_files,
    needs_checker,
    proven,
    random_profiles,
    solved_makespan,
)

from allocsolve import EvolutionProblem, EvolutionProfile
from allocsolve.errors import InvalidAnswer, UnsupportedProblem
from allocsolve.instances import klein2011
from allocsolve.judge import certified_bound
from allocsolve.judge.evolution.proof_text import evolution_proof_text

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.families import ProofText


def _text(problem: EvolutionProblem, *, with_schedule: bool = True) -> ProofText | None:
    """Return the proof of the optimum, None if areas prove it."""
    result = solved_makespan(problem)
    if result.certificate is None or result.certificate["kind"] != "learned-clauses":
        return None
    bound = int(certified_bound(problem, result.certificate, ("makespan",)))
    assert bound == result.objective
    return evolution_proof_text(problem, result.certificate, bound, result.answer if with_schedule else None)


class SmallProof(NamedTuple):
    """A random problem, the proof of its optimum, and the optimum, by enumeration."""

    problem: EvolutionProblem
    text: ProofText
    optimum: int


@functools.cache
def _small_proofs(count: int) -> list[SmallProof]:
    """Return proofs of small random problems, those only that areas do not prove."""
    draw = random.Random(34)
    found: list[SmallProof] = []
    while len(found) < count:
        problem = random_profiles(draw)
        text = _text(problem)
        if text is not None:
            found.append(SmallProof(problem, text, least_makespan(problem)))
    return found


def test_the_replay_refutes_what_the_judge_refutes() -> None:
    wrong = []
    for problem, text, optimum in _small_proofs(20):
        value = refuted_makespan(text.problem + text.proof)
        if value is None or value != optimum:
            wrong.append((problem, value))
    assert not wrong


def test_the_replay_of_a_long_log_is_a_refutation() -> None:
    problem = replace(klein2011([12, 0], num_apps=(12, 12)), expand_limit=1)
    text = _text(problem)
    assert text is not None
    assert refuted_makespan(text.problem + text.proof) == solved_makespan(problem).objective


def _lines(text: ProofText) -> list[list[str]]:
    """Return the words of the lines of a proof."""
    return [line.split(" ") for line in text.proof.splitlines()]


def _joined(text: ProofText, lines: list[list[str]]) -> str:
    return text.problem + "".join(" ".join(words) + "\n" for words in lines)


def _claim(lines: list[list[str]], by: int) -> int:
    """Claim a makespan that is so much longer; return the line."""
    head = next(at for at, words in enumerate(lines) if words[0] == "refutation")
    lines[head][1] = str(int(lines[head][1]) + by)
    return head


def _claim_all(lines: list[list[str]], by: int) -> None:
    """Claim a longer makespan, and move the deadlines with it."""
    head = _claim(lines, by)
    for number in {abs(int(words[2])) for words in lines if words[0] == "deadline"}:
        lines[head + number][2] = str(int(lines[head + number][2]) - by)


def _tamper(draw: random.Random, lines: list[list[str]]) -> bool:
    """Change a proof; return whether what is left can be a proof at all."""
    head = _claim(lines, 0)
    words = lines[draw.randrange(head + 1, len(lines))]
    place = draw.choice([at for at, word in enumerate(words) if word.lstrip("-").isdigit()])
    number = int(words[place])
    fault = draw.randrange(8)
    if fault == 0:
        _claim(lines, draw.randint(1, 3))
    elif fault == 1:
        _claim_all(lines, draw.randint(1, 3))
    elif fault == 2:  # a shorter schedule
        lines[0][1] = str(int(lines[0][1]) - 1)
    elif fault == 3:
        lines.remove(words)
    elif fault == 4:
        words[place] = draw.choice(["x", "1.5", "1" * 19, ""])
    elif fault == 5:
        words[place] = str(number + draw.choice([-1, 1]))
    elif fault == 6:
        words[place] = str(-number if number else 1)
    else:
        del words[place]
    return fault in (5, 6)


@needs_checker
def test_the_optimum_is_accepted_and_nothing_above_it(tmp_path: Path) -> None:
    wrong = []
    for problem, text, optimum in _small_proofs(examples(400)):
        bounds = [proven(text.problem + text.proof, tmp_path)]
        for by, claim in itertools.product((1, 2), (_claim, _claim_all)):
            lines = _lines(text)
            claim(lines, by)
            bounds.append(proven(_joined(text, lines), tmp_path))
        if bounds != [optimum, None, None, None, None]:
            wrong.append((problem, bounds))
    assert not wrong


@needs_checker
def test_no_tampered_proof_is_accepted_above_the_optimum(tmp_path: Path) -> None:
    draw = random.Random(1)
    small = _small_proofs(examples(400))
    accepted: list[str] = []
    above: list[str] = []
    for idx in range(examples(1000)):
        _, text, optimum = small[idx % len(small)]
        lines = _lines(text)
        may_prove = _tamper(draw, lines)
        changed = _joined(text, lines)
        bound = proven(changed, tmp_path)
        if bound is not None:
            (accepted if may_prove else above).append(changed)
            if bound > optimum:
                above.append(changed)
    assert not above
    # A clause with one more literal or a lower fact may hold as well: then the proof is another one.
    assert len(accepted) < examples(1000) / 10


@needs_checker
def test_a_tampered_log_proves_no_more_than_is_true(tmp_path: Path) -> None:
    draw = random.Random(2)
    small = [
        (problem, solved_makespan(problem).certificate, optimum) for problem, _, optimum in _small_proofs(20)
    ]
    refused_ones, wrong = 0, []
    for idx in range(examples(1000)):
        problem, certificate, optimum = small[idx % len(small)]
        assert certificate is not None
        log = bytearray(zlib.decompress(base64.b64decode(str(certificate["log"]))))
        log[draw.randrange(len(log))] ^= draw.randint(1, 255)
        packed = base64.b64encode(zlib.compress(bytes(log))).decode("ascii")
        changed = {**certificate, "log": packed}
        try:
            bound = int(certified_bound(problem, changed, ("makespan",)))
        except InvalidAnswer:
            refused_ones += 1
            continue
        text = evolution_proof_text(problem, changed, bound)
        if bound > optimum or proven(text.problem + text.proof, tmp_path) != bound:
            wrong.append((problem, changed))
    assert not wrong
    assert refused_ones > 0


@needs_checker
def test_optima_are_verified(tmp_path: Path) -> None:
    wrong = []
    for seed in range(4):
        problem = replace(klein2011([8, seed], num_apps=(8, 8)), expand_limit=1)
        text = _text(problem)
        assert text is not None
        if proven(text.problem + text.proof, tmp_path) != solved_makespan(problem).objective:
            wrong.append(seed)
    assert not wrong


@needs_checker
def test_checked_clauses_are_written_for_other_checkers(tmp_path: Path) -> None:
    _, text, _ = _small_proofs(20)[0]
    file = tmp_path / "proof"
    file.write_text(text.problem + text.proof, encoding="ascii")
    subprocess.run([str(CHECKER), str(file), str(tmp_path / "out")], check=True, capture_output=True)
    clauses = (tmp_path / "out.cnf").read_text(encoding="ascii").splitlines()
    lines = (tmp_path / "out.lrat").read_text(encoding="ascii").splitlines()
    _, variables, count, derived = next(
        line.split()[1:] for line in text.proof.splitlines() if line.startswith("refutation")
    )
    assert clauses[0] == f"p cnf {variables} {count}"
    assert [len(clauses) - 1, len(lines)] == [int(count), int(derived)]
    assert lines == text.proof.splitlines()[-len(lines) :]


@needs_checker
def test_a_schedule_and_a_refutation_are_an_optimum(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOCSOLVE_VERIFIED", str(CHECKER))
    problem, answer, bound = makespan_proof_files(
        tmp_path, replace(klein2011([8, 0], num_apps=(8, 8)), expand_limit=1)
    )
    assert "verified: makespan is at least 51642 s" in run(capsys, "check", problem, bound, "--verified")
    both = ("check", problem, answer, "--certificate", bound, "--verified")
    assert "verified: makespan is 51642 s" in run(capsys, *both)
    printed = run_json(capsys, *both)
    assert printed["verified_bound"] == "51642"
    assert printed["verified_optimal"] is True


def test_what_has_no_theorem_is_refused_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    problem, _, bound = makespan_proof_files(tmp_path, klein2011([5, 0], num_apps=(5, 5)))
    said = refused(capsys, "check", problem, bound, "--out", tmp_path / "proof.txt")
    assert "not verified" in said


def test_a_refutation_with_prices_is_refused() -> None:
    problem = EvolutionProblem(1, (EvolutionProfile([(2, 1)]),) * 2, expand_limit=1)
    certificate = refutation(problem, 3, 10, [[1], [1]])
    assert certified_bound(problem, certificate, ("makespan",)) == 4
    with pytest.raises(UnsupportedProblem, match="need prices of steps are not verified"):
        evolution_proof_text(problem, certificate, 4)


@needs_checker
def test_areas_prove_what_the_judge_certifies_and_nothing_above_the_optimum(tmp_path: Path) -> None:
    draw = random.Random(36)
    wrong, met = [], 0
    for _ in range(examples(400)):
        problem = random_profiles(draw)
        bound = int(certified_bound(problem, {"kind": "area"}, ("makespan",)))
        result = solved_makespan(problem)
        text = evolution_proof_text(problem, {"kind": "area"}, bound, result.answer)
        optimum = least_makespan(problem)
        file = tmp_path / "proof"
        file.write_text(text.problem + text.proof, encoding="ascii")
        done = subprocess.run([str(CHECKER), str(file)], capture_output=True, text=True, check=False)
        relation = "=" if bound == optimum else ">="
        met += bound == optimum
        if bound > optimum or done.stdout.splitlines()[1:] != [f"verified makespan {relation} {bound}"]:
            wrong.append((problem, bound, optimum, done.stdout))
        changed = text.proof.replace(f"schedule {optimum}\n", f"schedule {optimum - 1}\n")
        if proven(text.problem + changed, tmp_path) is not None:
            wrong.append((problem, bound, optimum - 1, "a schedule that ends later than it says"))
    assert not wrong
    assert met
