"""The documentation site: five pages, and a reference that is made from the docstrings at each build."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from importlib.metadata import version as version_of
from inspect import isclass, isroutine
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

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
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

html_theme = "furo"
html_title = f"allocsolve {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = html_show_sphinx = False
html_copy_source = False
pygments_style, pygments_dark_style = "friendly", "native"

#: Where the pages of the reference are written; git ignores it.
_REFERENCE = Path(__file__).with_name("reference")

#: Docstrings as they are before napoleon, by what they describe.
_plain: dict[str, list[str]] = {}

#: Rooms that are no library: the command line is documented in the pages.
_NOT_A_LIBRARY = {"cli"}


def rooms() -> list[str]:
    """Return the modules whose public names make up the reference, in the order of the file system."""
    found = (module.name for module in pkgutil.iter_modules(allocsolve.__path__))
    shown = (name for name in found if not name.startswith("_") and name not in _NOT_A_LIBRARY)
    return ["allocsolve", *(f"allocsolve.{name}" for name in shown)]


def _page(room: str) -> str:
    """Return the page of a room: its docstring, then every name of its ``__all__`` by its kind."""
    module = importlib.import_module(room)
    parts = [room, "=" * len(room), "", f".. automodule:: {room}", "   :no-members:", ""]
    if room == "allocsolve":  # all its names are taken from rooms
        parts += ["The names that most programs need can be imported from here:", ""]
        return "\n".join([*parts, *(f"* `{next(_homes(name))}`" for name in module.__all__), ""])
    for name in module.__all__:
        thing, home = getattr(module, name), f"{room}.{name}"
        if isclass(thing):
            parts += [f".. autoclass:: {home}", "   :members:", ""]
        elif isroutine(thing):
            parts += [f".. autofunction:: {home}", ""]
        else:
            parts += [f".. autodata:: {home}", "   :no-value:", ""]
    return "\n".join(parts)


def _homes(name: str) -> Iterator[str]:
    for room in rooms()[1:]:
        if name in importlib.import_module(room).__all__:
            yield f"{room}.{name}"


def _write_reference(_: Sphinx) -> None:
    _REFERENCE.mkdir(exist_ok=True)
    pages = {f"{room}.rst": _page(room) for room in rooms()}
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
    app.connect("autodoc-process-docstring", _describe, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", _keep_words, priority=600)
    app.connect("doctree-read", _trim)
    app.connect("missing-reference", _link)
    app.connect("build-finished", _write_schemas)
