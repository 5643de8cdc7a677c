r"""The file format ``allocsolve/1``: problems and solutions as JSON, and the digest that ties them together.

::

    {"format": "allocsolve/1", "kind": "<family>", ...fields of the problem, "meta": {...}}
    {"format": "allocsolve/1", "kind": "<answer>", "problem": "<digest>", ...its fields, "meta": {...}}

The fields are those of the family's codec, such as `allocsolve.instances.formats.evolution`. All integers are
at most 2^53; the ``meta`` of a solution may be absent. Unknown fields are refused (extra data belongs in
``meta``), so are duplicate keys, NaN and Infinity.

The digest is the SHA-256, in lower-case hexadecimal, of the problem written as JSON in UTF-8 with sorted
keys, separators ``,`` and ``:`` without spaces, and characters escaped only where JSON demands it (``"``,
``\`` and those below U+0020, as ``json.dumps`` does with ``ensure_ascii=False``), with all fields of its kind
but ``name`` and ``meta`` (of the top level), the defaults filled in.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from allocsolve.errors import FormatError
from allocsolve.families import families, family_of
from allocsolve.instances.formats.checker import Document, show
from allocsolve.instances.formats.json_text import PathLike, canonical, load, save

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import Answer, Problem

__all__ = [
    "digest",
    "parse_problem",
    "parse_solution",
    "problem_document",
    "read_problem",
    "read_solution",
    "solution_digest",
    "solution_document",
    "write_problem",
    "write_solution",
]

FORMAT = "allocsolve/1"


def digest(problem: Problem) -> str:
    """Return the SHA-256 of the canonical problem (see the module), in hexadecimal.

    Examples
    --------
    >>> from allocsolve.model import EvolutionProblem, EvolutionProfile
    >>> digest(EvolutionProblem(8, (EvolutionProfile([(60, 2), (30, 8)]),)))[:12]
    '5782a969aece'
    """
    document = problem_document(problem)
    del document["name"], document["meta"]
    return hashlib.sha256(canonical(document)).hexdigest()


def read_problem(path: PathLike) -> Problem:
    """Read a problem.

    Raises
    ------
    FormatError
        If the file cannot be read, is not JSON, or is no valid problem: every faulty field is named.
    """
    return parse_problem(load(path), str(path))


def parse_problem(document: Document, source: str) -> Problem:
    """Return the problem of a JSON object.

    Parameters
    ----------
    document
        As `problem_document` returns it.
    source
        What messages call it.

    Raises
    ------
    FormatError
        If it is no valid problem: every faulty field is named.
    """
    by_kind = {family.kind: family for family in families()}
    problem: Problem = by_kind[_kind(document, source, list(by_kind))].codec.decode_problem(document, source)
    return problem


def problem_document(problem: Problem) -> Document:
    """Return the JSON object that `write_problem` writes."""
    family = family_of(problem)
    return {"format": FORMAT, "kind": family.kind, **family.codec.encode_problem(problem)}


def write_problem(problem: Problem, path: PathLike) -> None:
    """Write a problem, one application a line. The file appears whole or not at all.

    Raises
    ------
    FormatError
        If the file cannot be written, or the problem's ``meta`` holds something that is not JSON.
    """
    save(problem_document(problem), path)


def read_solution(path: PathLike, problem: Problem) -> Answer:
    """Read a solution of `problem`. It need not be feasible: that is for the judge to say.

    Raises
    ------
    FormatError
        If the file cannot be read, is not JSON, answers another problem, or has faulty fields.
    """
    return parse_solution(load(path), str(path), problem)


def parse_solution(document: Document, source: str, problem: Problem) -> Answer:
    """Return the solution of `problem` that a JSON object holds, feasible or not.

    Parameters
    ----------
    document
        As `solution_document` returns it.
    source
        What messages call it.
    problem
        That it answers.

    Raises
    ------
    FormatError
        If it answers another problem, or has faulty fields.
    """
    codec = family_of(problem).codec
    _kind(document, source, [codec.answer_kind])
    expected = digest(problem)
    stated = document.get("problem", expected)
    if stated != expected:
        stated = stated[:12] if isinstance(stated, str) else stated
        fault = f"problem: this solves another problem, {show(stated)}, not {show(expected[:12])}"
        raise FormatError(source, [fault])
    return codec.decode_answer(document, source, problem)


def write_solution(path: PathLike, problem: Problem, answer: Answer, meta: Mapping[str, object]) -> None:
    """Write a solution of `problem`, one application a line. The file appears whole or not at all.

    Raises
    ------
    InvalidAnswer
        If the answer cannot be one of this problem: other steps or node counts, or unknown nodes.
    FormatError
        If the file cannot be written, or `meta` holds something that is not JSON.
    """
    save(solution_document(problem, answer, meta), path)


def solution_document(
    problem: Problem, answer: Answer, meta: Mapping[str, object], *, problem_digest: str | None = None
) -> Document:
    """Return the JSON object that `write_solution` writes.

    Parameters
    ----------
    problem, answer, meta
        What is solved, the answer, and what is carried along: JSON values.
    problem_digest
        The `digest` of the problem where it has been computed before; None computes it.

    Raises
    ------
    InvalidAnswer
        If the answer cannot be one of this problem: other steps or node counts, or unknown nodes.
    """
    codec = family_of(problem).codec
    envelope = {"format": FORMAT, "kind": codec.answer_kind, "problem": problem_digest or digest(problem)}
    return {**envelope, **codec.encode_answer(problem, answer), "meta": dict(meta)}


def solution_digest(problem: Problem, answer: Answer) -> str:
    """Return the SHA-256, in hexadecimal, of a solution as JSON with sorted keys, but without its ``meta``.

    Raises
    ------
    InvalidAnswer
        If the answer cannot be one of this problem: other steps or node counts, or unknown nodes.
    """
    document = solution_document(problem, answer, {})
    del document["meta"]
    return hashlib.sha256(canonical(document)).hexdigest()


def _kind(document: Document, source: str, kinds: list[str]) -> str:
    """Check the envelope and return the kind."""
    for name, allowed in ("format", [FORMAT]), ("kind", kinds):
        if name not in document:
            raise FormatError(source, [f"{name}: missing"])
        if document[name] not in allowed:
            fault = f"{name}: {show(document[name])} is not {' or '.join(map(show, allowed))}"
            raise FormatError(source, [fault])
    return str(document["kind"])
