"""The documentation site: its pages, and a reference by task, made from the docstrings at each build."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import runpy
import shutil
import sys
import tomllib
from collections import defaultdict
from functools import cache
from importlib.metadata import version as version_of
from inspect import cleandoc, isclass, isroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import allocsolve
from allocsolve.cli.schema import schema_text, schemas

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from docutils.nodes import Element, document
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "allocsolve"
author = "the allocsolve authors"
release = version = version_of("allocsolve")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",  # the source of each public name, as a page beside the others
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "certificates"]
default_role = "py:obj"
nitpicky = True
# Types of other packages are not linked: that would need the network at each build.
nitpick_ignore_regex = [("py:.*", r"(?!allocsolve\b).*")]

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False

myst_heading_anchors = 3

# Notebooks are executed at each build; what raises in one, or warns, fails it.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # seconds of a cell: the first call of a solver compiles its kernels
nb_output_stderr = "error"
nb_merge_streams = True

# A button copies what is typed: without prompts, and without what commands print.
copybutton_prompt_text = r">>> |\.\.\. |\$ |> "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"allocsolve {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = html_show_sphinx = False
html_copy_source = False
pygments_style, pygments_dark_style = "friendly", "native"

#: Draws the pictures of the pages, and makes the example pages that they link to.
_PICTURES = Path(__file__).with_name("page_pictures.py")

#: Where the pages of the reference are written; git ignores it.
_REFERENCE = Path(__file__).with_name("reference")

#: Its pages, and which public names belong to each.
TASKS: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("tasks.toml").read_text(encoding="utf-8")
)["task"]

#: Docstrings as they are before napoleon, by what they describe.
_plain: dict[str, list[str]] = {}

#: Rooms that are no library: the command line is documented in the pages.
_NOT_A_LIBRARY = {"cli"}


def rooms() -> list[str]:
    """Return the modules whose public names make up the reference, in the order of the file system."""
    found = (module.name for module in pkgutil.iter_modules(allocsolve.__path__))
    shown = (name for name in found if not name.startswith("_") and name not in _NOT_A_LIBRARY)
    return ["allocsolve", *(f"allocsolve.{name}" for name in shown)]


def homes() -> dict[str, str]:
    """Return every public name with its room, and from where in the room it is, as `tasks.toml` writes it."""
    return {
        f"{room}.{name}": f"{room.partition('.')[2]}:{_origins(room).get(name, '')}.{name}"
        for room in rooms()[1:]
        for name in importlib.import_module(room).__all__
    }


@cache
def _origins(room: str) -> dict[str, str]:
    """Return the module in a room from which it takes each public name, as its stub says."""
    stub = Path(str(importlib.import_module(room).__file__)).with_name("__init__.pyi")
    if not hasattr(importlib.import_module(room), "__path__") or not stub.exists():
        return {}
    taken = (
        node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)
    )
    return {name.asname or name.name: node.module or "" for node in taken for name in node.names}


def by_task() -> dict[tuple[str, str], list[str]]:
    """Return the public names of each part of each page of the reference.

    Raises
    ------
    KeyError
        If no part takes a name.
    """
    parts = {
        source: (task["page"], heading)
        for task in TASKS
        for heading, sources in task["parts"].items()
        for source in sources
    }
    taken: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, home in homes().items():
        fitting = [source for source in parts if home.startswith(source if ":" in source else f"{source}:")]
        if not fitting:
            msg = f"no part of tasks.toml takes {name}, which is from {home}"
            raise KeyError(msg)
        taken[parts[max(fitting, key=len)]].append(name)
    return taken


def _page(task: dict[str, Any], names: dict[tuple[str, str], list[str]]) -> str:
    """Return the page of a task: its names by part, each described by its kind."""
    lines = [*_title(task["title"]), task["about"], ""]
    lines += _summary([name for heading in task["parts"] for name in names[task["page"], heading]])
    for heading in task["parts"]:
        lines += [heading, "-" * len(heading), ""]
        for name in names[task["page"], heading]:
            thing = _thing(name)
            lines += [f".. currentmodule:: {name.rpartition('.')[0]}", ""]
            if isclass(thing):
                lines += [f".. autoclass:: {name}", "   :members:", ""]
            elif isroutine(thing):
                lines += [f".. autofunction:: {name}", ""]
            else:
                lines += [f".. autodata:: {name}", "   :no-value:", ""]
    return "\n".join(lines)


def _summary(names: list[str]) -> list[str]:
    """Return a table of public names, each with the first sentence of its description."""
    lines = [".. list-table::", "   :class: summary", ""]
    for name in names:
        lines += [f"   * - :py:obj:`~{name}`", f"     - {_first_sentence(name)}"]
    return [*lines, ""]


def _first_sentence(name: str) -> str:
    """Return the summary of a public name: of its docstring or comment, else its value or its type."""
    room, _dot, bare = name.rpartition(".")
    thing = _thing(name)
    if isclass(thing) or isroutine(thing):
        return cleandoc(thing.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    if comments := _comments(_source(sys.modules[room], bare), bare):
        return " ".join(comments).split(". ")[0]
    return f"``{thing!r}``" if isinstance(thing, int | str | tuple) else f"`{type(thing).__name__}`"


def _thing(name: str) -> object:
    """Return what a public name stands for; a module below its room may be called like it."""
    room, _dot, bare = name.rpartition(".")
    return getattr(importlib.import_module(room), bare)


def _title(title: str) -> list[str]:
    return [title, "=" * len(title), ""]


def _contents() -> str:
    """Return the page that leads to all tasks, and has the names that can be imported from the package."""
    lines = [*_title("Python reference"), ""]
    lines += [f"* :doc:`{task['title']} <{task['page']}>`: {task['about']}" for task in TASKS]
    lines += [
        "",
        "All public names are imported from the package or module that a page shows before them.",
        "Those that most programs need can be imported from ``allocsolve`` itself:",
        "",
    ]
    known = homes()
    for name in importlib.import_module("allocsolve").__all__:
        home = next((full for full in known if full.rpartition(".")[2] == name), f"allocsolve.{name}")
        lines.append(f"* `{home}`")
    lines += ["", ":doc:`modules` says what each package is for.", "", ".. toctree::", "   :hidden:", ""]
    return "\n".join([*lines, *(f"   {task['page']}" for task in TASKS), "   modules", ""])


def _modules() -> str:
    """Return the page with the docstring of each room."""
    lines = _title("Packages and modules")
    for room in rooms():
        lines += [room, "-" * len(room), "", f".. automodule:: {room}", "   :no-members:", ""]
    return "\n".join(lines)


def _draw_pictures(_: Sphinx) -> None:
    """Draw the pictures of the pages before they are read."""
    runpy.run_path(str(_PICTURES), run_name="__main__")


def _write_examples(app: Sphinx, fault: Exception | None) -> None:
    """Write the example pages, of `whatif` and of a study, beside the pages that show pictures of them."""
    if fault is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "examples"
    folder.mkdir(exist_ok=True)
    for page in _PICTURES.with_name("pictures").glob("*.html"):
        shutil.copy(page, folder)


def _write_reference(_: Sphinx) -> None:
    _REFERENCE.mkdir(exist_ok=True)
    names = by_task()
    pages = {f"{task['page']}.rst": _page(task, names) for task in TASKS}
    pages |= {"index.rst": _contents(), "modules.rst": _modules()}
    for stale in {path.name for path in _REFERENCE.glob("*.rst")} - pages.keys():
        (_REFERENCE / stale).unlink()
    for name, text in pages.items():
        path = _REFERENCE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _source(module: ModuleType, name: str) -> ModuleType:
    """Return the module that defines a public value: the values of rooms are taken from modules below."""
    below = (part for key, part in sys.modules.items() if key.startswith(f"{module.__name__}."))
    value = getattr(module, name)
    holders = [part for part in below if getattr(part, name, None) is value]
    return next((part for part in holders if _comments(part, name)), module)


def _comments(module: ModuleType, name: str) -> list[str]:
    """Return the lines of the ``#:`` comment on a value, where it is assigned."""
    from sphinx.pycode import ModuleAnalyzer  # noqa: PLC0415 - Sphinx calls this

    return ModuleAnalyzer.for_module(module.__name__).find_attr_docs().get(("", name), [])


