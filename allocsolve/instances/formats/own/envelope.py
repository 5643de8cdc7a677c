r"""The file format ``allocsolve/1``: problems, solutions and certificates, and the digest that ties them.

The fields are those of the family's kinds of files, such as `allocsolve.instances.formats.own.evolution`, and
of the envelope: docs/formats.md shows them. Unknown fields are refused (extra data belongs in ``meta``).

The digest is the SHA-256, in lower-case hexadecimal, of the problem written as JSON in UTF-8 with sorted
keys, separators ``,`` and ``:`` without spaces, and characters escaped only where JSON demands it (``"``,
``\`` and those below U+0020, as ``json.dumps`` does with ``ensure_ascii=False``), with all fields of its kind
but ``name`` and ``meta`` (of the top level), the defaults filled in.

Files whose names end in ``.gz`` are packed by gzip; packed ones are read whatever their names are.
"""

from __future__ import annotations

import csv
import hashlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.errors import AllocsolveError, FormatError, InvalidProblem
from allocsolve.families import Fields, families, family_of
from allocsolve.instances.formats.files import Checker, Document, canonical, load, replace_file, save, show
from allocsolve.instances.formats.logs.lines import read_text
from allocsolve.instances.formats.logs.tables import certain_format
from allocsolve.instances.formats.schema import (
    answer_schema,
    file_schema,
    listing,
    problem_schema,
    read_answer_fields,
    read_fields,
    read_problem_fields,
    reference,
    text,
)
from allocsolve.instances.formats.tables import is_table, read_rows, rows_of, write_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from allocsolve.families import AnyFamily, TableFormat
    from allocsolve.instances.formats.files import PathLike
    from allocsolve.instances.formats.tables import Rows
    from allocsolve.model import Answer, Problem

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
    """Read a problem, from a table if the name of the file ends in ``.csv``.

    Raises `FormatError` if the file cannot be read, is not JSON (or no table), is a log, or is no valid
    problem: every faulty field is named.
    """
    with _telling_logs(path, "a problem: allocsolve convert, or import, makes one of it"):
        if is_table(path):
            return _problem_of_rows(*read_rows(path, _problem_tables()), str(path))
        return parse_problem(load(path), str(path))


@contextmanager
def _telling_logs(path: PathLike, wanted: str) -> Iterator[None]:
    """Say so where a file cannot be read because it is a log."""
    try:
        yield
    except FormatError as error:
        if Path(path).is_file() and (name := _log_format(path)) is not None:
            raise FormatError(str(path), [f"is a log ({name}), not {wanted}"]) from error
        raise


def _log_format(path: PathLike) -> str | None:
    """Return the format of a log where a problem was expected; None if it is no log."""
    try:
        head = read_text(path, lambda text: text.head)[0]
    except FormatError:
        return None
    if is_table(path) and is_problem_table(head):
        return None
    return certain_format(head)


def problem_from_columns(columns: Mapping[str, Any], source: str = "table") -> Problem:
    """Return the problem of a table.

    Parameters
    ----------
    columns
        Arrays or lists of equal length by the names of columns, such as a ``pandas.DataFrame``; a single
        value stands for a column of it. See `allocsolve.instances.formats.own.evolution` and
        ``partition_table`` for the columns.

    Examples
    --------
    >>> columns = {"application": ["a", "a", "b"], "duration": [60, 30, 90], "nodes": [2, 8, 4]}
    >>> problem = problem_from_columns({**columns, "num_nodes": 8})
    >>> problem.applications[0].steps, problem_columns(problem)["step"].tolist()
    (((60, 2), (30, 8)), [0, 1, 0])
    """
    return _problem_of_rows(*rows_of(columns, _problem_tables(), source), source)


def problem_columns(problem: Problem) -> dict[str, Any]:
    """Return the columns of a problem as arrays of equal length, as ``pandas.DataFrame`` takes them.

    ``name`` and ``meta`` of the problem are not among them.

    Raises `InvalidProblem` if a table cannot hold it: there are no rows, or its family has no tables.
    """
    family = family_of(problem)
    if family.codec.problem_table is None:
        raise InvalidProblem(f"{family.kind} problems have no tables")
    return dict(family.codec.problem_table.columns(problem))


