"""Guards of the house: rooms, links, imports, public names."""

from __future__ import annotations

import ast
import graphlib
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import allocsolve

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "allocsolve"
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Each room may import those before it.
ROOMS = (
    "errors",
    "kernels",
    "model",
    "families",
    "judge",
    "bounds",
    "simulation",
    "heuristics",
    "backends",
    "exact",
    "instances",
    "pictures",
    "registry",
    "adaptors",
    "bench",
    "report",
    "papers",
    "testing",
    "cli",
)
LINKS = ("exact", "heuristics", "instances", "bench")


def _imported(module: Path, *, typing_too: bool = True) -> set[str]:
    """Full names of what a module imports, wherever in the module; or without what only type checkers see."""
    names = set()
    tree = ast.parse(module.read_text(encoding="utf-8"))
    blocks = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ]
    typing = {id(node) for block in blocks for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in typing and not typing_too:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _room(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(ROOT)))
def test_imports_run_one_way(module: Path) -> None:
    room = _room(module)
    if room not in ROOMS:  # __init__ and __main__ stand above all rooms
        return
    allowed = {*ROOMS[: ROOMS.index(room) + 1]}
    if room == "instances":
        allowed -= {"heuristics", "exact", "bounds"}  # instances never import a solver
    for name in _imported(module):
        if name.startswith("allocsolve."):
            assert name.split(".")[1] in allowed, f"{room} imports {name}"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(ROOT)))
def test_nothing_private_crosses_rooms(module: Path) -> None:
    for name in _imported(module):
        parts = name.split(".")
        if parts[0] == "allocsolve" and parts[1] != _room(module):
            assert not any(part.startswith("_") for part in parts[1:]), f"{module} imports {name}"


def test_rooms_import_in_no_circle() -> None:
    edges = {name: set[str]() for name in map(_dotted, MODULES)}
    for module in MODULES:
        for name in _imported(module, typing_too=False):
            target = name if name in edges else name.rpartition(".")[0]
            if target in edges and target != _dotted(module):
                edges[_dotted(module)].add(target)
    graphlib.TopologicalSorter(edges).prepare()  # raises CycleError with the circle


def _dotted(module: Path) -> str:
    parts = module.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


#: Where the code of one family or paper lives: folders, modules.
OF_A_FAMILY = (
    *("kernels", "model", "backends", "bounds", "simulation", "heuristics", "exact", "adaptors", "papers"),
    *(
        "judge/evolution",
        "judge/_kernels_evolution",
        "judge/partition",
        "judge/workload",
        "judge/reservation",
    ),
    *("pictures/evolution.py", "pictures/partition.py", "pictures/workload", "pictures/reservation"),
    *("instances/formats/evolution", "instances/formats/partition", "instances/formats/workload"),
    *("instances/formats/swf.py", "instances/formats/sacct.py", "instances/formats/log"),
    *("instances/formats/reservation.py", "instances/formats/topology.py"),
    *("pictures/_workload", "pictures/_reservation", "pictures/_mesh.py"),
    *("instances/generators", "instances/library/regenerate.py", "adaptors"),
    *("registry/evolution.py", "registry/partition.py", "registry/workload.py"),
    *("registry/reservation.py", "registry/allocators.py"),
    *("bench/library/design.py", "bench/library/selections.py"),  # which problems are in the library
    *("cli/create.py", "cli/parser_generate.py"),  # one command per generator
    *("cli/reproduce_", "cli/parser_reproduce.py"),  # one command per paper
)
#: Words that only code of a family says.
FAMILY_WORDS = re.compile(r"(?i)evolution|partition|reservation|expand_limit|topology|contiguous|makespan")


@pytest.mark.parametrize(
    "module",
    [m for m in MODULES if not any(str(m.relative_to(PACKAGE)).startswith(part) for part in OF_A_FAMILY)],
    ids=lambda m: str(m.relative_to(ROOT)),
)
def test_generic_modules_name_no_family(module: Path) -> None:
    if module.parent == PACKAGE:  # the short names of the package
        return
    tree = ast.parse(module.read_text(encoding="utf-8"))
    said = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    said |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    said -= {"partition", "disk_partitions"}  # the method of texts, and what psutil calls mounts
    said |= {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    texts = [
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    said |= {str(node.value) for node in texts if id(node) not in prose}
    if module.name != "__init__.py" and module != PACKAGE / "families" / "table.py":  # the one table
        assert not {word for word in said if FAMILY_WORDS.search(word)}


def test_the_judge_shares_no_code_with_solvers() -> None:
    for module in (PACKAGE / "judge").glob("*.py"):
        rooms = {name.split(".")[1] for name in _imported(module) if name.startswith("allocsolve.")}
        assert rooms <= {"errors", "kernels", "model", "families", "judge"}


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(ROOT)))
def test_no_module_is_longer_than_400_lines(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= 400


def test_the_bench_offers_few_names() -> None:
    assert len(importlib.import_module("allocsolve.bench").__all__) <= 40


@pytest.mark.parametrize("link", LINKS)
def test_root_links_show_the_rooms(link: str) -> None:
    path = ROOT / link
    assert path.is_symlink()
    assert path.readlink() == Path("allocsolve") / link
    assert path.is_dir()


def test_nothing_imports_the_links() -> None:
    for module in [*MODULES, *(ROOT / "tests").rglob("*.py")]:
        assert not {name for name in _imported(module) if name.split(".")[0] in LINKS}, module


def test_the_wheel_holds_the_package_only() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert config["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["allocsolve"]
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.parametrize(
    "name", ["allocsolve", *(f"allocsolve.{room}" for room in ROOMS if (PACKAGE / room).is_dir())]
)
def test_public_names_are_exactly_those_listed(name: str) -> None:
    package = importlib.import_module(name)
    assert len(set(package.__all__)) == len(package.__all__)
    for public in package.__all__:
        thing = getattr(package, public)
        assert thing.__doc__ or not (inspect.isclass(thing) or inspect.isfunction(thing)), public
    source = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    taken = {
        alias.asname or alias.name
        for node in source.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("allocsolve")
        for alias in node.names
    }
    assert taken <= set(package.__all__)


@pytest.mark.parametrize(
    "module", ["allocsolve", "allocsolve.heuristics", "allocsolve.bounds", "allocsolve.bench"]
)
def test_light_imports_load_no_heavy_backend(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"ortools", "pulp", "matplotlib", "pandas"}
    if module != "allocsolve.bench":
        heavy |= {"allocsolve.bench"}
    assert not heavy & set(loaded.stdout.split())


def test_the_version_is_that_of_the_project() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert allocsolve.__version__ == config["project"]["version"]
    assert f"[{allocsolve.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {allocsolve.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