def _describe(_: Sphinx, what: str, path: str, __: object, ___: object, lines: list[str]) -> None:
    """Describe a value by the ``#:`` comment where it is defined; Python keeps no docstring of it."""
    if what == "data":
        room, _dot, name = path.rpartition(".")
        lines[:] = _comments(_source(sys.modules[room], name), name)
    _plain[path] = [*lines]


def _keep_words(_: Sphinx, what: str, path: str, __: object, ___: object, lines: list[str]) -> None:
    """Undo what napoleon does to values: it takes "words" for the type in "words: more words"."""
    plain = _plain.pop(path)
    if what in ("data", "attribute", "property"):
        lines[:] = plain


def _link(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: Element) -> Element | None:
    """Link public names that are used without their room; leave alone what exists but is not public."""
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    places = [place for room in rooms()[1:] for place in _places(room, target)]
    python: Any = env.get_domain("py")
    if len(places) == 1 and places[0] in python.objects:
        return python.resolve_xref(env, node["refdoc"], app.builder, "obj", places[0], node, text)
    return text if target.startswith("allocsolve") and _exists(target) else None


def _places(room: str, target: str) -> Iterator[str]:
    """Yield where a target such as ``Result`` or ``allocsolve.model.result.Result`` may be described."""
    parts = target.split(".")
    if parts[0] == "allocsolve":
        parts = parts[-1:] if target.startswith(f"{room}.") else []
    if parts and parts[0] in importlib.import_module(room).__all__:
        yield ".".join([room, *parts])


def _exists(target: str) -> bool:
    try:
        pkgutil.resolve_name(target)
    except (ImportError, AttributeError):
        return False
    return True


def _write_schemas(app: Sphinx, fault: Exception | None) -> None:
    """Write the JSON Schema of each kind of file beside the pages, where editors find it."""
    if fault is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "schema"
    folder.mkdir(exist_ok=True)
    for kind, schema in schemas().items():
        (folder / f"{kind}.schema.json").write_text(schema_text(schema), encoding="utf-8")


def _trim(_: Sphinx, page: document) -> None:
    """Drop the empty line by which a doctest in Markdown ends."""
    from docutils.nodes import Text, literal_block  # noqa: PLC0415 - Sphinx calls this

    for block in page.findall(literal_block):
        block.rawsource = block.astext().rstrip()
        block[:] = [Text(block.rawsource)]


def setup(app: Sphinx) -> None:
    """Connect what Sphinx calls."""
    app.connect("builder-inited", _write_reference)
    app.connect("builder-inited", _draw_pictures)
    app.connect("autodoc-process-docstring", _describe, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", _keep_words, priority=600)
    app.connect("doctree-read", _trim)
    app.connect("missing-reference", _link)
    app.connect("build-finished", _write_schemas)
    app.connect("build-finished", _write_examples)
