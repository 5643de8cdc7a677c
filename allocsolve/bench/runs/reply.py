"""What the process of a solver says of a call: data, which the owner of the process reads and has judged.

A reply is a JSON object. Nothing in it is believed: the answer goes through the decoder of its family, the
claims through the checks of `Result`, and both to the judge.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from allocsolve.errors import FormatError, InvalidAnswer
from allocsolve.instances import parse_solution, solution_document
from allocsolve.instances.formats import Checker, show
from allocsolve.judge import check_types
from allocsolve.model import Limit, Result, Status

if TYPE_CHECKING:
    from enum import StrEnum

    from allocsolve.bench.runs.calls import Call
    from allocsolve.bench.runs.tasks import Task
    from allocsolve.instances.formats import Document
    from allocsolve.model import Problem, Value

__all__ = ["Reply", "decoded_reply", "encoded_reply"]

E = TypeVar("E", bound="StrEnum")

#: What a message of a solver may have, in characters; the traceback holds the rest.
_LONGEST: Final = 2_000
#: Numbers beyond 64 bits have no place in a file of records.
_LOWEST: Final = -(2**63)


class Reply(NamedTuple):
    """What came of a call, as the process of the solver says."""

    runtime: float  #: seconds
    result: Result[Any] | None  #: None if the call is a failure
    error: str = ""  #: why it is one
    traceback: str = ""


def encoded_reply(problem: Problem, problem_digest: str, call: Call) -> bytes:
    """Return the reply about a call, as JSON; a result that cannot be said in data is a failure."""
    cause = call.cause
    if cause is None:
        try:
            return _json({"runtime": call.runtime, "result": _claims(problem, problem_digest, call.result)})
        except Exception as fault:  # noqa: BLE001 - what a solver returns may fail in any way
            cause = fault
    try:
        said = f"{type(cause).__name__}: {cause}"
    except Exception:  # noqa: BLE001 - an error of a third party may not even have a text
        said = type(cause).__name__
    return _json({"runtime": call.runtime, "error": said[:_LONGEST], "traceback": call.traceback})


def _claims(problem: Problem, problem_digest: str, result: Any) -> Document:  # noqa: ANN401 - whatever was returned
    check_types(problem, result)
    answer = result.answer
    if answer is not None:
        answer = solution_document(problem, answer, {}, problem_digest=problem_digest)
    return {
        "status": result.status,
        "limit": result.limit,
        "objective": result.objective,
        "bound": result.bound,
        "incumbents": result.incumbents,
        "certificate": result.certificate,
        "answer": answer,
    }


def _json(document: Document) -> bytes:
    return json.dumps(document, default=_plain, separators=(",", ":")).encode()


def _plain(value: object) -> object:
    """Return what `json` does not know as data: numbers of other types, mappings."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    msg = f"the result holds a {type(value).__name__}, which is no data"
    raise InvalidAnswer(msg)


def decoded_reply(data: bytes, task: Task) -> Reply:
    """Return what the process of the solver says of a task.

    Raises
    ------
    FormatError
        If it is no reply: every fault is named.
    InvalidAnswer
        If the answer is none of the problem, or the claims contradict each other.
    """
    source = "reply"
    try:
        document = json.loads(data)
    except RecursionError:
        raise FormatError(source, ["lists and objects are nested too deeply"]) from None
    except ValueError as fault:  # no JSON, or an integer of thousands of digits
        raise FormatError(source, [str(fault)]) from None
    check = Checker()
    top = check.fields(document, "", ("runtime",), ("result", "error", "traceback"))
    runtime = _number(check, top.get("runtime", 0.0), "runtime")
    error = check.typed(str, top.get("error", ""), "error")
    traceback = check.typed(str, top.get("traceback", ""), "traceback")
    claims = check.typed(dict, top.get("result", {}), "result")
    if ("result" in top) == ("error" in top):
        check.add("", "there must be a result or an error")
    check.finish(source)
    result = _result(check, claims, task, source, runtime) if "result" in top else None
    return Reply(runtime, result, error, traceback)


def _result(check: Checker, claims: Document, task: Task, source: str, runtime: float) -> Result[Any]:
    names = ("status", "limit", "objective", "bound", "incumbents", "certificate", "answer")
    claims = check.fields(claims, "result", names, ())
    status = _member(check, Status, claims.get("status"), "status")
    limit = None if claims.get("limit") is None else _member(check, Limit, claims["limit"], "limit")
    objective = None if claims.get("objective") is None else _value(check, claims["objective"], "objective")
    bound = _value(check, claims.get("bound", 0), "bound", lowest=-math.inf)
    incumbents = []
    for idx, pair in enumerate(check.typed(list, claims.get("incumbents", []), "incumbents")):
        if not isinstance(pair, list) or len(pair) != 2:
            check.add(f"incumbents[{idx}]", f"must be a pair [seconds, value], not {show(pair)}")
            continue
        place = f"incumbents[{idx}]"
        incumbents.append((_number(check, pair[0], place), _value(check, pair[1], place)))
    certificate, document = claims.get("certificate"), claims.get("answer")
    if certificate is not None:
        certificate = check.typed(dict, certificate, "certificate")
    if document is not None:
        document = check.typed(dict, document, "answer")
    check.finish(source)
    answer = None
    if document is not None:
        try:
            answer = parse_solution(document, "answer", task.problem, problem_digest=task.key.digest)
        except FormatError as error:
            msg = f"the answer is malformed: {'; '.join(error.faults[: FormatError.SHOWN])}"
            raise InvalidAnswer(msg) from None
    return Result(
        status or Status.UNKNOWN, answer, objective, bound, limit, runtime, tuple(incumbents), certificate
    )


def _member(check: Checker, kind: type[E], value: object, place: str) -> E | None:
    for member in kind:
        if member == value:
            return member
    check.add(place, f"{show(value)} is none")
    return None


def _value(check: Checker, value: object, place: str, *, lowest: float = _LOWEST) -> Value:
    if isinstance(value, list) and value:
        return tuple(_number(check, term, f"{place}[{idx}]", lowest=lowest) for idx, term in enumerate(value))
    return _number(check, value, place, lowest=lowest)


def _number(check: Checker, value: object, place: str, *, lowest: float = _LOWEST) -> float:
    if (type(value) is int or type(value) is float) and lowest <= value < 2**63:  # a bool is no number
        return value
    check.add(place, f"must be a number of at most 64 bits, not {show(value)}")
    return 0.0