def _problem_tables() -> dict[TableFormat, AnyFamily]:
    tables = {family.codec.problem_table: family for family in families()}
    return {table: family for table, family in tables.items() if table is not None}


def is_problem_table(text: str) -> bool:
    """Tell whether the first line names the columns of a table of problems; one of four may be missing."""
    present = {*next(csv.reader(text.splitlines()[:1]), [])}
    return any(4 * len(present & {*table.required}) >= 3 * len(table.required) for table in _problem_tables())


def _problem_of_rows(table: TableFormat, rows: Rows, source: str) -> Problem:
    family = _problem_tables()[table]
    if not len(rows):
        raise FormatError(source, ["there are no rows"])
    fields = table.fields(rows)
    rows.finish(source)
    try:
        problem: Problem = read_problem_fields(family.codec.problem, fields, source)
    except FormatError as error:
        rows.finish(source, error.faults)
        raise
    return problem


def parse_problem(document: Document, source: str) -> Problem:
    """Return the problem of a JSON object.

    Parameters
    ----------
    document
        As `problem_document` returns it.
    """
    by_kind = {family.kind: family for family in families()}
    family = by_kind[_kind(document, source, list(by_kind))]
    problem: Problem = read_problem_fields(family.codec.problem, document, source)
    return problem


def problem_document(problem: Problem) -> Document:
    """Return the JSON object that `write_problem` writes."""
    family = family_of(problem)
    return {"format": FORMAT, "kind": family.kind, **family.codec.problem.values(problem)}


def write_problem(problem: Problem, path: PathLike) -> None:
    """Write a problem, one application a line; as a table if the name of the file ends in ``.csv``.

    The file appears whole or not at all.

    Raises `InvalidProblem` if a table cannot hold it, see `problem_columns`.
    """
    if is_table(path):
        write_columns(problem_columns(problem), path)
    else:
        save(problem_document(problem), path)


def read_solution(path: PathLike, problem: Problem, *, tell: Callable[[str], None] | None = None) -> Answer:
    """Read a solution of `problem`, from a table if the name of the file ends in ``.csv``.

    It need not be feasible: that is for the judge to say. A table may also be one that another program has
    written, see `allocsolve.instances.formats.simulators.foreign`.

    Raises `FormatError` if the file cannot be read, is not JSON (or no table), is a log, answers another
    problem, or has faulty fields.

    Parameters
    ----------
    tell
        Called with a line that readers of a table in this format should know, if there is one.
    """
    if is_table(path):
        foreign = family_of(problem).codec.foreign_tables
        table, rows = read_rows(path, [_answer_table(problem, str(path)), *foreign])
        if table.caution and tell is not None:
            tell(f"{path}: {table.caution}")
        return _solution_of_rows(table, rows, problem, str(path))
    with _telling_logs(path, _RECORDED):
        return parse_solution(load(path), str(path), problem)


def solution_from_columns(columns: Mapping[str, Any], problem: Problem, source: str = "table") -> Answer:
    """Return the solution of `problem` that a table holds, feasible or not.

    Raises `FormatError` if it is no answer to this problem: every faulty row is named, counted from 0.

    Parameters
    ----------
    columns
        As `problem_from_columns` takes them.
    """
    table, rows = rows_of(columns, [_answer_table(problem, source)], source)
    return _solution_of_rows(table, rows, problem, source)


def solution_columns(problem: Problem, answer: Answer) -> dict[str, Any]:
    """Return the columns of an answer as arrays of equal length, as ``pandas.DataFrame`` takes them.

    Raises `FormatError` if the family of the problem has no tables.
    """
    return dict(_answer_table(problem, "table").columns(problem, answer))


def _answer_table(problem: Problem, source: str) -> TableFormat:
    family = family_of(problem)
    if family.codec.answer_table is None:
        raise FormatError(source, [f"answers to {family.kind} problems have no tables"])
    return family.codec.answer_table


