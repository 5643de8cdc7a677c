"""Guards of the house: each rule is one test, which lists every offender with its file and line."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import pytest
from process_tools import python

import allocsolve
from allocsolve import report
from allocsolve.families import families

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: One process has them all: each file is parsed once.
pytestmark = pytest.mark.xdist_group("house")

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "allocsolve"
MODULES = sorted(PACKAGE.rglob("*.py"))
PAPERS = sorted((ROOT / "reproductions").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

#: A module holds one idea, in at most this many lines.
MOST_LINES = 700

#: Each room may import those before it.
ROOMS = (
    *("errors", "version", "kernels", "model", "families", "judge", "bounds", "simulation", "heuristics"),
    *("backends", "exact", "instances", "prediction", "pictures", "registry", "adaptors", "bench", "report"),
    *("figures", "testing", "cli"),
)
LINKS = ("exact", "heuristics", "instances", "bench")


class Import(NamedTuple):
    """What a module imports, wherever in the module."""

    name: str  #: in full
    line: int
    bound: str  #: what the module itself calls it, if the import stands outside of all blocks
    for_types: bool  #: only type checkers see it


class Said(NamedTuple):
    """A name, an attribute, an imported name or a text that is no docstring."""

    text: str
    line: int


class Source(NamedTuple):
    """What the rules ask about a file."""

    length: int  #: in lines
    imports: tuple[Import, ...]
    said: tuple[Said, ...]


@functools.cache
def _source(module: Path) -> Source:
    """Parse a file, once for all rules."""
    text = module.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = [*ast.walk(tree)]
    blocks = [node for node in nodes if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    for_types = {node for block in blocks for node in ast.walk(block)}
    prose = {node.value for node in nodes if isinstance(node, ast.Expr)}  # docstrings
    top = {*tree.body}
    imports: list[Import] = []
    said: list[Said] = []
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            package = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                bound = (alias.asname or alias.name) if node in top else ""
                imports.append(Import(package + alias.name, node.lineno, bound, node in for_types))
                if package:
                    said.append(Said(alias.name, node.lineno))
        elif isinstance(node, ast.Name):
            said.append(Said(node.id, node.lineno))
        elif isinstance(node, ast.Attribute):
            said.append(Said(node.attr, node.lineno))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            said.append(Said(node.value, node.lineno))
    return Source(len(text.splitlines()), tuple(imports), tuple(said))


def _room(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _place(module: Path, line: int) -> str:
    return f"{module.relative_to(ROOT)}:{line}"


def test_every_module_is_in_a_room() -> None:
    above = {"__init__", "__main__"}  # these stand above all rooms
    offenders = [str(module.relative_to(ROOT)) for module in MODULES if _room(module) not in {*ROOMS, *above}]
    assert not offenders, "\n".join(offenders)


def test_rooms_import_in_no_circle() -> None:
    edges = {name: set[str]() for name in map(_dotted, MODULES)}
    for module in MODULES:
        for one in _source(module).imports:
            target = one.name if one.name in edges else one.name.rpartition(".")[0]
            if target in edges and target != _dotted(module):
                edges[_dotted(module)].add(target)
    graphlib.TopologicalSorter(edges).prepare()  # raises CycleError with the circle


def _dotted(module: Path) -> str:
    parts = module.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


#: Where the code of one family lives, besides folders and modules that are named after one.
OF_A_FAMILY = (
    *(
        "kernels",
        "model",
        "backends",
        "bounds",
        "simulation",
        "heuristics",
        "exact",
        "prediction",
        "adaptors",
    ),
    *("instances/formats/logs", "instances/formats/networks", "instances/formats/simulators"),
    *("instances/generators", "instances/library/regenerate.py"),
    *("registry/allocators.py", "registry/place.py"),
    *("report/logs", "cli/whatif.py"),  # pages of logs
    "bench/library/design.py",  # which problems are in the library
    "pictures/notebook.py",  # which answers are tables
    "cli/create.py",  # one command per generator
    *("cli/network.py", "cli/parser_import.py", "cli/import_file.py"),
    *("cli/examples.py", "cli/old_names.py"),  # what people type
    # where partitions and reservations are those of Slurm
    *("cli/machine_options.py", "cli/when", "report/queues"),
)
KINDS = tuple(family.kind for family in families())
#: Words that only code of a family says.
FAMILY_WORDS = re.compile(
    r"(?i)evolution|partition|reservation|placement|expand_limit|topology|contiguous|makespan"
)


def _family(parts: Iterable[str]) -> str:
    """Return the family that a folder, a module or a name of these belongs to; empty if to none."""
    names = [part.lstrip("_").removesuffix(".py") for part in parts]
    return next((kind for name in names for kind in KINDS if re.match(rf"{kind}(_|$)", name)), "")


def _is_generic(module: Path) -> bool:
    """Whether a module must not know which families there are."""
    if module.parent == PACKAGE or module.name == "__init__.py":  # short names
        return False
    if module == PACKAGE / "families" / "table.py":  # the one table
        return False
    place = module.relative_to(PACKAGE)
    return not _family(place.parts[1:]) and not str(place).startswith(OF_A_FAMILY)


def test_generic_modules_name_no_family() -> None:
    others = {"partition", "disk_partitions"}  # the method of texts, and what psutil calls mounts
    offenders = [
        f"{_place(module, said.line)}: says {said.text!r}"
        for module in filter(_is_generic, MODULES)
        for said in _source(module).said
        if FAMILY_WORDS.search(said.text) and said.text not in others
    ]
    assert not offenders, "\n".join(offenders)


#: Machines of reservations are those of partitions: both are sets of nodes of a mesh.
ALLOWED = {("reservation", "partition")}


def test_families_know_nothing_of_one_another() -> None:
    offenders = []
    for module in MODULES:
        own = _family(module.relative_to(PACKAGE).parts[1:])
        for one in _source(module).imports:
            first, *parts = one.name.split(".")
            other = _family(parts[1:]) if first == "allocsolve" and parts[:1] != ["model"] else ""
            if own and other and other != own and (own, other) not in ALLOWED:
                offenders.append(f"{_place(module, one.line)}: imports {one.name}")
    assert not offenders, "\n".join(offenders)


def test_no_command_and_no_score_names_a_term() -> None:
    """What can be minimised is a value of its family; pages and windows of logs choose theirs."""
    names = {name for family in families() for name in family.term_names}
    chosen = ("report/logs", "bench/evaluation/windows.py")
    others = {"wait", "pairwise"}  # a method of processes, a function of itertools
    offenders = [
        f"{_place(module, said.line)}: says {said.text!r}"
        for module in MODULES
        if _room(module) in {"cli", "bench", "report"}
        and not str(module.relative_to(PACKAGE)).startswith(chosen)
        for said in _source(module).said
        if said.text in names - others
    ]
    assert not offenders, "\n".join(offenders)


def test_no_command_names_a_class_of_a_family() -> None:
    """Commands ask the value of the family, whatever problem and answer they have."""
    classes = {each.__name__ for family in families() for each in (family.problem, family.answer)}
    offenders = [
        f"{_place(module, said.line)}: names {said.text}"
        for module in filter(_is_generic, MODULES)
        if _room(module) == "cli"
        for said in _source(module).said
        if said.text in classes
    ]
    assert not offenders, "\n".join(offenders)


def test_models_judges_and_certificates_have_the_same_terms() -> None:
    model = importlib.import_module("allocsolve.model")
    for family in families():
        stated = getattr(model, f"{family.kind.upper()}_OBJECTIVES")
        assert stated == family.term_names
        assert {term for kind in family.rules.certificates for term in kind.terms} <= {*stated}


def test_no_module_is_longer_than_700_lines() -> None:
    offenders = [
        f"{module.relative_to(ROOT)}: {_source(module).length} lines"
        for module in [*MODULES, *PAPERS]
        if _source(module).length > MOST_LINES
    ]
    assert not offenders, "\n".join(offenders)


def _faults_of_functions(module: Path) -> Iterator[str]:
    """Yield what functions beside kernels may not do: the linter looks at neither in such modules."""
    functions = [node for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))) if _is_plain(node)]
    for one in functions:
        positional = one.args.posonlyargs + one.args.args
        flags = [each for each in positional if each.annotation and ast.unparse(each.annotation) == "bool"]
        branches = [node for node in ast.walk(one) if isinstance(node, _BRANCHES)]
        if len(positional) > 6 or flags or len(branches) >= 12:
            yield f"{_place(module, one.lineno)}: {one.name} has too many arguments or branches, or a flag"


_BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.match_case)


def _is_plain(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    """Whether this is a function that is not compiled."""
    return isinstance(node, ast.FunctionDef) and not any(
        ast.unparse(each).endswith("kernel") for each in node.decorator_list
    )


def test_functions_beside_kernels_are_as_short_as_others() -> None:
    kernels = [module for module in MODULES if "kernel\ndef " in module.read_text(encoding="utf-8")]
    assert kernels
    offenders = [fault for module in kernels for fault in _faults_of_functions(module)]
    assert not offenders, "\n".join(offenders)


def test_the_bench_offers_few_names() -> None:
    assert len(importlib.import_module("allocsolve.bench").__all__) <= 40


def test_root_links_show_the_rooms() -> None:
    for link in LINKS:
        assert (ROOT / link).readlink() == Path("allocsolve") / link
        assert (ROOT / link).is_dir()


def _rules_broken(module: Path, one: Import) -> Iterator[str]:
    """Yield the rules that an import of the package breaks."""
    first, *parts = one.name.split(".")
    room = _room(module)
    if first == "reproductions":
        yield "reproductions stand beside the package, in a checkout only"
    if module.name == "__init__.py" and one.name != "lazy_loader":
        yield "public names are listed in the stub, once, and loaded when they are used"
    if first != "allocsolve":
        return
    if room in ROOMS and not _MAY_IMPORT[room] & {*parts[:1]}:
        yield f"{room} may not import this room"
    if parts[:1] != [room] and any(part.startswith("_") for part in parts):
        yield "nothing private crosses rooms"


_MAY_IMPORT = {room: {*ROOMS[: ROOMS.index(room) + 1]} for room in ROOMS}
_MAY_IMPORT["instances"] -= {"heuristics", "exact", "bounds"}  # instances never import a solver
_MAY_IMPORT["judge"] = {"errors", "kernels", "model", "families", "judge"}  # no code of solvers


def test_imports_keep_the_rules() -> None:
    offenders = [
        f"{_place(module, one.line)}: imports {one.name}: {rule}"
        for module in MODULES
        for one in _source(module).imports
        for rule in _rules_broken(module, one)
    ]
    offenders += [
        f"{_place(module, one.line)}: imports {one.name}, a link"
        for module in [*MODULES, *TESTS]
        for one in _source(module).imports
        if one.name.split(".")[0] in LINKS
    ]
    assert not offenders, "\n".join(offenders)


def _faults_of_public_names(name: str) -> Iterator[str]:
    """Yield what is wrong with the public names of a package."""
    package = importlib.import_module(name)
    for public in package.__all__:
        thing = getattr(package, public, None)
        if thing is None:
            yield f"{name}: there is no {public}"
        elif not thing.__doc__ and (inspect.isclass(thing) or inspect.isfunction(thing)):
            yield f"{name}: {public} has no docstring"


def test_public_names_are_exactly_those_listed() -> None:
    names = ["allocsolve", *(f"allocsolve.{room}" for room in ROOMS if (PACKAGE / room).is_dir())]
    offenders = [fault for name in names for fault in _faults_of_public_names(name)]
    assert not offenders, "\n".join(offenders)


def test_light_imports_load_no_heavy_backend() -> None:
    imports = [f"from allocsolve{room} import *" for room in ("", ".heuristics", ".bounds")]
    before = "print('allocsolve.bench' in sys.modules)"
    code = "\n".join(
        ["import sys", *imports, before, "from allocsolve.bench import *", "print(*sys.modules)"]
    )
    bench, *loaded = python("-c", code)[0].split()
    assert bench == "False"
    assert {"whatif", "when"} <= {*dir(allocsolve)}
    assert (allocsolve.whatif, allocsolve.when) == (report.whatif, report.when)
    assert not {"ortools", "pulp", "matplotlib", "pandas"} & {*loaded}
