"""The identity of the code of a solver: a record that other code has made is not taken for its own."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import inspect
import sys
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.registry.table import plugin_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

_OWN: Final = "allocsolve"
#: How names of files end that hold code, compiled or not.
_SUFFIXES: Final = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)


class _Source(NamedTuple):
    """The source that a module belongs to."""

    version: str  #: of its distribution; empty if it is not installed
    digest: str  #: empty if there is no source


def code_of(solver: Any, name: str = "") -> str:  # noqa: ANN401 - a solver is whatever is called like one
    """Return what code a solver is: ``module:QualifiedName@version#digest``.

    The digest is that of all Python files and compiled extensions of the distribution of the module. Of a
    module that is not installed, or installed as a link to its sources, it is that of its top-level package,
    or of the single file with the modules beside it that it imports; then there is no version. Classes that
    the class of the solver inherits from count, too. What is imported by computed names, and data files, do
    not count.

    Parameters
    ----------
    name
        The name that it was made by, if any. A plug-in is called what this name stands for, whatever its
        class says of itself.

    Examples
    --------
    >>> from allocsolve.heuristics import Growth
    >>> code_of(Growth()).partition("@")[0]
    'allocsolve.heuristics.partition.growth:Growth'
    """
    made = solver if inspect.isroutine(solver) else type(solver)
    place = (plugin_place(name) if name else "") or f"{made.__module__}:{made.__qualname__}"
    module = place.partition(":")[0]
    modules = dict.fromkeys([module, *_modules(solver)])
    sources = {module: source for module in modules if (source := _source(module, made)).digest}
    version = sources[module].version if module in sources else ""
    digests = dict.fromkeys(source.digest for source in sources.values())
    digest = next(iter(digests), "") if len(digests) < 2 else _hash(sorted(digests))
    return place + (f"@{version}" if version else "") + (f"#{digest}" if digest else "")


def _modules(solver: Any) -> Iterator[str]:  # noqa: ANN401 - as `code_of`
    """Yield the names of the modules that a solver is made of, but those of the standard library.

    Those of its policy are among them, if it runs one.
    """
    classes = [] if inspect.isroutine(solver) else [*type(solver).__mro__]
    policy = getattr(solver, "policy", None)
    kind = policy if inspect.isroutine(policy) or isinstance(policy, type) else type(policy)
    classes += getattr(kind, "__mro__", [kind])
    call = inspect.unwrap(solver if inspect.isroutine(solver) else type(solver).__call__)
    # The second is where the function really is from, whatever it says.
    named = [call.__module__, getattr(call, "__globals__", {}).get("__name__")]
    for module in (*(holder.__module__ for holder in classes), *named):
        if module == "__main__" or (module and module.partition(".")[0] not in sys.stdlib_module_names):
            yield module


#: Of modules, as they are loaded now: one that is loaded again has another spec.
_sources: dict[str, tuple[object, _Source]] = {}


def _source(name: str, made: Any) -> _Source:  # noqa: ANN401 - a class or a function
    if name.partition(".")[0] == _OWN:
        return _own_source()
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if name not in _sources or _sources[name][0] is not spec or spec is None:
        _sources[name] = spec, _read(name, module) if module else _Source("", "")
    source = _sources[name][1]
    if not source.digest and made.__module__ == name:  # as in a notebook: there is the text of the cell only
        with suppress(OSError, TypeError):
            source = _Source("", _hash([inspect.getsource(made)]))
    return source


@functools.cache
def _own_source() -> _Source:
    """Return that of this package; its files do not change while it runs."""
    folder = Path(__file__).parents[1]
    return _Source(importlib.metadata.version(_OWN), _digest(folder.rglob("*.py"), folder))


def _read(name: str, module: ModuleType) -> _Source:
    file = getattr(module, "__file__", None)
    if file is None:
        return _Source("", "")
    path = Path(file).absolute()
    package = hasattr(module, "__path__")
    above = path.parents
    root = above[min(name.count(".") + package, len(above) - 1)]
    distribution = _distribution(root, path.relative_to(root).as_posix())
    if distribution is not None:
        files = [Path(str(distribution.locate_file(file))) for file in distribution.files or ()]
        return _Source(distribution.version, _digest(filter(_is_code, files), root))
    if path.parent != root:
        return _Source("", _digest(_code_below(root / path.relative_to(root).parts[0]), root))
    return _Source("", _digest(_with_neighbours(path, root), root))


def _distribution(root: Path, file: str) -> importlib.metadata.Distribution | None:
    """Return the distribution that has installed a file into a folder."""
    line = f"\n{file},"
    for distribution in importlib.metadata.distributions(path=[str(root)]):
        if line in f"\n{distribution.read_text('RECORD') or ''}":
            return distribution
    return None


def _is_code(path: Path) -> bool:
    return path.name.endswith(_SUFFIXES)


def _code_below(folder: Path) -> Iterator[Path]:
    return filter(_is_code, folder.rglob("*"))


def _with_neighbours(path: Path, root: Path) -> set[Path]:
    """Return a file and those beside it that it imports, directly or not; of packages, all of their files."""
    files, todo = {path}, [path]
    # Where distributions are installed, what lies beside is theirs.
    while todo and next(root.glob("*.dist-info"), None) is None:
        for name in _imported(todo.pop()):
            module = root / f"{name}.py"
            if module.is_file() and module not in files:
                files.add(module)
                todo.append(module)
            files.update(file for file in root.glob(f"{name}.*") if _is_code(file))
            if (root / name).is_dir():
                files.update(_code_below(root / name))
    return files


def _imported(path: Path) -> set[str]:
    """Return the top-level names that a file imports, as its text shows."""
    try:
        nodes = [*ast.walk(ast.parse(path.read_bytes()))]
    except (OSError, SyntaxError, ValueError, RecursionError):  # a compiled extension, or no Python
        return set()
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level
    }
    return {name.partition(".")[0] for name in names}


def _digest(files: Iterable[Path], root: Path) -> str:
    pieces: list[str | bytes] = []
    for path in sorted(files):
        with suppress(OSError):  # a folder of such a name, or deleted meanwhile
            pieces += [path.relative_to(root).as_posix(), path.read_bytes()]
    return _hash(pieces)


def _hash(pieces: Iterable[str | bytes]) -> str:
    """Return a digest of pieces, each with its length."""
    whole = hashlib.blake2b(digest_size=8)
    for piece in pieces:
        data = piece.encode(errors="surrogateescape") if isinstance(piece, str) else piece
        whole.update(b"%d:" % len(data) + data)
    return whole.hexdigest()
