"""Options of commands that are parameters of a function: made of its signature and its docstring."""

from __future__ import annotations

import argparse
import inspect
import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args, get_origin

from allocsolve.cli import options as opt
from allocsolve.model.options import Within, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: What the options of parameters are called that would have the name of another thing, or another name.
_OPTIONS: Final = {
    "num_nodes": "nodes",
    "nodes": "job_nodes",
    "peak": "job_nodes",
    "num_jobs": "num_jobs",
    "num_apps": "num_jobs",
    "runtime": "duration",
    "model": "kind",
    "stream": "kind",
}
#: The section of a docstring that says what the parameters are, up to the next section.
_PARAMETERS: Final = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", re.MULTILINE | re.DOTALL)


def meanings(documented: object) -> dict[str, str]:
    """Return what the docstring of a function or a dataclass says of its parameters, by name."""
    section = _PARAMETERS.search(inspect.getdoc(documented) or "")
    said: dict[str, str] = {}
    names: list[str] = []
    for line in section[1].splitlines() if section else ():
        if line and not line[0].isspace():
            names = [name.strip() for name in line.partition(":")[0].split(",")]
        else:
            said |= {name: f"{said.get(name, '')} {line.strip()}".strip() for name in names}
    return said


def add_parameters(
    parser: argparse.ArgumentParser,
    function: Callable[..., Any],
    without: tuple[str, ...] = ("seed",),
    **settings: Mapping[str, Any],
) -> None:
    """Add an option for each parameter of a function; its help is the first clause of what is said of it.

    Parameters are annotated with ``bool``, ``int``, ``float``, ``Literal``, or as a pair of integers, which
    is a range; ``Annotated`` adds the numbers that it takes. `settings` say by parameter what `argparse` is
    told in place of what follows from the signature.
    """
    said = meanings(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if name in without:
            continue
        own = settings.get(name, {})
        made: dict[str, Any] = {}
        if "type" not in own:
            hint = resolve(parameter.annotation, getattr(function, "__globals__", {}))
            made = _made(hint, parameter.default)
        clause = re.split(r"[.:;](?: |$)", said[name])[0].removeprefix("Whether ")
        text = (
            (clause[:1].lower() if clause[1:2].islower() else clause[:1]) + clause[1:] + made.pop("help", "")
        )
        option = _option(name)
        if made.get("action") is None and "choices" not in made:
            made.setdefault("metavar", option[2].upper())
        parser.add_argument(option, dest=name, **{"help": text, **made, **own})


def named_by_option(message: str, function: Callable[..., Any]) -> str:
    """Return what a function refuses with its parameters called as the command line has them."""
    names = "|".join(inspect.signature(function).parameters)
    return re.sub(rf"^({names})\b|\b(?=\w+_)({names})\b", lambda match: _option(match[0]), message)


def _option(name: str) -> str:
    """Return what the option of a parameter is called: one word for one thing in all commands."""
    known = _OPTIONS.get(name, name.removeprefix("num_"))
    return f"--{known.replace('_', '-')}"


def _made(hint: Any, default: Any) -> dict[str, Any]:  # noqa: ANN401 - any type, and a value of it
    """Return what `argparse` is told of a parameter; its help is what follows the first clause."""
    if hint is bool:
        return {"action": "store_true"}
    bare, within = get_args(hint) if get_origin(hint) is Annotated else (hint, Within())
    made: dict[str, Any] = {}
    shown = default
    if get_origin(bare) is Literal:
        made["choices"] = get_args(bare)
    elif bare is float:
        made["type"], shown = _real(within), f"{default:g}" if isinstance(default, float | int) else default
    else:
        low, high = (int(end) if math.isfinite(end) else None for end in (within.low, within.high))
        ends = [end for end in (low, high) if end is not None]
        made["type"] = opt.integer(*ends) if bare is int else opt.integers(*ends)
        if bare is not int:
            made["metavar"] = shown = f"{default[0]}-{default[1]}"
    if default is inspect.Parameter.empty:
        return {**made, "required": True}
    kind = ", a number or a range" if "metavar" in made else ""
    return {**made, "default": default, "help": f"{kind} (default: {shown})"}


def _real(within: Within) -> Callable[[str], float]:
    """Return the reader of a number."""
    if within == Within(0, 1):
        return opt.share

    def read(text: str) -> float:
        value = opt.number(text)
        if value not in within:
            fault = f"is below {within.low}" if value < within.low else f"is not a number {within}"
            raise argparse.ArgumentTypeError(f"{text} {fault}")
        return value

    return read
