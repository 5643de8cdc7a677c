"""Names of commands and options of version 0.2: they go on for one version, with a line on stderr."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence


def _setting(value: str) -> str | None:
    name, equals, set_to = value.partition("=")
    return f"--{name.replace('_', '-')} {set_to}" if equals else None


def _widths(value: str) -> str | None:
    return "--job-nodes {}" if "-" in value[1:] else None


#: What `whatif` compared beside what it was asked for.
_USUAL: Final = "fcfs,first-fit,easy,conservative"


def _orders(value: str) -> str:
    orders = [order.strip() for order in value.split(",")]
    asked = (f"easy(order={order})" for order in orders if order not in {"submit", "submission"})
    return ",".join(["--policy " + _USUAL, *asked])


def _estimates(value: str) -> str:
    return f"--policy {_USUAL}" + ",easy(estimate=actual)" * ("actual" in value)


#: By command, or by two words: old options, and what they are now; {} is the value, and an option without one
#: takes none. A function returns that for a value; None if the option with this value is not an old one.
_OPTIONS: Final[Mapping[str, Mapping[str, str | Callable[[str], str | None]]]] = {
    "solve": {"--set": _setting},
    "check": {
        "--set": _setting,
        "--proof": "--certificate {}",
        "--picture": "--plot {}",
        "--export": "--out {}",
    },
    "score": {"--set": _setting, "--answers": "--solution {}", "--retry-failed": "--rerun failed"},
    "whatif": {
        "--policies": "--policy {}",
        "--limits": _estimates,
        "--estimates": _estimates,
        "--order": _orders,
        "--prometheus": "--out {}",
    },
    "when": {"--new": "--job {}"},
    "evaluate": {"--logs": "--log {}", "--jobs": "--num-jobs {}", "--windows": "--count {}"},
    "place": {"--segment-level": "--segment ,{}"},
    "convert": {"--answer": "--solution {}"},
    "import": {
        "--jobs": "--num-jobs {}",
        "--cool-down": "--warm-up ,{}",
        "--segment-level": "--segment ,{}",
    },
    "study": {
        "--jobs": "-j {}",
        "--retry-failed": "--rerun failed",
        "--suites": "--suite {}",
        "--markdown": "--out {}",
    },
    "reproduce": {
        "--jobs": "-j {}",
        "--retry-failed": "--rerun failed",
        "--tests": "--count {}",
        "--seeds": "--count {}",
        "--length": "--num-jobs {}",
        "--shares": "--share {}",
        "--loads": "--load {}",
        "--logs": "--suite {}",
        "--traces": "--log {}",
        "--policies": "--policy {}",
        "--batches": "{}",
    },
    "library": {"--solver": "--solvers {}"},
    "generate": {
        "--apps": "--num-jobs {}",
        "--num-nodes": "--nodes {}",
        "--nodes": _widths,
        "--jobs": "--num-jobs {}",
        "--runtime": "--duration {}",
        "--peak": "--job-nodes {}",
        "--model": "--kind {}",
        "--stream": "--kind {}",
        "--from": "{}",
        "--shape": "--machine {}",
        "--torus": "--wrap all",
    },
    "generate median-worst-case": {"--step": "--distance ,{}"},
    "generate churn": {"--jobs": "--job-nodes {}", "--steps": "--num-jobs {}"},
}


class Translated(NamedTuple):
    """A command line without old names."""

    words: list[str]
    lines: list[str]  #: what is said of the names that were replaced
    #: What `convert` writes after it, as formats and files, and the words that give the window.
    exports: list[tuple[str, str]]
    window: list[str]


def translated(words: Sequence[str]) -> Translated:
    """Return a command line with the names of today."""
    left, lines = [*words], list[str]()
    if left[:1] == ["conformance"]:
        left[0] = "check"
        lines.append(_line("conformance", "check --claims"))
    if left[:1] == ["import"] and left[1:2] and not Path(left[1]).exists():
        left, lines = _without_format(left, lines)
    exports, window = list[tuple[str, str]](), list[str]()
    if left[:1] in (["solve"], ["check"]):
        left, exports, window = _exports(left, lines)
    known = {**_OPTIONS.get(" ".join(left[:1]), {}), **_OPTIONS.get(" ".join(left[:2]), {})}
    made = list[str]()
    rest = iter(left)
    for word in rest:
        name, equals, value = word.partition("=")
        new = known.get(name)
        if new is None:
            made.append(word)
            continue
        takes_value = callable(new) or "{}" in new
        if takes_value and not equals:
            value = next(rest, "")
        text = new(value) if callable(new) else new
        if text is None:
            made += [name, value]
            continue
        first, *others = (part.replace("{}", value) for part in text.split())
        if others and others[0].startswith(",") and first in made:  # the second value of an option
            made[made.index(first) + 1] += others[0]
        else:
            made += [first, *others]
        lines.append(_line(name, text.replace("{}", "").strip() or "the argument FILE"))
    return Translated(made, lines, exports, window)


def _line(old: str, new: str) -> str:
    return f"{old} is now {new.replace(' ,', ' S,T')}; the old name goes with version 0.4"


def _without_format(words: list[str], lines: list[str]) -> tuple[list[str], list[str]]:
    """Return a command `import` that does not begin with a format."""
    from allocsolve.instances import LOG_FORMATS  # noqa: PLC0415 - for one command

    name, others = words[1], words[2:]
    if name == "topology":
        return ["import", *others], [*lines, _line("import topology", "import FILE --size K")]
    if name in LOG_FORMATS:
        line = _line(f"import {name}", f"import FILE, with --format {name} where its first lines do not tell")
        return ["import", "--format", name, *others], [*lines, line]
    return words, lines


def _exports(words: list[str], lines: list[str]) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """Return `solve` or `check` without what `convert` writes; that by format; and its window."""
    from allocsolve.cli.convert import known_exports  # noqa: PLC0415 - for two commands

    exports = known_exports() if any(word.startswith("--") for word in words) else {}
    kept, asked, window = list[str](), list[tuple[str, str]](), list[str]()
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name == "--window":
            window = [name, value if equals else next(rest, "")]
        elif name.startswith("--") and name[2:] in exports:
            asked.append((name[2:], value if equals else next(rest, "")))
            lines.append(_line(name, f"allocsolve convert --format {name[2:]} --solution SOLUTION"))
        else:
            kept.append(word)
    return (kept, asked, window) if asked else (words, [], [])


def conversions(args: argparse.Namespace, made: Translated) -> list[list[str]]:
    """Return the commands that write what `solve` or `check` wrote; `solve` keeps its solution for them."""
    if made.exports and not hasattr(args, "solution") and args.out is None:
        args.out = Path(tempfile.mkdtemp(), "solution.json")
    solution = str(getattr(args, "solution", None) or getattr(args, "out", ""))
    more = [*made.window, *(["--force"] if args.force else [])] if made.exports else []
    return [
        ["convert", args.file, to, "--solution", solution, "--format", name, *more]
        for name, to in made.exports
    ]
