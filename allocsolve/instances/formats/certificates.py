r"""Certificates of bounds as files: what proves a lower bound, without an answer.

::

    {"format": "allocsolve/1", "kind": "certificate", "problem": "<digest>", "objective": ["<term>", ...],
     "certificate": {...}, "meta": {...}}

``certificate`` is that of a `Result`: its own ``kind`` says what it consists of, and the judge of the family
recomputes the bound from it (see `allocsolve.judge.certify`). ``problem`` is the digest of the problem,
``objective`` its terms, of which the first is bounded. Files whose names end in ``.gz`` are compressed.
"""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, cast

from allocsolve.errors import AllocsolveError, FormatError
from allocsolve.families import family_of
from allocsolve.instances.formats.checker import Checker, Document, show
from allocsolve.instances.formats.envelope import FORMAT, digest, parse_solution, read_solution
from allocsolve.instances.formats.json_text import canonical, parse, replace_file
from allocsolve.instances.formats.reading import read_input, read_stream
from allocsolve.instances.formats.tables import is_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allocsolve.instances.formats.reading import PathLike
    from allocsolve.model import Answer, Problem

__all__ = ["Proof", "read_certificate", "read_outcome", "write_certificate"]

_KIND: Final = "certificate"
_COMPRESSED: Final = ".gz"


def write_certificate(
    path: PathLike,
    problem: Problem,
    objective: Sequence[str],
    certificate: Mapping[str, object],
    meta: Mapping[str, object] | None = None,
) -> None:
    """Write the certificate of a result, compressed if the name ends in ``.gz``.

    The file appears whole or not at all; equal contents are equal files.

    Parameters
    ----------
    path
        The file.
    problem, objective
        What was solved.
    certificate
        The certificate of the result.
    meta
        What else readers may want to know, such as the bound; it is not believed.

    Raises
    ------
    FormatError
        If the file cannot be written, or something cannot be written as JSON.
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
    replace_file(path, gzip.compress(data, mtime=0) if _is_compressed(path) else data)


class Proof(NamedTuple):
    """A certificate and the objective that it bounds."""

    #: The terms; the first one is bounded.
    objective: tuple[str, ...]
    certificate: dict[str, Any]


def read_certificate(path: PathLike, problem: Problem) -> Proof:
    """Read a certificate of `problem`; what it proves is for the judge to say.

    Raises
    ------
    FormatError
        If the file cannot be read, is not a certificate, or is one of another problem.
    """
    return _proof(_document(path), str(path), problem)


def read_outcome(
    path: PathLike, problem: Problem, *, tell: Callable[[str], None] | None = None
) -> tuple[Answer | None, Proof | None]:
    """Read what a run has left: an answer, as `read_solution` does, or a certificate, as the file says.

    Returns
    -------
    tuple
        The answer and the certificate; one of them is None.

    Raises
    ------
    FormatError
        If the file cannot be read, or is of another problem.
    """
    if is_table(path):
        return read_solution(path, problem, tell=tell), None
    document = _document(path)
    if document.get("kind") == _KIND:
        return None, _proof(document, str(path), problem)
    return parse_solution(document, str(path), problem), None


def _proof(document: Document, source: str, problem: Problem) -> Proof:
    check = Checker()
    names = ("format", "kind", "problem", "objective", "certificate")
    fields = check.fields(document, "", names, ("meta",))
    for name, expected in (("format", FORMAT), ("kind", _KIND)):
        if fields.get(name, expected) != expected:
            check.add(name, f"must be {expected!r}, not {show(fields[name])}")
    certificate: Document = check.typed(dict, fields.get("certificate", {}), "certificate")
    stated, expected = fields.get("problem"), digest(problem)
    if stated is not None and stated != expected:
        stated = stated[:12] if isinstance(stated, str) else stated
        check.add("problem", f"this is of another problem, {show(stated)}, not {show(expected[:12])}")
    try:
        terms = check.typed(list, fields.get("objective", []), "objective")
        objective = family_of(problem).parse_objective([str(term) for term in terms])
    except AllocsolveError as error:
        check.add("objective", str(error))
    check.finish(source)
    return Proof(objective, certificate)


def _document(path: PathLike) -> Document:
    source = str(path)
    try:
        data = read_input(path)
        if _is_compressed(path):
            with gzip.open(io.BytesIO(data)) as stream:
                data = read_stream(cast("BinaryIO", stream), source)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(source, [f"is not compressed by gzip: {error}"]) from error
    except OSError as error:
        raise FormatError(source, [f"cannot be read: {error.strerror}"]) from error
    return parse(data, source)


def _is_compressed(path: PathLike) -> bool:
    return Path(path).suffix == _COMPRESSED
