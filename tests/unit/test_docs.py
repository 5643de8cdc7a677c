"""The documentation: the site builds without a warning, its commands and files do what it shows."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from console_tools import matches

from allocsolve.bench import Record
from allocsolve.cli.schema import schema_text, schemas

DOCS = Path(__file__).resolve().parents[2] / "docs"

#: A block of a page: its language or directive, and what it holds, options included.
BLOCK = re.compile(r"^```(\S[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = {"allocsolve": [sys.executable, "-m", "allocsolve"], "python": [sys.executable], "sed": ["sed"]}


def _with_console() -> list[str]:
    return [
        page.stem for page in sorted(DOCS.glob("*.md")) if "```console" in page.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("page", _with_console())
def test_commands_print_what_a_page_shows(page: str, tmp_path: Path) -> None:
    for language, text in BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        if caption := re.match(r":caption: (\S+)\n+", text):
            file = tmp_path / caption[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text[caption.end() :], encoding="utf-8")
        if language != "console":
            continue
        lines = text.replace("\\\n> ", "")
        for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", lines, re.MULTILINE):
            program, *args = shlex.split(command)
            done = subprocess.run(
                [*PROGRAMS[program], *args],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                check=False,
            )
            printed = done.stdout + (f"[exit status {done.returncode}]\n" if done.returncode else "")
            assert matches(shown, printed), f"{page}.md: $ {command}\n{printed}"
            _loosen(tmp_path)


def _loosen(folder: Path) -> None:
    """Have baselines of the gate pass at any speed: a busy machine fails no test."""
    for path in folder.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"time_factor": 1.5', '"time_factor": 1e6'), encoding="utf-8")


@pytest.mark.parametrize(
    ("shown", "printed", "same"), [("a\n...\nb 3 ms", "a\nc\nd\nb  12 us", True), ("5 s", "6 s", False)]
)
def test_only_times_and_widths_may_differ(shown: str, printed: str, *, same: bool) -> None:
    assert matches(shown, printed) is same


def test_every_field_of_a_record_is_described() -> None:
    page = (DOCS / "formats.md").read_text(encoding="utf-8")
    described = re.findall(r"`(\w+)`", page[page.index("| field of a record") :])
    assert {field.name for field in fields(Record)} <= set(described)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site from a copy, warnings being errors."""
    for needed in ("sphinx", "myst_nb", "furo"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("_build", "reference"))
    (folder / "tests").mkdir()
    shutil.copy(DOCS.parent / "tests" / "toy_family.py", folder / "tests")  # a page shows it
    options = ["--builder", "html", "--quiet", "--fail-on-warning", "--keep-going"]
    options += ["--define", "nb_execution_mode=off"]  # `make docs` executes them
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "docs", "html"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_the_reference_has_every_public_name_of_every_room(site: Path) -> None:
    from sphinx.util.inventory import InventoryFile  # noqa: PLC0415 - skipped without Sphinx

    with (site / "objects.inv").open("rb") as file:
        described = InventoryFile.load(file, "", lambda *parts: "/".join(parts))
    found = {name for kind, names in described.items() if kind.startswith("py:") for name in names}
    package = Path(importlib.import_module("allocsolve").__path__[0])
    rooms = {path.stem for path in package.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert {"model", "judge", "errors", "bench"} <= rooms
    for room in sorted(name for name in rooms - {"cli"} if not name.startswith("_")):
        public = importlib.import_module(f"allocsolve.{room}").__all__
        assert {f"allocsolve.{room}.{name}" for name in public} <= found


def test_schemas_are_part_of_the_site(site: Path) -> None:
    written = {file.name: file.read_text(encoding="utf-8") for file in (site / "schema").iterdir()}
    assert written == {f"{kind}.schema.json": schema_text(schema) for kind, schema in schemas().items()}


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 10
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(
            r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*""", text
        )
    for style in site.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?(?:https?:)?//", style.read_text(encoding="utf-8"))
