"""Calling the command line from tests."""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from allocsolve.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

Capture = pytest.CaptureFixture[str]


_COMPILING = re.compile(r"allocsolve: compiling kernels: .*the first call of a solver takes a while\n")


def without_compiling(err: str) -> str:
    """Return what a command has said, less what it says once in a process that compiles kernels."""
    return _COMPILING.sub("", err)


@contextlib.contextmanager
def in_this_process() -> Iterator[None]:
    """Have commands run solvers in this process, which has their kernels, not in processes of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("allocsolve.bench.open_executor", lambda *_, **__: contextlib.nullcontext())
        yield


def run(capsys: Capture, *argv: object, status: int = 0) -> str:
    """Run a command that says nothing else on stderr and return what it prints."""
    assert main([str(arg) for arg in argv]) == status
    out, err = capsys.readouterr()
    assert without_compiling(err) == ""
    return out


def run_json(capsys: Capture, *argv: object, status: int = 0) -> dict[str, Any]:
    """Run a command and return the document that it prints; NaN and Infinity are no JSON."""

    def refuse(constant: str) -> float:
        raise ValueError(constant)

    document = json.loads(run(capsys, *argv, "--json", status=status), parse_constant=refuse)
    assert isinstance(document, dict)
    return document


def refused(capsys: Capture, *argv: object) -> str:
    """Run a command that must refuse its input and return what it says."""
    assert main([str(arg) for arg in argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    err = without_compiling(err)
    assert err.startswith("allocsolve: error: ")
    assert err.count("\n") == 1
    return err


#: 4x3, node 5 busy: the best four nodes are a square.