def _solution_of_rows(table: TableFormat, rows: Rows, problem: Problem, source: str) -> Answer:
    codec = family_of(problem).codec
    fields = table.fields(rows, problem)
    rows.finish(source)
    try:
        return read_answer_fields(codec.answer, fields, source, problem)
    except FormatError as error:
        rows.finish(source, error.faults)
        raise


def parse_solution(
    document: Document, source: str, problem: Problem, *, problem_digest: str | None = None
) -> Answer:
    """Return the solution of `problem` that a JSON object holds, feasible or not.

    Raises `FormatError` if it answers another problem, or has faulty fields.

    Parameters
    ----------
    document
        As `solution_document` returns it.
    problem_digest
        The `digest` of the problem where it has been computed before; None computes it.
    """
    codec = family_of(problem).codec
    _kind(document, source, [codec.answer_kind])
    expected = problem_digest or digest(problem)
    stated = document.get("problem", expected)
    if stated != expected:
        stated = stated[:12] if isinstance(stated, str) else stated
        fault = f"problem: this solves another problem, {show(stated)}, not {show(expected[:12])}"
        raise FormatError(source, [fault], breaks_schema=not isinstance(document["problem"], str))
    return read_answer_fields(codec.answer, document, source, problem)


def write_solution(path: PathLike, problem: Problem, answer: Answer, meta: Mapping[str, object]) -> None:
    """Write a solution of `problem`, one application a line; as a table if the name ends in ``.csv``.

    The file appears whole or not at all. A table has no room for `meta`.
    """
    if is_table(path):
        write_columns(_answer_table(problem, str(path)).columns(problem, answer), path)
    else:
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
    """
    codec = family_of(problem).codec
    envelope = {"format": FORMAT, "kind": codec.answer_kind, "problem": problem_digest or digest(problem)}
    return {**envelope, **codec.answer.values(problem, answer), "meta": dict(meta)}


def solution_digest(problem: Problem, answer: Answer) -> str:
    """Return the SHA-256, in hexadecimal, of a solution as JSON with sorted keys, without its ``meta``."""
    document = solution_document(problem, answer, {})
    del document["meta"]
    return hashlib.sha256(canonical(document)).hexdigest()


def _kind(document: Document, source: str, kinds: list[str]) -> str:
    """Check the envelope and return the kind."""
    for name, allowed in ("format", [FORMAT]), ("kind", kinds):
        if name not in document:
            raise FormatError(source, [f"{name}: missing"], breaks_schema=True)
        if document[name] not in allowed:
            fault = f"{name}: {show(document[name])} is not {' or '.join(map(show, allowed))}"
            raise FormatError(source, [fault], breaks_schema=True)
    return str(document["kind"])


_KIND: Final = "certificate"

#: What is wanted where a log stands, see `_telling_logs`.
_RECORDED: Final = "a solution: allocsolve import --recorded makes one of it"


def write_certificate(
    path: PathLike,
    problem: Problem,
    objective: Sequence[str],
    certificate: Mapping[str, object],
    meta: Mapping[str, object] | None = None,
) -> None:
    """Write the certificate of a result, packed if the name ends in ``.gz``.

    The file appears whole or not at all; equal contents are equal files.

    Parameters
    ----------
    problem, objective
        What was solved.
    meta
        What else readers may want to know, such as the bound; nobody believes it.
    """
    document = {
        "format": FORMAT,
        "kind": _KIND,
        "problem": digest(problem),
        "objective": list(objective),
        "certificate": dict(certificate),
        "meta": dict(meta or {}),
    }
    try:
        data = canonical(document) + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(str(path), [f"cannot be written as JSON: {error}"]) from error
    replace_file(path, data)


class Proof(NamedTuple):
    """A certificate and what it is one of."""

    #: The terms, of which the first is bounded.
    objective: tuple[str, ...]
    certificate: dict[str, Any]


def read_certificate(path: PathLike, problem: Problem) -> Proof:
    """Read a certificate for `problem`; what it proves is for the judge to say.

    Raises `FormatError` if the file cannot be read, is no certificate, or one of another problem.
    """
    return _proof(load(path), str(path), problem)


def read_outcome(
    path: PathLike, problem: Problem, *, tell: Callable[[str], None] | None = None
) -> tuple[Answer | None, Proof | None]:
    """Read what a run has left: its answer, as `read_solution`, or a certificate, whichever the file holds.

    Returns
    -------
    tuple
        The answer and the certificate; one of them is None.
    """
    if is_table(path):
        return read_solution(path, problem, tell=tell), None
    with _telling_logs(path, _RECORDED):
        document = load(path)
    if document.get("kind") == _KIND:
        return None, _proof(document, str(path), problem)
    return parse_solution(document, str(path), problem), None


def _proof(document: Document, source: str, problem: Problem) -> Proof:
    # What is in the certificate is for the judge to read.
    fields, check = read_fields(document, _certificate_schema({"type": "object"}), source), Checker()
    expected = digest(problem)
    if fields["problem"] != expected:
        other = show(fields["problem"][:12])
        check.add("problem", f"this is of another problem, {other}, not {show(expected[:12])}")
    try:
        objective = family_of(problem).parse_objective(fields["objective"])
    except AllocsolveError as error:
        check.add("objective", str(error))
    check.finish(source)
    return Proof(objective, _with_integers(fields["certificate"]))


def _with_integers(value: Any) -> Any:  # noqa: ANN401 - a JSON value
    """Return the same with 8.0 and 1e5 as integers, which they are in JSON Schema and not for judges."""
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        if {float, list, dict}.isdisjoint(map(type, value)):  # a million prices
            return value
        return [_with_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def certificate_schema() -> Document:
    """Return the schema of the files of certificates."""
    return _certificate_schema(*_content_schema())


def _certificate_schema(content: Document, kinds: Mapping[str, Document] | None = None) -> Document:
    """Return the same for any content."""
    fields = Fields(
        "A certificate: what proves a lower bound on the answers to a problem",
        {
            "problem": text("digest of the problem"),
            "objective": listing(text(), "the terms, of which the first is bounded"),
            "certificate": content,
            "meta": {"type": "object", "default": {}, "description": "nobody believes it"},
        },
        ("problem", "objective", "certificate"),
        (
            "problem is the digest of the problem",
            "objective has at least one term, each of the family of the problem and none twice",
            "certificate is one for problems of the family, and proves what it says: the judge recomputes it",
        ),
        kinds or {},
    )
    return file_schema(fields, FORMAT, _KIND)


def _content_schema() -> tuple[Document, dict[str, Document]]:
    """Return the schema of what is in a certificate, and those of the kinds, to which it refers by name."""
    kinds: dict[str, Document] = {}
    without_kind = []
    is_open = False  # whether a family does not tell its kinds
    for family in families():
        for kind in family.rules.certificates:
            if kind.schema is None:
                is_open = True
                continue
            name, schema = kind.name or f"{family.kind}-certificate", kind.schema()
            kinds[name] = {"anyOf": [kinds[name], schema]} if name in kinds else schema
            if not kind.name:
                without_kind.append(reference(name))
    named = [name for name in kinds if reference(name) not in without_kind]
    has_kind = {"required": ["kind"]}
    cases: list[Document] = [
        {"if": {"properties": {"kind": {"const": name}}, **has_kind}, "then": reference(name)}
        for name in named
    ]
    description = "which certificate it is; some families have one without"
    kind_schema: Document = {"description": description}
    if not is_open:
        kind_schema["enum"] = named
        cases.append({"if": has_kind, "else": {"anyOf": without_kind}})
    content = {
        "description": "that of a result: its kind says which other fields it has, and the judge reads them",
        "type": "object",
        "properties": {"kind": kind_schema},
        "allOf": cases,
    }
    return content, kinds


def family_schemas() -> dict[str, Document]:
    """Return the schemas of problems and solutions of all families, by kind of file."""
    schemas: dict[str, Document] = {}
    for family in families():
        codec = family.codec
        schemas[family.kind] = problem_schema(family.kind, codec.problem.fields(), FORMAT)
        schemas[codec.answer_kind] = answer_schema(codec.answer_kind, codec.answer.fields(), FORMAT)
    return schemas
