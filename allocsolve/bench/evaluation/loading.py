"""Policies by their names, out of files too, and by which rules all of them are evaluated."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from allocsolve.adaptors import named_policy
from allocsolve.errors import InvalidOption, PluginError
from allocsolve.registry import plugin_place
from allocsolve.simulation import EngineRules

if TYPE_CHECKING:
    from allocsolve.simulation.policy import RunnablePolicy

#: What is looked for in a file that is named without it.
_OBJECT: Final = "policy"


def file_and_object(name: str) -> tuple[str, str]:
    """Return the file and the object that a name such as ``file.py:object`` stands for; empty for others."""
    found = re.fullmatch(r"(.+\.py)(?::(\w+))?", name)
    return (found[1], found[2] or _OBJECT) if found else ("", "")


def is_foreign(name: str) -> bool:
    """Return whether a name stands for a policy of somebody else: of a plug-in or of a file."""
    return bool(file_and_object(name)[0] or plugin_place(name))


def module_of(name: str) -> str:
    """Return the module, or the package around it, that must be imported for a policy; empty for others."""
    if file_and_object(name)[0]:
        return ""
    return plugin_place(name).partition(":")[0].partition(".")[0]


def code_of(name: str, folder: str) -> list[Path]:
    """Return where the code of a foreign policy lies: its file, or the folder of its package.

    Its module is looked for in the folder first.
    """
    if path := file_and_object(name)[0]:
        return [Path(path).resolve()]
    module = module_of(name)
    found = PathFinder.find_spec(module, [folder])
    if found is None:
        with contextlib.suppress(ValueError):  # of a module that was made without one
            found = importlib.util.find_spec(module)
    if found is None:
        return []
    folders = found.submodule_search_locations
    if folders is None:
        return [Path(found.origin).resolve()] if found.has_location and found.origin else []
    return [Path(entry).resolve() for entry in folders]


def loaded(name: str) -> RunnablePolicy:
    """Return a policy at the beginning of a run; what is foreign is imported here.

    Raises `InvalidOption` if it is none, or asks for other rules than those by which all are evaluated. The
    name is that of a registered policy, ``package.module:object`` with options, ``file.py`` or
    ``file.py:object``.
    """
    path, attribute = file_and_object(name)
    try:
        policy = named_policy(_of_file(name, path, attribute) if path else name)
    except InvalidOption as error:
        raise InvalidOption(str(error) if name in str(error) else f"{name}: {error}") from None
    ours, asked = EngineRules(), policy.rules
    for field in dataclasses.fields(EngineRules):
        if (value := getattr(asked, field.name)) != (own := getattr(ours, field.name)):
            msg = f"{name} asks for {field.name}={value!r}: all are evaluated with {field.name}={own!r}"
            raise InvalidOption(msg)
    return policy


def _of_file(name: str, path: str, attribute: str) -> Any:  # noqa: ANN401 - whatever is in it
    if not Path(path).is_file():
        raise PluginError(name, "there is no such file")
    spec = importlib.util.spec_from_file_location("evaluated_policy", path)
    assert spec is not None, "its name ends in .py"
    assert spec.loader is not None, "so it has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        raise PluginError(name, f"{type(error).__name__}: {error}") from error
    if not hasattr(module, attribute):
        raise PluginError(name, f"the file has no {attribute!r}")
    return getattr(module, attribute)
