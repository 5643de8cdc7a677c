"""Descriptions of named solvers. Importing a plug-in runs its code: a process of its own does that."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve import registry
from allocsolve.bench.runs.watch import (
    LOOK_S,
    REPLY,
    Channel,
    Watch,
    exit_reason,
    kill,
    listen,
    packed,
    start,
    tell,
)
from allocsolve.errors import AllocsolveError, FormatError, PluginError
from allocsolve.instances.formats.schema import cells, listing, read_fields, record, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.families import AnyFamily
    from allocsolve.instances.formats import Document

#: How long importing a plug-in may take, in seconds.
_IMPORT_S: Final = 300.0
_LARGEST: Final = 1 << 20

#: What the process of a plug-in says.
_FAILED: Final = record({"error": text()}, ("error",))
_SAID: Final = {
    "name": text(),
    "kinds": listing(text()),
    "identities": listing(cells(*[text()] * 4), "kind, objective, and the fields of `Identity`"),
}
_DESCRIBED: Final = record(_SAID, _SAID)


class Identity(NamedTuple):
    """What records know a solver by."""

    text: str  #: see `registry.identity`
    code: str  #: see `registry.code_of`


@dataclass(frozen=True, slots=True)
class Description:
    """What a solver is, without the solver."""

    name: str  #: as records have it, see `registry.canonical_name`
    kinds: tuple[str, ...]  #: of the problems that it solves
    #: By kind and objective.
    identities: Mapping[tuple[str, str], Identity] = field(default_factory=dict)


class _Question(NamedTuple):
    name: str
    objectives: tuple[str | None, ...]
    folder: str


def recorded_name(name: str) -> str:
    """Return the name of a solver as records have it, see `registry.canonical_name`."""
    if "(" in name and registry.plugin_place(name):
        return describe([name])[0].name
    return registry.canonical_name(name)


def describe(names: Sequence[str], objectives: Iterable[str | None] = (None,)) -> list[Description]:
    """Return what the solvers of these names are.

    Raises `UnknownName`, `InvalidOption` or `PluginError` if a solver cannot be made.

    Parameters
    ----------
    names
        Registered, or of plug-ins, which are imported by a process for each module of them.
    objectives
        Under which their identities are asked for, where a family has them; None stands for the first one of
        each family.
    """
    asked = tuple(dict.fromkeys(objectives))
    folder = os.getcwd()  # noqa: PTH109 - a text, as the entries of sys.path are
    questions = [_Question(name, asked, folder) for name in names]
    if not any(registry.plugin_place(name) for name in names):
        return [_described(*question[:2]) for question in questions]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return [*threads.map(_answered, questions)]


def _answered(question: _Question) -> Description:
    name = question.name
    place = registry.plugin_place(name)
    if not place:
        return _described(name, question.objectives)
    description = _decoded(_asked(question), name)
    module = place.partition(":")[0]
    for identity in description.identities.values():
        # What is not checked is what its records are found by: those of others are out of its reach.
        if identity.code.partition(":")[0] != module:
            raise PluginError(name, f"it says that its code is {identity.code}")
    return description


def _described(name: str, objectives: Iterable[str | None]) -> Description:
    families = registry.families_named(name)
    canonical = registry.canonical_name(name)
    identities: dict[tuple[str, str], Identity] = {}
    for family in families:
        for objective in objectives:
            with contextlib.suppress(AllocsolveError):  # it may be one of another family
                text = ",".join(family.parse_objective(objective))
                identities[family.kind, text] = identity_of(canonical, family, text)
    return Description(canonical, tuple(family.kind for family in families), identities)


def identity_of(name: str, family: AnyFamily, objective: str) -> Identity:
    """Return the identity of a solver of this name, which is made in this process."""
    solver = registry.make_solver(name, family.problem, objective)
    return Identity(registry.identity(solver), registry.code_of(solver, name))


def _asked(question: _Question) -> bytes:
    """Return the reply to a question, from a process that has imported the plug-in."""
    fault = ""
    with tempfile.TemporaryFile() as stderr, start("allocsolve.bench.runs.describe:main", stderr) as process:
        try:
            channel, watch = Channel(process), Watch(process.pid, _IMPORT_S)
            channel.send(packed(question))
            while not fault:
                channel.exchange(LOOK_S)
                watch.look()
                message = channel.message(_LARGEST)
                if message is not None and message[0] == REPLY:
                    return message[1]
                if message is not None:
                    fault = "its process sent something else than the description that was expected"
                elif channel.ended:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(LOOK_S)
                    fault = f"its process died: {exit_reason(process, stderr)}"
                elif watch.overdue:
                    fault = f"importing it takes longer than {_IMPORT_S:.0f} s"
        except FormatError as error:
            fault = str(error)
        finally:
            kill(process)
    raise PluginError(question.name, fault)


def _decoded(data: bytes, name: str) -> Description:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise PluginError(name, f"its process says what is no JSON: {error}") from None
    failed = isinstance(document, dict) and "error" in document
    try:
        fields = read_fields(document, _FAILED if failed else _DESCRIBED, "description")
    except FormatError as error:
        raise PluginError(name, str(error)) from None
    if failed:
        raise PluginError(name, fields["error"])
    identities = {(kind, term): Identity(*identity) for kind, term, *identity in fields["identities"]}
    return Description(fields["name"], tuple(fields["kinds"]), identities)


def main() -> None:
    """Answer the question that comes in on stdin; what a plug-in prints when it is imported goes nowhere."""
    inward, outward = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123 - the null device is no path to keep
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)

    def answer(question: _Question) -> None:
        tell(outward, REPLY, json.dumps(_reply(question)).encode())
        os._exit(0)

    listen(inward, answer)


def _reply(question: _Question) -> Document:
    sys.path.insert(0, question.folder)
    try:
        name, kinds, identities = _fields(_described(question.name, question.objectives))
    except PluginError as error:
        return {"error": str(error).removeprefix(f"plug-in {error.name!r}: ")}
    except BaseException as error:  # noqa: BLE001 - a plug-in may raise anything
        return {"error": f"{type(error).__name__}: {error}"}
    return {"name": name, "kinds": kinds, "identities": identities}


def _fields(description: Description) -> tuple[str, list[str], list[list[str]]]:
    rows = [[*where, *identity] for where, identity in description.identities.items()]
    return description.name, list(description.kinds), rows
