"""How many faults its tests see: an operator, a comparison or a number of the package is another one.

    PYTHONPATH=. python tests/planted_faults.py [-n FAULTS] [--seed SEED] [--files FILES] MODULES...

`MODULES` are files or folders of the package; without any, all solvers, the judge and the engine. Each fault
is planted by itself in a copy of the checkout. Then tests of the shortest tier run, file by file, at most
`FILES`: those that say most of what the module defines. Kernels are interpreted, so nothing is compiled. A
fault is caught if a file fails that passes without it, or takes several times as long.
"""

from __future__ import annotations

import argparse
import ast
import collections
import functools
import itertools
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT: Final = Path(__file__).resolve().parents[1]
ROOMS: Final = ("bounds", "exact", "heuristics", "judge", "simulation")
_TESTS: Final = ("tests/laws", "tests/unit", "tests/conformance")
_OTHERS: Final = {"<": "<=", ">": ">=", "==": "!=", "+": "-", "*": "//", "and": "or", "min": "max"}
_OTHER: Final = _OTHERS | {after: before for before, after in _OTHERS.items()}
#: Most seconds of CPU of a test file without a fault, and with one: times as many, and some more.
_MOST_S, _SLACK, _SPARE_S = 10.0, 3, 5


class Fault(NamedTuple):
    """A piece of one line of a module, and what it is to be instead; columns count bytes."""

    module: str
    line: int
    column: int
    before: str
    after: str

    def planted(self, source: str) -> str:
        """Return the text of the module with the fault."""
        lines = source.encode().splitlines(keepends=True)
        text, end = lines[self.line - 1], self.column + len(self.before)
        lines[self.line - 1] = text[: self.column] + self.after.encode() + text[end:]
        return b"".join(lines).decode()


def _operands(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Return the neighbours of each operator of a node."""
    match node:
        case ast.Compare(left=left, comparators=others):
            return [*zip([left, *others], others, strict=False)]
        case ast.BinOp(left=left, right=right):
            return [(left, right)]
        case ast.BoolOp(values=values):
            return [*itertools.pairwise(values)]
    return []


def _inside(module: str, node: ast.AST, lines: Sequence[bytes]) -> Iterator[Fault]:
    """Yield the faults of a statement, but for types and messages; functions within it come by themselves."""
    if isinstance(node, ast.FunctionDef | ast.Raise | ast.JoinedStr):
        return
    for left, right in _operands(node):
        begin = left.end_col_offset or 0
        gap = lines[right.lineno - 1][begin : right.col_offset].decode()
        before = gap.strip(" ()")
        if left.end_lineno == right.lineno and before in _OTHER:
            yield Fault(module, right.lineno, begin + gap.index(before), before, _OTHER[before])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        yield Fault(module, node.lineno, node.col_offset, node.func.id, _OTHER[node.func.id])
    if isinstance(node, ast.Constant) and isinstance(node.value, int):  # a bool is one, too
        before = str(node.value)
        after = str(not node.value) if before in ("True", "False") else str(node.value + 1)
        if node.end_col_offset == node.col_offset + len(before):
            yield Fault(module, node.lineno, node.col_offset, before, after)
    annotation = getattr(node, "annotation", None)
    for part in ast.iter_child_nodes(node):
        if part is not annotation:
            yield from _inside(module, part, lines)


def faults_of(module: str) -> Iterator[Fault]:
    """Yield all faults that can be planted in the functions of a module."""
    source = _text(module)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from _inside(module, statement, source.encode().splitlines())


def _modules(places: Sequence[str]) -> list[str]:
    """Return the modules in these files and folders of the package, by their paths from the root."""
    paths = [ROOT / place for place in places] or [ROOT / "allocsolve" / room for room in ROOMS]
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return [file.relative_to(ROOT).as_posix() for file in files]


@functools.cache
def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@functools.cache
def _words(path: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", _text(path)))


@functools.cache
def _defined(module: str) -> frozenset[str]:
    return frozenset(re.findall(r"^(?:def|class) (\w{4,})", _text(module), re.MULTILINE))


@functools.cache
def tests_of(module: str, most: int) -> list[str]:
    """Return the test files that say most, less common names before, of what it and its users define."""
    weight = dict.fromkeys([Path(module).stem, *_defined(module)], 8.0)
    near = {module}
    for count in (2.0, 0.5):
        dotted = "|".join(each.removesuffix(".py").replace("/", r"\.") for each in near)
        near = {each for each in _modules([]) if re.search(rf"\bfrom (?:{dotted}) import", _text(each))}
        weight |= {name: count for each in near for name in _defined(each) if name not in weight}
    files = [file for file in _modules(_TESTS) if "/test_" in file]
    common = collections.Counter(name for file in files for name in _words(file))
    said = {file: weight.keys() & _words(file) for file in files}
    score = {file: sum(weight[name] / common[name] for name in names) for file, names in said.items()}
    return sorted((file for file in files if said[file]), key=lambda file: -score[file])[:most]


class Copy:
    def __init__(self, folder: str) -> None:
        self.root = Path(folder) / "checkout"
        left = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", ".hypothesis")
        shutil.copytree(ROOT, self.root, ignore=left, symlinks=True)
        self._seconds: dict[str, float | None] = {}

    def _passes(self, file: str, most_s: float) -> tuple[bool, float]:
        """Return whether the tests of a file pass, and their seconds of CPU."""
        words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tier", "fast", file]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(self.root)},
            capture_output=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(most_s), int(most_s) + 1)),
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        passes = done.returncode in (0, 5)  # 5: none of its tests is in the tier
        return passes, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def catches(self, fault: Fault, most: int) -> str | None:
        """Return the first test file that catches a fault; None if none does."""
        target, source = self.root / fault.module, _text(fault.module)
        for file in tests_of(fault.module, most):
            if file not in self._seconds:
                passes, seconds = self._passes(file, _MOST_S)
                self._seconds[file] = seconds if passes else None
            without = self._seconds[file]
            if without is not None:
                target.write_text(fault.planted(source), encoding="utf-8")
                passes, _ = self._passes(file, _SLACK * without + _SPARE_S)
                target.write_text(source, encoding="utf-8")
                if not passes:
                    return file
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*")
    for name, number in (("-n", 200), ("--seed", 0), ("--files", 8)):
        parser.add_argument(name, type=int, default=number)
    options = parser.parse_args()
    every = [fault for module in _modules(options.modules) for fault in faults_of(module)]
    chosen = random.Random(options.seed).sample(every, min(options.n, len(every)))
    seen = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(folder)
        for fault in chosen:
            by = copy.catches(fault, options.files)
            seen += by is not None
            sys.stdout.write(f"{' '.join(map(str, fault))} {by or 'not caught'}\n")
            sys.stdout.flush()
    sys.stdout.write(f"caught {seen} of {len(chosen)}\n")


if __name__ == "__main__":
    main()
